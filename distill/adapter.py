"""Make a large model again from its pre-trained encoder and an adapter of a few megabytes.

    python recipes/fetch_mpnet.py runs/mpnet
    python -m distill.adapter --adapter models/teacher-everyday-adapter --encoder runs/mpnet --out runs/large

Training an encoder with `distill.finetune --lora-rank` writes adapter.safetensors beside the weights. An
adapter is that bundle without model.safetensors. The model made here is the trained one, bit for bit: its
manifest has the hash of the weights.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from qa.base.cli import check_option
from qa.base.commands import run_command
from qa.base.files import file_sha256
from qa.base.next_step import say_next
from qa.bundles.bundle import Bundle, open_adapter, open_bundle, restored_bundle
from qa.bundles.hf_import import output_beside
from qa.formats.registry import ADAPTER

if TYPE_CHECKING:
    from qa.models.model import QAModel


@dataclass(frozen=True, kw_only=True)
class AdapterOptions:
    """Make a model from its encoder and an adapter."""

    adapter: Path
    """Bundle of distill.finetune --lora-rank without its model.safetensors."""
    encoder: str
    """Encoder that it was trained on: folder or hub name of a transformers checkpoint, or minilm-l6."""
    out: Path
    """Bundle to create."""


def apply_adapter(options: AdapterOptions) -> Bundle:
    """Check the encoder, add the adapter to it, save the model and print where."""
    adapter = open_adapter(options.adapter)

    from safetensors.torch import load_file

    from distill.making import usual_rate
    from distill.training.lora import add_adapter

    with restored_bundle(adapter, options.out) as draft:
        model = untrained(adapter, options.encoder, "--encoder")
        add_adapter(model, load_file(adapter.path / ADAPTER))
        model.save_pretrained(draft)
    bundle = open_bundle(options.out)
    n_parameters = adapter.manifest.parameters.total
    print(f"{options.out}: {n_parameters:,} parameters, bit for bit those that were trained")
    out = output_beside(options.out, "distilled")
    say_next("distill", "--teacher", options.out, *usual_rate(bundle), "--out", out)
    return bundle


def untrained(adapter: Bundle, encoder: str, flag: str) -> "QAModel":
    """Return the model that the adapter was trained on: its encoder under a head with fresh weights.

    OptionError, naming `flag`, where `encoder` has other weights than the adapter's.
    """
    from distill.student import student_from_layers
    from qa.models.checkpoint_weights import check_weights_file
    from qa.models.model import QAModel, read_config
    from qa.models.pretrained import find_encoder, load_encoder

    trained_on = adapter.manifest.encoder
    assert trained_on is not None  # open_adapter has seen to it
    folder = find_encoder(encoder)
    check_weights_file(f"{flag} {encoder}", folder)
    same = file_sha256(folder / "model.safetensors") == trained_on.sha256
    wanted = f"{Path(trained_on.name).name}, whose weights have the SHA-256 {trained_on.sha256}"
    check_option(same, flag, encoder, wanted)
    trained = QAModel.from_config(read_config(adapter.path), str(adapter.path / "config.json"))
    model = QAModel(load_encoder(encoder, folder), trained.head_name, trained.activation)
    return student_from_layers(model, len(trained.encoder.layers))


if __name__ == "__main__":
    run_command("adapter")
