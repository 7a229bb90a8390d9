"""The questions on which a smaller model falls furthest behind the teacher.

They come from the data file and the answers kept beside the results (benchmarks/measure/accuracy.py). Answers
count only when their F1 equals that of their result.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.measure.accuracy import SAME_F1, Answers, answers_path, exact_and_f1
from benchmarks.show.groups import Entry, Group
from qa.base.cli import one_line
from qa.base.errors import OptionError, SquadFormatError
from qa.base.files import file_sha256
from qa.base.sampling import evenly
from qa.data.datasets import EMBEDDED, NAMED, resolve
from qa.data.squad import Example, read_predictions, read_squad

N_SHOWN = 8


@dataclass(frozen=True)
class Kept:
    """Questions of a data file, with the answers and F1 (percent, (Q,)) of every model that has them kept."""

    examples: Sequence[Example]
    answers: dict[Entry, Answers] = field(default_factory=dict)
    f1: dict[Entry, np.ndarray] = field(default_factory=dict)


def read_kept(data: str, rows_path: Path, groups: Sequence[Group]) -> tuple[Kept | None, list[str]]:
    """Return the questions with all kept answers, and a line about each answer file left out.

    Without them, the line says why the default data file does not fit. Raises OptionError when the chosen
    data file is not the results', SquadFormatError when it is broken.
    """
    if all(group.on_phone for group in groups):
        return None, []
    measured = {r.data.sha256: r.data.name for group in groups for r in group.results if r.data is not None}
    path = resolve(data, "dev")
    sha256 = file_sha256(path)
    if sha256 not in measured:
        wanted = ", ".join(f"{name} (SHA-256 {digest[:16]}…)" for digest, name in measured.items())
        if data == EMBEDDED:
            return None, [f"no single questions without their data file; give it: --data {wanted}"]
        of_what = "" if data in NAMED or path == Path(data) else " of its converted form"
        but = f"has SHA-256 {sha256[:16]}…{of_what}, but the rows were measured on {wanted}; give that file"
        raise OptionError(f"--data {data}: {but}")
    kept = Kept(read_squad(path))
    faults = []
    for entry in (entry for group in groups for entry in group.entries):
        scores = entry.accuracy
        if scores is None or (scores.data.sha256, scores.n) != (sha256, len(kept.examples)):
            continue  # of other questions, or of some of these
        file = answers_path(rows_path, scores.bundle_sha256, sha256, scores.target)
        if not file.is_file():
            continue
        try:
            answers = read_predictions(file)
        except SquadFormatError as error:
            faults.append(f"answers of {entry.model} left out: {one_line(error)}")
            continue
        f1 = exact_and_f1(kept.examples, answers)[:, 1]
        if abs(float(f1.mean()) - scores.f1) > SAME_F1:
            newest = f"the newest result of {entry.model} {scores.f1:.2f}; measure it again"
            faults.append(f"answers of {entry.model} left out: {file} has F1 {f1.mean():.2f}, {newest}")
            continue
        kept.answers[entry], kept.f1[entry] = answers, f1
    return kept, faults


def chosen_three(kept: Kept, group: Group) -> list[Entry]:
    """Return the teacher, its student, and the int8 export of the student with the highest F1.

    An int8 export with as many parameters as the teacher is one of the teacher, and is taken if there is no
    student. The student is left out when the export's parent is unknown. The list is empty without a teacher
    or an int8 export.
    """
    held = [e for e in group.entries if e in kept.f1 and e.retained is not None and not e.is_toolchain]
    teacher = next((e for e in held if e.is_baseline), None)
    if teacher is None:
        return []
    int8 = [e for e in held if e.newest.precision == "int8" and e is not teacher]
    smaller = [e for e in held if e.newest.params != teacher.newest.params]
    best = max([e for e in int8 if e in smaller] or int8, key=lambda e: e.f1 or 0.0, default=None)
    if best is None:
        return []
    students = [e for e in smaller if e.newest.bundle_sha256 == best.newest.parent_sha256]
    return [teacher, *students[-1:], best]


@dataclass(frozen=True)
class Regressions:
    """Numbers of questions on which the last model differs from the first, and the worst regressions."""

    n_worse: int
    n_better: int
    n_lost: int
    """Number of questions that fall from an F1 of 100 to 0."""
    n_lost_before: int
    """Number of these on which the model in between, the unquantized student, has 0 as well."""
    worst: list[int]
    """Indices of the examples to show."""


def regressions(kept: Kept, models: Sequence[Entry]) -> Regressions:
    """Find the questions on which the last model falls furthest behind the first.

    Of equal falls, some are chosen evenly over the data.
    """
    before, *between, after = (kept.f1[e] for e in models)
    falls = before - after
    order = np.argsort(-falls, kind="stable")
    worst = order[falls[order] > 0]
    equal = worst[falls[worst] == falls[order[0]]]
    if len(equal) > N_SHOWN:
        worst = equal[evenly(len(equal), N_SHOWN)]
    lost = (before == 100) & (after == 0)
    lost_before = lost & (between[0] == 0) if between else lost & False
    n_worse, n_better, n_lost, n_before = (int(x.sum()) for x in (falls > 0, falls < 0, lost, lost_before))
    return Regressions(n_worse, n_better, n_lost, n_before, worst[:N_SHOWN].tolist())
