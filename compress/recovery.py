"""A model that is compressed and trained against its teacher."""

import os
import sys
from dataclasses import replace
from functools import cached_property
from typing import Any

from compress.options import RecoveryOptions
from distill.data import DataSplits, load_splits, training_windows
from distill.making import Making, Start, summary
from distill.teacher import TeacherBundle, distillation_trainer
from distill.training.trainer import AfterStep, Trainer
from qa.base.errors import OptionError
from qa.bundles.bundle import Bundle
from qa.bundles.hf_import import open_model, output_beside
from qa.bundles.manifest import Made
from qa.evaluation.threshold import all_answered, read_held_out, too_few
from qa.models.model import QAModel
from qa.text.features import Window


def open_making(stage: str, command: str, options: RecoveryOptions, suffix: str) -> Making:
    """Begin or continue the bundle of a stage; print the one that an interrupted run had finished.

    By default it lies beside the parent, and `suffix` ends its name.
    OptionError when torchrun started several processes. BundleError when the result exists and the run is not
    resumed.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise OptionError(
            f"{command} runs as one process, on one GPU where there is one; start it without torchrun"
        )
    out = options.out or output_beside(options.model, suffix)
    making = Making.open(stage, options, out, model=options.model, teacher=options.teacher)
    if making.done:
        print(summary(making.done))
    else:
        options.check_cache()
    return making


def with_held_out(splits: DataSplits, parent: Bundle) -> DataSplits:
    """Return splits that hold out what the parent does, of other texts, where the data have answers only.

    A parent that was tuned on other files keeps that, and one with too few such questions its threshold.
    """
    if splits.held_out or parent.lasting_tuning is not None or not all_answered(splits.train):
        return splits
    contexts = {e.context for e in splits.train}
    before = [e for e in read_held_out(parent.path) if e.context not in contexts]
    if too_few(before):
        return splits
    n = f"{len(before):,} questions that {parent.path} holds out"
    print(f"held out: {n}, for the no-answer threshold", file=sys.stderr)
    return replace(splits, held_out=before)


class Recovery:
    """A model to change and to train against its teacher."""

    def __init__(self, options: RecoveryOptions, making: Making) -> None:
        self.options = options
        self.making = making
        self.parent = open_model(options.model, format="pytorch")
        self.taught = options.epochs > 0 and not options.weights().gold_only
        """True where a teacher runs."""
        if options.teacher and not self.taught:
            raise OptionError(
                f"--teacher {options.teacher}: does not run with --epochs 0, nor where --alpha 1 and "
                "--hidden-weight 0 let only gold answers count; leave it out"
            )
        teacher = open_model(options.teacher, format="pytorch") if options.teacher else self.parent
        splits = load_splits(options.data, options.eval_data, self.parent, unlabelled=self.taught)
        self.splits = with_held_out(splits, self.parent)
        self.teacher = TeacherBundle(teacher)
        self.teacher.read(self.parent.tokenizer, self.splits.train)
        self.before = QAModel.from_pretrained(self.parent.path)
        """The parent's model, which stays the same."""
        if teacher is self.parent:
            self.teacher.model = self.before
        self.model = QAModel.from_pretrained(self.parent.path)
        """The model to change."""
        self.model.encoder.check_length(self.parent.settings.max_length)

    @cached_property
    def windows(self) -> list[Window]:
        """Training windows. OptionError where a teacher that is to be trained against does not suit them."""
        if self.options.epochs > 0:
            self.teacher.check_windows(self.parent.settings)
            self.teacher.check_hidden_states(self.model, self.options.hidden_weight)
        return training_windows(self.splits, self.parent.tokenizer, self.parent.settings)

    def train(self, name: str, depends_on: dict[str, Any], after_step: AfterStep | None = None) -> Trainer:
        """Train the changed model, which depends on the parent and on `depends_on`; return its trainer."""
        trainer = distillation_trainer(
            self.model,
            self.teacher,
            self.windows,
            self.splits,
            self.options,
            self.making.work,
            name,
            {"model": self.parent.sha256, **depends_on},
            after_step,
        )
        trainer.train(self.options.resume)
        return trainer

    def save(self, trainer: Trainer | None, **made: Any) -> Bundle:
        """Save the model with the fields of Made that say how it was made, and print a line about it."""
        parent = self.parent
        teacher = self.teacher.bundle if self.taught else None
        start = Start(self.model, parent.path, parent.settings, parent, parent.sha256, teacher=teacher)
        made_with = Made(teacher=teacher.as_teacher(parent) if teacher else None, **made)
        bundle = self.making.save(start, self.splits, made_with, trainer)
        print(summary(bundle))
        return bundle
