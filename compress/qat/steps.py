"""Steps of `python -m compress.qat`."""

import sys

from compress.qat.fake_quant import FakeQuantizer, float_modules, norms_before
from compress.qat.gptq import round_with_feedback
from compress.qat.stage import QuantizeAwareConfig
from compress.recovery import Recovery, finished_before
from distill.prune_plan.importance import sample_windows
from distill.resume import work_folder
from distill.training.checkpoint import CHECKPOINT
from qa.base.next_step import say_next
from qa.bundles.bundle import Bundle


def train(config: QuantizeAwareConfig) -> Bundle:
    """Open the parent, round, train, save, and print the result's summary."""
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
    trainer = recovery.train("quantization", config.depends_on()) if config.epochs > 0 else None
    quantizer.convert()
    bundle = recovery.save("quantize", trainer, grid={"precision": config.quantize})
    say_next("export.tflite", "--model", bundle.path, "--quantize", config.quantize)
    return bundle
