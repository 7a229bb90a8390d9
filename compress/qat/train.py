"""Train a model with the rounding of its export: what `python -m compress.qat` does."""

from compress.options import QATOptions
from compress.qat.fake_quant import FakeQuantizer, norms_before
from compress.qat.gptq import round_with_feedback
from compress.recovery import Recovery, open_making
from distill.prune_plan.importance import sample_windows
from distill.training.checkpoint import CHECKPOINT
from qa.base.errors import UnsupportedExport
from qa.bundles.bundle import Bundle
from qa.bundles.manifest import QAT
from qa.bundles.next_export import say_next_export


def train(options: QATOptions) -> Bundle:
    """Train as `trained` does, and print the next command."""
    bundle = trained(options)
    say_next_export(bundle, options.quantize, eval_data=options.eval_data)
    return bundle


def trained(options: QATOptions) -> Bundle:
    """Open the parent, round, train, save, and print the result's summary."""
    making = open_making("quantize", "compress.qat", options, f"qat-{options.quantize}")
    if making.done:
        return making.done
    recovery = Recovery(options, making)
    model = recovery.model
    model.encoder.check_tflite()
    if reason := model.encoder.architecture.no_qat:
        raise UnsupportedExport(f"{options.model}: {reason}; export it without compress.qat")
    windows = recovery.windows
    quantizer = FakeQuantizer(model, options.quantize, norms_before(model), model.encoder.words)
    is_resumed = options.resume and options.epochs > 0 and (making.work / CHECKPOINT).is_file()
    if options.calibration_windows and not is_resumed:
        sample = sample_windows(windows, options.calibration_windows, options.seed)
        round_with_feedback(model, quantizer, recovery.before, sample)
    # The options that decide how a model is rounded before it is trained.
    rounding = {"grid": options.quantize, "calibration_windows": options.calibration_windows}
    trainer = recovery.train("quantization", rounding) if options.epochs > 0 else None
    quantizer.convert()
    return recovery.save(trainer, qat=QAT(precision=options.quantize))
