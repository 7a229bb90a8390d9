"""Questions of a training run: to train on, held out for the threshold, and to score on."""

import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec
from tokenizers import Tokenizer

from qa.bundles.bundle import Bundle
from qa.bundles.manifest import FileReference
from qa.bundles.overlap import is_notable
from qa.bundles.trained_on import TrainedOn
from qa.data.datasets import EMBEDDED, NAMED, check_not_dev, data_reference, resolve
from qa.data.squad import Example, read_squad
from qa.evaluation.scores import EvalData, load_eval
from qa.evaluation.threshold import hold_out, kept, read_held_out, too_few
from qa.text.features import Window, make_windows
from qa.text.limits import beyond_limits
from qa.text.settings import QASettings


@dataclass(frozen=True)
class DataSplits:
    """Questions to train on, questions held out of them for the threshold, and questions to score on."""

    train: list[Example]
    held_out: list[Example]
    eval: EvalData | None
    train_file: Path
    train_data: FileReference


def load_splits(
    data: str, eval_data: str | None, parent: Bundle | None, *, unlabelled: bool = False
) -> DataSplits:
    """Read and check all data before anything is trained.

    A named data set is scored on its own dev part by default. What `parent`, the model that is trained
    further, holds out is held out again. Where too few others would be held out for a new threshold, and
    `parent` has one, all are trained on. `unlabelled` allows questions without a label.
    """
    if eval_data is None and data in NAMED:
        eval_data = data
    train, held_out, train_file = training_questions(data, parent, unlabelled=unlabelled)
    reference = msgspec.convert(data_reference(train_file), FileReference)
    return DataSplits(train, held_out, load_eval(eval_data), train_file, reference)


def training_questions(
    data: str, parent: Bundle | None, *, unlabelled: bool
) -> tuple[list[Example], list[Example], Path]:
    """Return the questions to train on, those held out of them, and their file, as load_splits does."""
    train_file = resolve(data, "train")
    check_not_dev(train_file, "--data")
    before = read_held_out(parent.path) if parent else []
    questions = read_squad(train_file, unlabelled=unlabelled)
    train, held_out = hold_out(questions, before)
    n_apart = len(held_out)
    held_out = kept(held_out)
    has_threshold = parent is not None and parent.settings.null_threshold is not None
    # On passages that the parent holds out, its threshold was tuned: they stay out of training.
    is_new = not {e.context for e in held_out} & {e.context for e in before}
    if has_threshold and held_out and is_new and (why_not := too_few(held_out)):
        n = f"all {len(questions):,} questions are trained on"
        print(f"held out: nothing, {n}: to hold out there would be {why_not}", file=sys.stderr)
        train, held_out = questions, []
    elif held_out:
        n = f"{n_apart:,} of {len(questions):,} questions"
        of_these = f"; {len(held_out):,} of them are kept" if len(held_out) < n_apart else ""
        print(f"held out: {n}, for the no-answer threshold{of_these}", file=sys.stderr)
        learnt = TrainedOn.read(parent.path).overlap(held_out) if parent else None
        if parent and learnt and is_notable(learnt):
            print(
                f"held out: {learnt:.0%} of these questions are about passages that {parent.path} was "
                "trained on, so the threshold suits texts that it knows; tune it on others with export.tune",
                file=sys.stderr,
            )
    return train, held_out, train_file


def training_windows(splits: DataSplits, tokenizer: Tokenizer, settings: QASettings) -> list[Window]:
    """Return the windows of the questions to train on.

    Say what of them the model cannot read or give, and where the questions are those of the excerpt.
    """
    if splits.train_file == resolve(EMBEDDED, "train"):
        n = f"{len(splits.train):,} questions in English"
        print(f"data: embedded, {n} from SQuAD; --data FILE trains on your own", file=sys.stderr)
    for line in beyond_limits(splits.train, tokenizer, settings):
        print(f"{splits.train_file}: {line}", file=sys.stderr)
    return make_windows(splits.train, tokenizer, settings, progress=True)
