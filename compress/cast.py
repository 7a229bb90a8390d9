"""Store a PyTorch bundle in fewer bytes: its weights in fp16, or its matrices in int8 rows. It is opened in
fp32 as ever.

    python -m compress.cast --model runs/demo/student --weights int8-weights

For passing a model on: it can be asked, trained, cut and exported as the one it was made of. No export gets
smaller by it. Of a model that was trained on the int8 grid (compress.qat.stage) int8 keeps the very integers.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from qa.base.cli import check_option, run_command
from qa.bundles.bundle import Bundle, refuse_existing
from qa.bundles.hf_import import open_model, output_beside
from qa.bundles.manifest import QAT
from qa.evaluation.scores import load_eval
from qa.formats.precision import PRECISIONS

STORED = tuple(
    name for name, precision in PRECISIONS.items() if name != "fp32" and "pytorch" in precision.meaning
)


@dataclass(frozen=True)
class StoreConfig:
    """Store a PyTorch bundle in fewer bytes."""

    model: Path
    """PyTorch bundle, or a transformers checkpoint (folder or hub name); it is left as it is."""
    out: Path | None = None
    """Bundle to create; by default beside the model, named <model>-<weights>."""
    weights: Annotated[str, arg(help=f"{' or '.join(STORED)}.")] = "int8-weights"
    eval_data: str | None = None
    """Questions to score the result on, for its card: embedded, squad, squad_v2, or a SQuAD JSON file."""

    def __post_init__(self) -> None:
        check_option(self.weights in STORED, "--weights", self.weights, f"one of {', '.join(STORED)}")


def main(config: StoreConfig) -> Bundle:
    """Open the parent, save it again; prints both sizes."""
    from compress.qat.fake_quant import grid_columns
    from distill.derive import derive
    from qa.models.model import QAModel

    out = config.out or output_beside(config.model, config.weights)
    refuse_existing(out)
    eval_data = load_eval(config.eval_data)
    parent = open_model(config.model, kind="pytorch")
    model = QAModel.from_pretrained(parent.path)
    is_qat = config.weights == "int8-weights" and parent.manifest.qat == QAT(precision="int8")
    facts = parent.manifest.facts_of_model() | {"precision": config.weights}
    if is_qat:
        facts["grid"] = parent.manifest.qat
    columns = grid_columns(model) if is_qat else None
    bundle = derive(model, out, parent, facts, columns, eval_data)
    sizes = [b.weights.stat().st_size / 1e6 for b in (parent, bundle)]
    print(f"{out}: weights stored as {config.weights}, {sizes[0]:.1f} -> {sizes[1]:.1f} MB")
    return bundle


if __name__ == "__main__":
    run_command(main)
