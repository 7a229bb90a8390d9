"""What single questions tell: intervals of F1, F1 by sort of question and length of passage, and the worst regressions.

All of it comes from answers kept beside the rows (benchmarks/accuracy.py) and the data file they were given to. An answer file
counts only when it has just the F1 of its row.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.accuracy import Answers, answers_path, load_answers
from benchmarks.rows import CPU, OK, Row
from benchmarks.views.groups import Entry, Group
from benchmarks.views.summary import retained_interval, row_interval
from qa.bootstrap import Interval, interval, intervals
from qa.cli import one_line
from qa.datasets import EMBEDDED, resolve
from qa.errors import OptionError, SquadFormatError
from qa.metrics import question_scores
from qa.sampling import evenly
from qa.squad import Example, file_sha256, read_squad

SAME_F1 = 1e-6  # points by which a sum of the same scores in another order may differ
QUESTION_WORDS = ("what", "who", "when", "where", "why", "how", "which")
OTHER = "other"
_WORD = re.compile(rf"\b(?:{'|'.join(QUESTION_WORDS)}|whom|whose)\b", re.IGNORECASE)
LENGTH_BOUNDS = (75, 100, 125, 150, 200)  # words; a passage of 250 or so no longer fits one window of 384 tokens
N_SLICE_RESAMPLES = 2_000  # a drawn line moves by less than its own width with more


def key_of(entry: Entry) -> str:
    """What an entry's answers are kept under: its bundle's hash, on a GPU with the target's name behind."""
    sha256, target = entry.facts["bundle_sha256"], entry.facts["target"]
    return str(sha256) if target == CPU else f"{sha256}-{target}"


@dataclass(frozen=True)
class Kept:
    """The questions of a data file, and the answers and F1 (percent, (Q,)) of every model by its `key_of`."""

    data_sha256: str
    examples: Sequence[Example]
    answers: dict[str, Answers]
    f1: dict[str, np.ndarray]

    def holds(self, entry: Entry) -> bool:
        """Whether the answers behind this entry's F1 are kept."""
        facts = entry.facts
        if entry.is_peer and entry.made_from_sha256 == facts["bundle_sha256"]:  # the answers of that hash are the bundle's own
            return False
        scores = self.f1.get(key_of(entry))
        same_data = facts.get("data", {}).get("sha256") == self.data_sha256
        return scores is not None and same_data and abs(float(scores.mean()) - facts.get("f1", np.inf)) < SAME_F1


@dataclass(frozen=True)
class Slice:
    """Some of the questions: what they have in common, how many they are, and the F1 of each model on them."""

    name: str
    n: int
    f1: tuple[Interval, ...]


@dataclass(frozen=True)
class Regressions:
    """How the answers of one model compare with the teacher's: numbers of questions, and the worst of them."""

    n_worse: int
    n_better: int
    n_lost: int
    """Questions that fall from an F1 of 100 to 0."""
    n_lost_before: int
    """How many of them the model between the two, the student before it was quantized, has at 0 as well."""
    worst: tuple[int, ...]
    """Places of the examples shown."""


def find_data(data: str, rows: Sequence[Row]) -> tuple[Path, str] | str:
    """The file of `data` and its hash; where the default is not what the rows were measured on, a line that says so.

    OptionError when the file was chosen, and is not that of any row.
    """
    measured = {row["data"]["sha256"]: row["data"]["name"] for row in rows if "data" in row}
    path = resolve(data, "dev")
    sha256 = file_sha256(path)
    if sha256 in measured:
        return path, sha256
    wanted = ", ".join(f"{name} (SHA-256 {digest[:16]}…)" for digest, name in measured.items())
    if data == EMBEDDED:
        lacking = "no single questions, and no intervals but those of the rows, without their data file"
        return f"{lacking}; give it: --data {wanted}"
    raise OptionError(f"--data {data}: has SHA-256 {sha256[:16]}…, but the rows were measured on {wanted}; give that file")


def read_kept(data: str, rows_path: Path, groups: Sequence[Group]) -> tuple[Kept | None, list[str]]:
    """The questions with all answers kept beside the rows, and a line about each thing that is missing or does not fit.

    Raises OptionError when a data file was chosen that is not the rows', SquadFormatError when it is broken.
    """
    if all(group.on_phone for group in groups):
        return None, []
    found = find_data(data, [row for group in groups for row in group.rows])
    if isinstance(found, str):
        return None, [found]
    path, sha256 = found
    entries = [
        e
        for g in groups
        for e in g.entries
        if e.facts["status"] == OK and "f1" in e.facts and e.facts["data"]["sha256"] == sha256
    ]
    kept, faults = Kept(sha256, read_squad(path), {}, {}), []
    known: list[dict[str, float]] = [{} for _ in kept.examples]  # most models give most questions the same few answers
    for entry in entries:
        bundle = key_of(entry)
        file = answers_path(rows_path, entry.facts["bundle_sha256"], sha256, entry.facts["target"])
        if bundle in kept.f1 or not file.is_file():
            continue
        try:
            answers = load_answers(file) or {}
        except SquadFormatError as error:
            faults.append(f"answers of {entry.facts['model']} left out: {one_line(error)}")
            continue
        kept.answers[bundle] = answers
        kept.f1[bundle] = np.array([_f1(e, answers.get(e.id), memo) for e, memo in zip(kept.examples, known, strict=True)])
    for entry in (e for e in entries if not kept.holds(e) and e.facts.get("n") == len(kept.examples)):
        facts, scores = entry.facts, kept.f1.get(key_of(entry))
        name = facts["model"]
        if scores is not None:
            file = answers_path(rows_path, facts["bundle_sha256"], sha256, facts["target"])
            differ = f"{file} has F1 {scores.mean():.2f}, its row {facts['f1']:.2f}"
            faults.append(f"answers of {name} left out: {differ}; measure it again")
    return kept, faults


def _f1(example: Example, answer: str | None, known: dict[str, float]) -> float:
    if answer is None:
        return 0.0
    if answer not in known:
        known[answer] = 100.0 * question_scores(example, answer)[1]
    return known[answer]


def group_intervals(kept: Kept | None, group: Group) -> dict[str, tuple[Interval, Interval | None]]:
    """By model, the intervals of F1 (percent) and of F1 retained (a ratio): from the answers where they are kept, else the row's.

    Those compared with another baseline than the group's have none of F1 retained.
    """
    known = [(e, row_interval(e.facts, "f1")) for e in group.entries]
    found = {e.facts["model"]: (own, retained_interval(group, e)) for e, own in known if own is not None}
    entries = [e for e in group.entries if kept is not None and kept.holds(e)]
    return found | _intervals_of_answers(kept, group, entries) if kept is not None and entries else found


def _intervals_of_answers(kept: Kept, group: Group, entries: Sequence[Entry]) -> dict[str, tuple[Interval, Interval | None]]:
    bundles = list(dict.fromkeys(map(key_of, entries)))
    base = next((key_of(e) for e in entries if group.is_baseline(e)), None)
    values = np.stack([kept.f1[bundle] for bundle in bundles], axis=1)
    f1, retained = intervals(values, bundles.index(base) if base is not None else None)
    by_bundle = dict(zip(bundles, zip(f1, retained, strict=True), strict=True))
    found = {e.facts["model"]: (e, *by_bundle[key_of(e)]) for e in entries}
    return {model: (own, share if group.retained(e) is not None else None) for model, (e, own, share) in found.items()}


def chosen_three(kept: Kept, group: Group) -> list[Entry]:
    """The teacher, its student, and that student in int8: of several of our int8 files the one with the highest F1.

    A file with as many parameters as the teacher is the teacher itself, and taken where there is no student. The teacher and
    the int8 file alone where it is not certain which model the latter was made from. Empty without a teacher or anything in int8.
    """
    held = [e for e in group.entries if kept.holds(e) and group.same_baseline(e.facts) and not e.is_peer]
    teacher = next((e for e in held if group.is_baseline(e)), None)
    if teacher is None:
        return []
    size = teacher.facts.get("params")
    int8 = [e for e in held if e.facts["precision"] == "int8" and e is not teacher]
    int8 = [e for e in int8 if e.facts.get("params") != size] or int8
    if not int8:
        return []
    best = max(int8, key=lambda e: e.facts["f1"])
    # Rows name the parent as its folder is named, while models of equal folder names have those above them before theirs.
    named = [e for e in held if e.facts["model"].split("/")[-1] == str(best.facts.get("same_answers_as")).split("/")[-1]]
    same = [e for e in named if e.facts["precision"] == "fp32" and e.facts.get("params") == best.facts.get("params") != size]
    parents = {e.facts["bundle_sha256"]: e for e in same}
    return [teacher, *(parents.values() if len(parents) == 1 else ()), best]


def question_type(example: Example) -> str:
    """The first question word, whom and whose counted as who; other without any."""
    found = _WORD.search(example.question)
    if found is None:
        return OTHER
    word = found.group().lower()
    return "who" if word in ("whom", "whose") else word


def passage_length(example: Example) -> str:
    """The bin that the passage's number of words falls into."""
    n_words = len(example.context.split())
    lower = 0
    for upper in LENGTH_BOUNDS:
        if n_words <= upper:
            return f"{lower + 1}–{upper} words" if lower else f"up to {upper} words"
        lower = upper
    return f"over {lower} words"


TYPES = (*QUESTION_WORDS, OTHER)
LENGTHS = (
    f"up to {LENGTH_BOUNDS[0]} words",
    *(f"{low + 1}–{high} words" for low, high in pairwise(LENGTH_BOUNDS)),
    f"over {LENGTH_BOUNDS[-1]} words",
)


def slices(kept: Kept, entries: Sequence[Entry], key: Callable[[Example], str], order: Sequence[str]) -> list[Slice]:
    """F1 of the models on the questions of each name that `key` gives, in this order; names without questions are left out."""
    names = np.array([key(example) for example in kept.examples])
    found = []
    for name in order:
        chosen = names == name
        if chosen.any():
            scores = [kept.f1[key_of(e)][chosen] for e in entries]
            figures = tuple(interval(values, n_resamples=N_SLICE_RESAMPLES) for values in scores)
            found.append(Slice(name, int(chosen.sum()), figures))
    return found


def regressions(kept: Kept, models: Sequence[Entry], n_shown: int = 8) -> Regressions:
    """The questions on which the last model falls furthest behind the first; of equal falls, some spread evenly over the data."""
    before, *between, after = (kept.f1[key_of(e)] for e in models)
    falls = before - after
    order = np.argsort(-falls, kind="stable")
    worst = order[falls[order] > 0]
    equal = worst[falls[worst] == falls[order[0]]]
    if len(equal) > n_shown:
        worst = equal[evenly(len(equal), n_shown)]
    lost = (before == 100) & (after == 0)
    lost_before = lost & (between[0] == 0) if between else lost & False
    n_worse, n_better = int((falls > 0).sum()), int((falls < 0).sum())
    return Regressions(n_worse, n_better, int(lost.sum()), int(lost_before.sum()), tuple(int(i) for i in worst[:n_shown]))
