"""F1 by question word and passage length, and the worst regressions.

They come from the data file and the answers kept beside the results (benchmarks/measure/accuracy.py). Answers
count only when their F1 equals that of their result.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.measure.accuracy import Answers, answers_path, f1_scores, load_answers
from benchmarks.results.rows import CPU, AnyResult
from benchmarks.show.groups import Entry, Group
from qa.base.cli import one_line
from qa.base.errors import OptionError, SquadFormatError
from qa.base.files import file_sha256
from qa.base.sampling import evenly
from qa.data.datasets import EMBEDDED, resolve
from qa.data.metrics import gold_texts
from qa.data.squad import Example, read_squad
from qa.evaluation.bootstrap import Interval, score_intervals

SAME_F1 = 1e-6  # points by which a sum of the same scores in another order may differ
QUESTION_WORDS = ("what", "who", "when", "where", "why", "how", "which")
OTHER = "other"
TYPES = (*QUESTION_WORDS, OTHER)
_WORD = re.compile(rf"\b(?:{'|'.join(QUESTION_WORDS)}|whom|whose)\b", re.IGNORECASE)
BOUNDS = (75, 100, 125, 150, 200)  # words; a passage of 250 or so no longer fits one window of 384 tokens
LENGTHS = (
    f"up to {BOUNDS[0]} words",
    *(f"{low + 1}–{high} words" for low, high in pairwise(BOUNDS)),
    f"over {BOUNDS[-1]} words",
)
N_SLICE_RESAMPLES = 2_000  # a drawn line moves by less than its own width with more
N_SHOWN = 8


def key_of(entry: Entry) -> str:
    """Return the key of an entry's answers: the bundle's hash, followed by the target on a GPU."""
    sha256 = entry.newest.bundle_sha256
    target = entry.newest.target
    return sha256 if target == CPU else f"{sha256}-{target}"


@dataclass(frozen=True)
class Kept:
    """Questions of a data file, with answers and F1 (percent, (Q,)) of every model by its `key_of`."""

    data_sha256: str
    examples: Sequence[Example]
    answers: dict[str, Answers]
    f1: dict[str, np.ndarray]

    @cached_property
    def articles(self) -> list[str]:
        """The article of every question."""
        return [e.title for e in self.examples]

    def holds(self, entry: Entry) -> bool:
        """Return whether the answers behind this entry's F1 are kept."""
        accuracy = entry.accuracy
        newest = entry.newest
        if accuracy is None or (
            entry.is_toolchain and newest.made_from == newest.bundle_sha256
        ):  # whose answers are the bundle's
            return False
        scores = self.f1.get(key_of(entry))
        same_data = accuracy.data.sha256 == self.data_sha256
        return scores is not None and same_data and abs(float(scores.mean()) - accuracy.f1) < SAME_F1


def find_data(data: str, results: Sequence[AnyResult]) -> tuple[Path, str] | str:
    """Return the file of `data` and its hash, or a line that says why the default file does not fit.

    Raises OptionError when the user chose a file that no result was measured on.
    """
    measured = {r.data.sha256: r.data.name for r in results if r.data is not None}
    path = resolve(data, "dev")
    sha256 = file_sha256(path)
    if sha256 in measured:
        return path, sha256
    wanted = ", ".join(f"{name} (SHA-256 {digest[:16]}…)" for digest, name in measured.items())
    if data == EMBEDDED:
        return f"no single questions without their data file; give it: --data {wanted}"
    raise OptionError(
        f"--data {data}: has SHA-256 {sha256[:16]}…, but the rows were measured on {wanted}; give that file"
    )


def read_kept(data: str, rows_path: Path, groups: Sequence[Group]) -> tuple[Kept | None, list[str]]:
    """Return the questions with all kept answers, and a line about each answer file left out.

    Raises OptionError when the chosen data file is not the results', SquadFormatError when it is broken.
    """
    if all(group.on_phone for group in groups):
        return None, []
    found = find_data(data, [r for group in groups for r in group.results])
    if isinstance(found, str):
        return None, [found]
    path, sha256 = found
    scored = [
        (e, e.accuracy) for g in groups for e in g.entries if e.accuracy and e.accuracy.data.sha256 == sha256
    ]
    kept = Kept(sha256, read_squad(path), {}, {})
    faults = []
    for entry, accuracy in scored:
        key = key_of(entry)
        file = answers_path(rows_path, accuracy.bundle_sha256, sha256, accuracy.target)
        if key not in kept.f1 and file.is_file():
            try:
                kept.answers[key] = load_answers(file) or {}
            except SquadFormatError as error:
                faults.append(f"answers of {entry.model} left out: {one_line(error)}")
                continue
            kept.f1[key] = f1_scores(kept.examples, kept.answers[key])
        scores = kept.f1.get(key)
        if scores is not None and not kept.holds(entry) and accuracy.n == len(kept.examples):
            differ = f"{file} has F1 {scores.mean():.2f}, its row {accuracy.f1:.2f}"
            faults.append(f"answers of {entry.model} left out: {differ}; measure it again")
    return kept, faults


def chosen_three(kept: Kept, group: Group) -> list[Entry]:
    """Return the teacher, its student, and the int8 export of the student with the highest F1.

    An int8 export with as many parameters as the teacher is one of the teacher, and is taken if there is no
    student. The student is left out when the export's parent is unknown. The list is empty without a teacher
    or an int8 export.
    """
    held = [
        e for e in group.entries if kept.holds(e) and group.retained(e) is not None and not e.is_toolchain
    ]
    teacher = next((e for e in held if group.is_baseline(e)), None)
    if teacher is None:
        return []
    size = teacher.newest.params
    int8 = [e for e in held if e.newest.precision == "int8" and e is not teacher]
    int8 = [e for e in int8 if e.newest.params != size] or int8
    if not int8:
        return []
    best = max(int8, key=lambda e: e.f1 or 0.0)
    parent = best.newest.parent_sha256
    students = {
        e.newest.bundle_sha256: e
        for e in held
        if e.newest.bundle_sha256 == parent and e.newest.params != size
    }
    return [teacher, *students.values(), best]


def question_type(example: Example) -> str:
    """Return the first question word, with whom and whose counted as who, or other."""
    found = _WORD.search(example.question)
    if found is None:
        return OTHER
    word = found.group().lower()
    return "who" if word in ("whom", "whose") else word


def passage_length(example: Example) -> str:
    """Return the bin of the passage's number of words."""
    n_words = len(example.context.split())
    return LENGTHS[sum(n_words > bound for bound in BOUNDS)]


@dataclass(frozen=True)
class Slice:
    """F1 of each model on a part of the questions."""

    name: str
    n: int
    f1: Sequence[Interval]


def slices(
    kept: Kept, entries: Sequence[Entry], key: Callable[[Example], str], order: Sequence[str]
) -> list[Slice]:
    """Return F1 of the models on the questions of each name that `key` gives, without empty parts."""
    names = np.array([key(e) for e in kept.examples])
    scores = np.stack([kept.f1[key_of(e)] for e in entries], axis=1)
    found = []
    for name in order:
        chosen = np.flatnonzero(names == name)
        if len(chosen):
            articles = [kept.articles[i] for i in chosen]
            found.append(
                Slice(
                    name,
                    len(chosen),
                    score_intervals(scores[chosen], articles, n_resamples=N_SLICE_RESAMPLES)[0],
                )
            )
    return found


@dataclass(frozen=True)
class Regressions:
    """Numbers of questions on which the last model differs from the first, and the worst regressions."""

    n_worse: int
    n_better: int
    n_lost: int
    """Number of questions that fall from an F1 of 100 to 0."""
    n_lost_before: int
    """Number of these on which the model in between, the unquantized student, has 0 as well."""
    worst: tuple[int, ...]
    """Indices of the examples to show."""


def regressions(kept: Kept, models: Sequence[Entry]) -> Regressions:
    """Find the questions on which the last model falls furthest behind the first.

    Of equal falls, some are chosen evenly over the data.
    """
    before, *between, after = (kept.f1[key_of(e)] for e in models)
    falls = before - after
    order = np.argsort(-falls, kind="stable")
    worst = order[falls[order] > 0]
    equal = worst[falls[worst] == falls[order[0]]]
    if len(equal) > N_SHOWN:
        worst = equal[evenly(len(equal), N_SHOWN)]
    lost = (before == 100) & (after == 0)
    lost_before = lost & (between[0] == 0) if between else lost & False
    n_worse, n_better, n_lost, n_before = (
        int(found.sum()) for found in (falls > 0, falls < 0, lost, lost_before)
    )
    return Regressions(n_worse, n_better, n_lost, n_before, tuple(int(i) for i in worst[:N_SHOWN]))


@dataclass(frozen=True)
class Comparison:
    """One question as an example: its passage around the gold answer, and each model's answer with its F1."""

    example: Example
    passage: tuple[str, str, str]
    """Text before, in and after the first gold answer."""
    golds: list[str]
    answers: list[tuple[str, float]]


def compared(kept: Kept, number: int, models: Sequence[Entry]) -> Comparison:
    """Return the example at a place of the data with the models' answers."""
    example = kept.examples[number]
    answers = [
        (kept.answers[key_of(e)].get(example.id, ""), float(kept.f1[key_of(e)][number])) for e in models
    ]
    golds = list(dict.fromkeys(gold_texts(example)))
    if not example.answers:
        return Comparison(example, (example.context, "", ""), golds, answers)
    start = example.answers[0].start
    end = start + len(example.answers[0].text)
    passage = (example.context[:start], example.context[start:end], example.context[end:])
    return Comparison(example, passage, golds, answers)
