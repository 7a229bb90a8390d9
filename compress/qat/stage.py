"""Options of `python -m compress.qat`."""

from dataclasses import dataclass
from typing import Annotated, Any

from tyro.conf import arg

from compress.options import RecoveryFlags
from distill.training.options import check_seed
from qa.base.cli import check_option
from qa.base.help import Expert
from qa.bundles.bundle import Bundle
from qa.formats.precision import INTEGER_BITS


@dataclass(frozen=True, kw_only=True)
class QuantizeAwareConfig(RecoveryFlags):
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
        check_option(
            self.quantize in INTEGER_BITS, "--quantize", self.quantize, f"one of {', '.join(INTEGER_BITS)}"
        )
        check_option(
            self.calibration_windows >= 0, "--calibration-windows", self.calibration_windows, "at least 0"
        )
        check_seed(self.seed)
        if self.epochs != 0:
            self.options()
        self.weights()

    def depends_on(self) -> dict[str, Any]:
        """Return the options that decide how a model is rounded before it is trained."""
        return {"grid": self.quantize, "calibration_windows": self.calibration_windows}

    @property
    def suffix(self) -> str:
        """Name ending of the result."""
        return f"qat-{self.quantize}"


def main(config: QuantizeAwareConfig) -> Bundle:
    """Open the parent, round, train, save, and print the result's summary."""
    from compress.qat.steps import train

    return train(config)
