"""Options of the training loop and of the distillation loss, checked without loading torch."""

from dataclasses import dataclass

from qa.base.cli import check_choice, check_option

INFINITY = float("inf")
AUTO = "auto"
PRECISIONS = (AUTO, "bf16", "fp32")
OPTIMIZERS = ("adamw", "adafactor")
BASE_WIDTH = 768  # of BERT-base
HIGH_RATE = 5e-5  # of Preite (2020)


@dataclass(frozen=True)
class TrainingOptions:
    """Options of the training loop; the flags of stages that train have the same names.

    `freeze_encoder` trains the head only; `lora_rank` above 0 trains the head and low-rank updates of the
    encoder's weights.
    """

    learning_rate: float
    batch_size: int
    epochs: float
    warmup: float = 0.1
    accumulation: int = 1
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0
    precision: str = "auto"
    seed: int = 0
    checkpoint_minutes: float = 5.0
    optimizer: str = "adamw"
    freeze_encoder: bool = False
    lora_rank: int = 0

    def __post_init__(self) -> None:
        check_option(0 < self.learning_rate < 1, "--learning-rate", self.learning_rate, "in (0, 1)")
        check_option(self.batch_size >= 1, "--batch-size", self.batch_size, "at least 1")
        check_option(0 < self.epochs < INFINITY, "--epochs", self.epochs, "above 0 and finite")
        check_option(0 <= self.seed < 2**63, "--seed", self.seed, "at least 0 and below 2**63")
        check_option(0 <= self.warmup < 1, "--warmup", self.warmup, "in [0, 1)")
        check_option(self.accumulation >= 1, "--accumulation", self.accumulation, "at least 1")
        check_option(self.lora_rank >= 0, "--lora-rank", self.lora_rank, "at least 0")
        both = self.lora_rank > 0 and self.freeze_encoder
        check_option(not both, "--lora-rank", self.lora_rank, "0 with --freeze-encoder")
        check_choice("--precision", self.precision, PRECISIONS)
        check_choice("--optimizer", self.optimizer, OPTIMIZERS)


def high_rate(width: int, options: TrainingOptions) -> str | None:
    """Say in words that the learning rate is high for training an encoder of this width whole; else None."""
    trains_all = not options.freeze_encoder and not options.lora_rank
    if not trains_all or width < BASE_WIDTH or options.learning_rate <= HIGH_RATE:
        return None
    return (
        f"--learning-rate {options.learning_rate:g} is high for an encoder of width {width}; Preite (2020) "
        "trains BERT-base and DistilBERT at 3e-5 to 5e-5"
    )


@dataclass(frozen=True)
class DistillationWeights:
    """Weights of loss = alpha hard + (1 - alpha) soft + hidden_weight hidden; soft is at `temperature`."""

    alpha: float
    temperature: float
    hidden_weight: float

    def __post_init__(self) -> None:
        check_option(0 <= self.alpha <= 1, "--alpha", self.alpha, "in [0, 1]")
        check_option(0 < self.temperature < INFINITY, "--temperature", self.temperature, "above 0 and finite")
        check_option(
            0 <= self.hidden_weight < INFINITY, "--hidden-weight", self.hidden_weight, "at least 0 and finite"
        )

    @property
    def gold_only(self) -> bool:
        """True where only the gold answers count, so that no teacher runs."""
        return self.alpha == 1 and self.hidden_weight == 0
