"""Steps of every stage that compresses a model and trains it against its teacher."""

import os
from functools import cached_property
from typing import Any

from compress.options import RecoveryFlags
from distill.resume import RunInputs, finished, refuse_unless_resumed, work_folder
from distill.stage import distillation_trainer, load_splits, save_model, summary
from distill.teacher import TeacherBundle
from distill.training.trainer import AfterStep, Trainer
from qa.base.errors import OptionError
from qa.bundles.bundle import Bundle
from qa.bundles.hf_import import open_model
from qa.models.model import QAModel
from qa.text.features import Window, make_windows


def finished_before(config: RecoveryFlags, stage: str) -> Bundle | None:
    """Return the bundle that an interrupted run had finished, and print it; None where there is work to do.

    OptionError when torchrun started several processes. BundleError when the result exists and the run is not
    resumed.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise OptionError(
            f"{stage} runs as one process, on one GPU where there is one; start it without torchrun"
        )
    refuse_unless_resumed(config.target, config.resume)
    if not config.target.exists():
        config.check_cache()
        return None
    bundle = finished(config.target, RunInputs.of(config, model=config.model, teacher=config.teacher))
    print(summary(bundle))
    return bundle


class Recovery:
    """A model to change and to train against its teacher."""

    def __init__(self, config: RecoveryFlags) -> None:
        self.config = config
        self.parent = open_model(config.model, format="pytorch")
        teacher = open_model(config.teacher, format="pytorch") if config.teacher else self.parent
        self.splits = load_splits(config.data, config.eval_data, self.parent, unlabelled=True)
        self.teacher = TeacherBundle(teacher, self.parent.tokenizer, self.splits.train)
        self.before = QAModel.from_pretrained(self.parent.path)
        """The parent's model, which stays the same."""
        self.model = QAModel.from_pretrained(self.parent.path)
        """The model to change."""
        self.model.encoder.check_length(self.parent.settings.max_length)

    @cached_property
    def windows(self) -> list[Window]:
        """Training windows. OptionError where a teacher that is to be trained against does not suit them."""
        if self.config.epochs > 0:
            self.teacher.check_windows(self.parent.settings)
            self.teacher.check_hidden_states(self.model, self.config.hidden_weight)
        return make_windows(self.splits.train, self.parent.tokenizer, self.parent.settings, progress=True)

    def train(self, name: str, depends_on: dict[str, Any], after_step: AfterStep | None = None) -> Trainer:
        """Train the changed model, which depends on the parent and on `depends_on`; return its trainer."""
        trainer = distillation_trainer(
            self.model,
            self.teacher,
            self.windows,
            self.splits.train_file,
            options=self.config.options(),
            weights=self.config.weights(),
            cache=self.config.cache,
            work=work_folder(self.config.target),
            name=name,
            depends_on={"model": self.parent.sha256, **depends_on},
            after_step=after_step,
        )
        trainer.train(self.config.resume)
        return trainer

    def save(self, stage: str, trainer: Trainer | None, **facts: Any) -> Bundle:
        """Save the model, print a line about it, and remove the checkpoint."""
        bundle = save_model(
            self.model,
            self.config.target,
            self.splits,
            stage=stage,
            config=self.config,
            tokenizer=self.parent.path,
            parent=self.parent,
            settings=self.parent.settings,
            recovered_against=self.teacher.bundle.as_teacher(self.parent),
            training_precision=trainer.options.precision if trainer else None,
            **facts,
        )
        if trainer:
            trainer.finish()
        print(summary(bundle))
        return bundle
