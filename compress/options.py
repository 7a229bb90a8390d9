"""Options of pruning and of quantization-aware training, and the registry of pruning methods."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, NamedTuple

from tyro.conf import arg

from distill.options import DistillationOptions, same_named
from distill.prune_plan.options import PruningOptions
from distill.training.options import TrainingOptions
from qa.base.cli import changed, check_choice, check_exclusive, check_option, flag_of
from qa.base.help import Expert
from qa.formats.precision import INTEGER_BITS


@dataclass(frozen=True, kw_only=True)
class RecoveryOptions(DistillationOptions):
    """Options of every stage that compresses a model and lets it recover.

    Each stage defines `epochs` and `learning_rate`.
    """

    model: Path
    """PyTorch bundle to start from, or a transformers checkpoint (folder or hub name); it is left as it is.
    """
    out: Path | None = None
    """Bundle to create; by default beside the parent, named after it and what was done."""
    teacher: Path | None = None
    """Bundle or checkpoint to recover against; by default the model itself, as it was."""
    epochs: float
    """Passes over the data."""
    learning_rate: float
    """Peak learning rate."""
    batch_size: Expert[int] = 16
    """Windows in a step."""


class Method(NamedTuple):
    """A pruning method."""

    suffix: str
    """Name ending of the result."""
    in_words: str
    """Description for the help."""
    steps: str | type
    """Subclass of compress.prune.method.PruningMethod; or its module:name, imported when it is used."""
    flags: type | None = None
    """Dataclass of its options, which PruneOptions extends; None without any. A stopped run goes on only with
    the same values of them."""


@dataclass(frozen=True, kw_only=True)
class MagnitudeOptions:
    """Options of magnitude pruning."""

    sparsity: float = 0.8
    """Magnitude: share of the weights of Linears and LSTMs set to zero, in (0, 1)."""
    iterations: int = 1
    """Magnitude: stages in which that share is reached during recovery; 1 is one-shot."""


METHODS = {
    "structured": Method(
        "pruned", "heads and neurons removed", "compress.prune.structured:Structured", PruningOptions
    ),
    "magnitude": Method(
        "sparse", "single weights set to zero", "compress.prune.magnitude:Magnitude", MagnitudeOptions
    ),
}
METHOD_HELP = f"{' or '.join(f'{name} ({method.in_words})' for name, method in METHODS.items())}."


@dataclass(frozen=True, kw_only=True)
class PruneOptions(RecoveryOptions, PruningOptions, MagnitudeOptions):
    """Prune a model and let it recover against its teacher."""

    method: Annotated[str, arg(help=METHOD_HELP)] = "structured"
    epochs: float = 1
    """Passes over the data for recovery."""
    learning_rate: float = 2e-4
    """Peak learning rate of recovery."""

    def __post_init__(self) -> None:
        check_choice("--method", self.method, METHODS)
        self.check_pruning_options()
        check_option(0 < self.sparsity < 1, "--sparsity", self.sparsity, "in (0, 1)")
        check_option(self.iterations >= 1, "--iterations", self.iterations, "at least 1")
        for name, method in METHODS.items():  # options of another method would be ignored
            own = fields(method.flags) if method.flags is not None and name != self.method else ()
            for option in changed(self, (field.name for field in own)):
                check_exclusive(True, flag_of(option), f"--method {self.method}")
        self.training()
        self.weights()


@dataclass(frozen=True, kw_only=True)
class QATOptions(RecoveryOptions):
    """Train a model with the rounding of its int8 or int4 TFLite export."""

    quantize: Annotated[str, arg(help=f"{' or '.join(INTEGER_BITS)}, as --quantize of export.tflite.")] = (
        "int8"
    )
    calibration_windows: Expert[int] = 64
    """Training windows for which Linears are rounded with error feedback; 0 starts from plain rounding."""
    epochs: float = 0.1
    """Passes over the data; 0 rounds without training."""
    learning_rate: float = 2e-5
    """Peak learning rate."""

    def __post_init__(self) -> None:
        check_choice("--quantize", self.quantize, INTEGER_BITS)
        check_option(
            self.calibration_windows >= 0, "--calibration-windows", self.calibration_windows, "at least 0"
        )
        # Without training, the options of the loop are checked all the same: they are recorded.
        TrainingOptions(**same_named(TrainingOptions, self) | {"epochs": self.epochs or 1})
        self.weights()
