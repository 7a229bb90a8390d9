"""Options and steps of `python -m compress.qat`."""

import sys
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from tyro.conf import arg

from compress.qat.fake_quant import Grid, float_modules, norms_before
from compress.qat.gptq import round_with_feedback
from compress.recovery import RecoveryFlags, finished_before, open_with_teacher
from distill.stage import distil, load_splits, save_model, summary, to_align, work_folder
from distill.training.trainer import CHECKPOINT
from qa.base.cli import check_option
from qa.bundles.bundle import Bundle
from qa.formats.precision import INTEGER_BITS
from qa.models.model import QAModel
from qa.text.features import make_windows


@dataclass(frozen=True, kw_only=True)
class QuantizeAwareConfig(RecoveryFlags):
    """Train a model with the rounding of its int8 or int4 TFLite export."""

    quantize: Annotated[
        str, arg(help=f"{' or '.join(INTEGER_BITS)}, as --quantize of export.tflite.stage.")
    ] = "int8"
    calibration_windows: int = 64
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
        check_option(self.seed >= 0, "--seed", self.seed, "at least 0")
        if self.epochs != 0:
            self.options()
        self.weights()

    def depends_on(self) -> dict[str, Any]:
        """What of these options decides how a model is rounded before it is trained."""
        return {"grid": self.quantize, "calibration_windows": self.calibration_windows}

    @property
    def suffix(self) -> str:
        """What was done, for the name of the result."""
        return f"grid-{self.quantize}"


def main(config: QuantizeAwareConfig) -> Bundle:
    """Open the parent, round, train, save; prints the result's summary."""
    done = finished_before(config, "compress.qat.stage")
    if done is not None:
        return done
    out = config.target
    parent, teacher = open_with_teacher(config)
    splits = load_splits(config.data, config.eval_data)
    before = QAModel.from_pretrained(parent.path)
    model = QAModel.from_pretrained(parent.path)
    model.encoder.check_tflite()
    model.encoder.check_length(parent.settings.max_length)
    for name in float_modules(model):
        print(
            f"{name} modules train in float, whatever the export makes of them: only Linears and tables "
            "round",
            file=sys.stderr,
        )
    windows = make_windows(splits.train, parent.tokenizer(), parent.settings, progress=True)
    grid = Grid(model, config.quantize, norms_before(model))
    goes_on = config.resume and config.epochs > 0 and (work_folder(out) / CHECKPOINT).is_file()
    if config.calibration_windows and not goes_on:
        chosen = np.random.default_rng(config.seed).permutation(len(windows))[: config.calibration_windows]
        round_with_feedback(model, grid, before, [windows[i] for i in chosen])
    trainer = None
    if config.epochs > 0:
        trainer = distil(
            model,
            teacher,
            windows,
            splits.train_file,
            options=config.options(),
            weights=config.weights(),
            aligned=to_align(teacher, parent.tokenizer(), splits.train),
            cache=config.cache,
            work=work_folder(out),
            name="quantization",
            depends_on={"model": parent.sha256, **config.depends_on()},
        )
        trainer.train(config.resume)
    grid.settle()
    bundle = save_model(
        model,
        out,
        splits,
        stage="quantize",
        config=config,
        tokenizer=parent.path,
        parent=parent,
        settings=parent.settings,
        grid={"precision": config.quantize},
        recovered_against=teacher.reference(),
        training_precision=trainer.options.precision if trainer else None,
    )
    if trainer:
        trainer.finish()
    print(summary(bundle))
    return bundle
