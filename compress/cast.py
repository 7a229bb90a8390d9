"""Cast a PyTorch bundle to fewer bytes: weights in fp16, or matrices in int8 rows.

    python -m compress.cast --model runs/demo/student --weights int8-weights

The bundle is opened in fp32 and can be asked, trained, pruned and exported like its parent; it is smaller to
download. Exports do not get smaller. After int8 QAT (compress.qat) int8 keeps exactly the trained integers.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from tyro.conf import arg

from qa.base.cli import check_choice
from qa.base.commands import run_command
from qa.base.next_step import say_next
from qa.bundles.bundle import Bundle, check_new_bundle
from qa.bundles.hf_import import open_model, output_beside
from qa.bundles.manifest import QAT
from qa.evaluation.scores import load_eval
from qa.formats.precision import PRECISIONS

CAST_PRECISIONS = tuple(
    name for name, precision in PRECISIONS.items() if name != "fp32" and "pytorch" in precision.formats
)


@dataclass(frozen=True)
class CastOptions:
    """Cast a PyTorch bundle to fewer bytes."""

    model: Path
    """PyTorch bundle, or a transformers checkpoint (folder or hub name); it is left as it is."""
    out: Path | None = None
    """Bundle to create; by default beside the model, named <model>-<weights>."""
    weights: Annotated[str, arg(help=f"{' or '.join(CAST_PRECISIONS)}.")] = "int8-weights"
    eval_data: str | None = None
    """Questions to score the result on, for its card: embedded, everyday, squad, squad_v2, or a file
    of questions."""

    def __post_init__(self) -> None:
        check_choice("--weights", self.weights, CAST_PRECISIONS)


def cast(options: CastOptions) -> Bundle:
    """Open the parent, save it again and print both sizes."""
    from compress.qat.fake_quant import column_factors
    from distill.save import derive
    from qa.models.model import QAModel

    out = options.out or output_beside(options.model, options.weights)
    check_new_bundle(out)
    eval_data = load_eval(options.eval_data)
    parent = open_model(options.model, format="pytorch")
    model = QAModel.from_pretrained(parent.path)
    is_qat = options.weights == "int8-weights" and parent.manifest.qat == QAT(precision="int8")
    qat = parent.manifest.qat if is_qat else None
    if qat is None and (trained := parent.manifest.qat):
        print(
            f"{out}: does not keep the integers that were trained for {trained.precision}; export "
            f"{trained.precision} from {options.model}",
            file=sys.stderr,
        )
    record = msgspec.structs.replace(parent.manifest.of_model(), precision=options.weights, qat=qat)
    columns = column_factors(model) if is_qat else None
    bundle = derive(model, out, parent, record, columns, eval_data)
    sizes = [b.weights.stat().st_size / 1e6 for b in (parent, bundle)]
    print(f"{out}: weights stored as {options.weights}, {sizes[0]:.1f} -> {sizes[1]:.1f} MB")
    say_next("compare", options.model, out)
    return bundle


if __name__ == "__main__":
    run_command("cast")
