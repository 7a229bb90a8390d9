"""Steps of `python -m compress.qat`."""

import sys

import numpy as np

from compress.qat.fake_quant import FakeQuantizer, float_modules, norms_before
from compress.qat.gptq import round_with_feedback
from compress.qat.stage import QuantizeAwareConfig
from compress.recovery import finished_before, open_with_teacher
from distill.resume import work_folder
from distill.stage import distil, load_splits, save_model, summary
from distill.teacher import TeacherBundle
from distill.training.checkpoint import CHECKPOINT
from qa.bundles.bundle import Bundle
from qa.models.model import QAModel
from qa.text.features import make_windows


def train(config: QuantizeAwareConfig) -> Bundle:
    """Open the parent, round, train, save, and print the result's summary."""
    done = finished_before(config, "compress.qat.stage")
    if done is not None:
        return done
    out = config.target
    parent, teacher = open_with_teacher(config)
    splits = load_splits(config.data, config.eval_data, unlabelled=True)
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
    windows = make_windows(splits.train, parent.tokenizer, parent.settings, progress=True)
    quantizer = FakeQuantizer(model, config.quantize, norms_before(model))
    goes_on = config.resume and config.epochs > 0 and (work_folder(out) / CHECKPOINT).is_file()
    if config.calibration_windows and not goes_on:
        chosen = np.random.default_rng(config.seed).permutation(len(windows))[: config.calibration_windows]
        round_with_feedback(model, quantizer, before, [windows[i] for i in chosen])
    trainer = None
    if config.epochs > 0:
        trainer = distil(
            model,
            TeacherBundle(teacher, parent.tokenizer, splits.train),
            windows,
            splits.train_file,
            options=config.options(),
            weights=config.weights(),
            cache=config.cache,
            work=work_folder(out),
            name="quantization",
            depends_on={"model": parent.sha256, **config.depends_on()},
        )
        trainer.train(config.resume)
    quantizer.convert()
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
