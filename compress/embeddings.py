"""Quantize a model's word embeddings by product quantization, to a third or a quarter of their int8 bytes.

    python -m compress.embeddings --model runs/demo/student --embeddings pq3

Tokens stay the same. The codebooks of the new bundle train like other weights (python -m distill.finetune
--model ...); the codes stay fixed.
"""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from qa.base.cli import check_choice
from qa.base.commands import run_command
from qa.bundles.bundle import HELD_OUT, Bundle, check_new_bundle
from qa.bundles.hf_import import open_model, output_beside
from qa.bundles.manifest import FileReference, StageRecord, recorded_options
from qa.bundles.next_export import say_next_export
from qa.data.datasets import EMBEDDED, data_reference, resolve
from qa.data.squad import read_squad
from qa.formats.precision import GROUP_SIZES


@dataclass(frozen=True)
class EmbeddingsOptions:
    """Quantize a model's word embeddings by product quantization."""

    model: Path
    """PyTorch bundle, or a transformers checkpoint (folder or hub name); it is left as it is."""
    out: Path | None = None
    """Bundle to create; by default beside the parent, named <parent>-<form>."""
    embeddings: str = "pq3"
    """pq3 or pq4: a byte for each 3 or 4 values of a word vector."""
    data: str | None = None
    """Questions whose tokens are counted, so that frequent ones are stored more exactly: a file of questions,
    or embedded, everyday, squad, squad_v2. By default those that the model holds out, or embedded where it
    has none."""

    def __post_init__(self) -> None:
        check_choice("--embeddings", self.embeddings, GROUP_SIZES)


def quantize_embeddings(options: EmbeddingsOptions) -> Bundle:
    """Open the parent, quantize its word embeddings, save, and print both sizes."""
    from compress.product_quantization import compress_words, token_counts
    from distill.save import derive
    from qa.models.model import QAModel

    out = options.out or output_beside(options.model, options.embeddings)
    check_new_bundle(out)
    parent = open_model(options.model, format="pytorch")
    model = QAModel.from_pretrained(parent.path)
    before = sum(tensor.nbytes for tensor in model.state_dict().values())
    held_out = parent.path / HELD_OUT
    counted = held_out if options.data is None and held_out.is_file() else options.data or EMBEDDED
    file = resolve(str(counted), "train")
    examples = read_squad(file, unlabelled=True)
    counts = token_counts(parent, model.encoder.words.num_embeddings, examples)
    compress_words(model, options.embeddings, counts)
    record = StageRecord(
        format="pytorch",
        precision="fp32",
        stage="compress",
        config=recorded_options(options),
        embeddings=options.embeddings,
        qat=parent.manifest.qat,
        parameters=model.count_parameters(),
        counted_data=msgspec.convert(data_reference(file), FileReference),
    )
    bundle = derive(model, out, parent, record)
    after = sum(tensor.nbytes for tensor in model.state_dict().values())
    sizes = f"{before / 1e6:.1f} -> {after / 1e6:.1f} MB, other weights in fp32"
    print(f"{out}: embedding table as {options.embeddings}, {sizes}")
    say_next_export(bundle, *([parent.manifest.qat.precision] if parent.manifest.qat else []))
    return bundle


if __name__ == "__main__":
    run_command("quantize-embeddings")
