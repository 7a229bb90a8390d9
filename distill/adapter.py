"""Make a large model again from its pre-trained encoder and an adapter of a few megabytes.

    python recipes/fetch_mpnet.py runs/mpnet
    python -m distill.adapter --adapter models/teacher-mpnet-adapter --encoder runs/mpnet --out runs/teacher

Training an encoder with `distill.finetune --lora-rank` writes adapter.safetensors beside the weights. An
adapter is that bundle without model.safetensors. The model made here is the trained one, bit for bit: its
manifest has the hash of the weights.
"""

from dataclasses import dataclass
from pathlib import Path

from qa.base.cli import check_option, run_command
from qa.base.errors import OptionError
from qa.base.files import file_sha256
from qa.base.next_step import say_next
from qa.bundles.bundle import Bundle, open_bundle, read_manifest, restored_bundle
from qa.formats.registry import ADAPTER


@dataclass(frozen=True, kw_only=True)
class AdapterConfig:
    """Make a model from its encoder and an adapter."""

    adapter: Path
    """Bundle of distill.finetune --lora-rank without its model.safetensors."""
    encoder: str
    """Encoder that it was trained on: folder or hub name of a transformers checkpoint, or minilm-l6."""
    out: Path
    """Bundle to create."""


def main(config: AdapterConfig) -> Bundle:
    """Check the encoder, add the adapter to it, save the model and print where."""
    manifest = read_manifest(config.adapter)
    trained_on = manifest.encoder if ADAPTER in manifest.files else None
    if trained_on is None:
        raise OptionError(
            f"--adapter {config.adapter}: must be a bundle of distill.finetune --lora-rank on an encoder"
        )

    from safetensors.torch import load_file

    from distill.student import student_from_layers
    from distill.training.lora import add_adapter
    from qa.models.model import QAModel, read_config
    from qa.models.pretrained import find_encoder, load_encoder

    folder = find_encoder(config.encoder)
    same = file_sha256(folder / "model.safetensors") == trained_on.sha256
    wanted = f"{Path(trained_on.name).name}, whose weights have the SHA-256 {trained_on.sha256}"
    check_option(same, "--encoder", config.encoder, wanted)
    with restored_bundle(config.adapter, config.out) as draft:
        trained = QAModel.from_config(read_config(draft), str(draft / "config.json"))
        model = QAModel(load_encoder(config.encoder, folder), trained.head_name, trained.activation)
        model = student_from_layers(model, len(trained.encoder.layers))
        add_adapter(model, load_file(draft / ADAPTER))
        model.save_pretrained(draft)
    print(f"{config.out}: {manifest.parameters.total:,} parameters, bit for bit those that were trained")
    say_next("distill.logits", "--teacher", config.out, "--model", "STUDENT", "--data", "SQUAD_FILE")
    return open_bundle(config.out)


if __name__ == "__main__":
    run_command(main)
