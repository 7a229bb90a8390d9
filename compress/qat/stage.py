"""Options and steps of `python -m compress.qat`."""

import sys
from dataclasses import dataclass
from typing import Annotated

from tyro.conf import arg

from compress.options import RecoveryFlags
from distill.training.options import check_seed
from qa.base.cli import check_option
from qa.base.help import Expert
from qa.base.next_step import say_next
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

    @property
    def suffix(self) -> str:
        """Name ending of the result."""
        return f"qat-{self.quantize}"


def main(config: QuantizeAwareConfig) -> Bundle:
    """Open the parent, round, train, save, and print the result's summary."""
    from compress.qat.fake_quant import FakeQuantizer, float_modules, norms_before
    from compress.qat.gptq import round_with_feedback
    from compress.recovery import Recovery, finished_before
    from distill.prune_plan.importance import sample_windows
    from distill.resume import work_folder
    from distill.training.checkpoint import CHECKPOINT

    done = finished_before(config, "compress.qat.stage")
    if done is not None:
        return done
    recovery = Recovery(config)
    model = recovery.model
    model.encoder.check_tflite()
    for name in float_modules(model):
        print(
            f"{name} modules train in float: only Linears and embedding tables are rounded", file=sys.stderr
        )
    windows = recovery.windows
    quantizer = FakeQuantizer(model, config.quantize, norms_before(model))
    is_resumed = config.resume and config.epochs > 0 and (work_folder(config.target) / CHECKPOINT).is_file()
    if config.calibration_windows and not is_resumed:
        sample = sample_windows(windows, config.calibration_windows, config.seed)
        round_with_feedback(model, quantizer, recovery.before, sample)
    # The options that decide how a model is rounded before it is trained.
    rounding = {"grid": config.quantize, "calibration_windows": config.calibration_windows}
    trainer = recovery.train("quantization", rounding) if config.epochs > 0 else None
    quantizer.convert()
    bundle = recovery.save("quantize", trainer, grid={"precision": config.quantize})
    say_next("export tflite", "--model", bundle.path, "--quantize", config.quantize)
    return bundle
