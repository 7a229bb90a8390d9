"""The zoo's tables and plot out of rows and of every question's scores. Nothing is measured here.

A difference from the reference head is called more than noise when it passes both of these:
the paired bootstrap's interval over questions leaves out 0, and, where heads were trained with several seeds, the difference
exceeds what seeds alone do: Student's t times s sqrt(2 / k), with s the deviation between seeds pooled over all heads and k the
seeds behind each of the two means.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from benchmarks.rows import OK, Row, machine
from benchmarks.table import as_markdown, as_text, replace_marked
from benchmarks.views.cells import UNKNOWN, Table, number
from benchmarks.views.notes import BUSY
from benchmarks.zoo_train import WHOLE_MODEL_RATE, QuestionScores, Training
from qa.bootstrap import LEVEL, N_RESAMPLES, Interval, interval, paired_difference
from qa.errors import OptionError
from qa.files import write_whole
from qa.models.architectures import WHOLE_MODELS
from qa.squad import Example

REFERENCE = "linear"
UNSUPPORTED = "unsupported: "
MARKERS_NAME = "zoo"
EXPORT_COLUMNS = {"onnx-fp32": "ONNX fp32", "onnx-int8": "ONNX int8", "tflite-fp32": "TFLite fp32", "tflite-int8": "TFLite int8"}
CHANGE_COLUMNS = {export: f"{EXPORT_COLUMNS[export]} F1" for export in ("onnx-int8", "tflite-int8")}
# Two-sided 95 % quantiles of Student's t by degrees of freedom; between two of them the larger one, of fewer, is taken.
T_QUANTILES = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 8: 2.31, 10: 2.23, 15: 2.13, 20: 2.09, 30: 2.04}


@dataclass(frozen=True)
class HeadDifference:
    """A head against the reference, in points of F1."""

    difference: Interval
    by_seed: tuple[float, ...]
    """The differences of the seeds both were trained with."""
    spread: float | None
    """Highest less lowest F1 of the head's own seeds; None with one."""
    seed_margin: float | None
    """What seeds alone may make of a difference; None when no head has several."""

    @property
    def verdict(self) -> str:
        """In plain language, whether the difference exceeds noise."""
        if self.difference.holds_zero:
            return "within the noise of questions"
        if self.seed_margin is None:
            return "exceeds the noise of questions; seeds not tried"
        if abs(self.difference.mean) <= self.seed_margin:
            return "within the noise of seeds"
        return "exceeds noise"


@dataclass(frozen=True)
class Results:
    """What a zoo has measured: rows of all its models, and their scores by the model's name."""

    heads: Sequence[str]
    seeds: Sequence[int]
    rows: Sequence[Row]
    scores: Mapping[str, QuestionScores]
    data: Mapping[str, str]
    examples: Sequence[Example]

    @cached_property
    def accuracy(self) -> dict[str, dict[int, Row]]:
        """By head and seed the newest accuracy row of the bundle the scores are of; heads without any are left out."""
        found: dict[str, dict[int, Row]] = {}
        for head in self.heads:
            for seed in self.seeds:
                scores = self.scores.get(f"{head}-seed{seed}")
                mine = [
                    row for row in self.rows
                    if scores and scores.bundle_sha256 == row["bundle_sha256"] and row["data"] == self.data
                    and row.get("n") == len(self.examples) and row["status"] == OK
                ]  # fmt: skip
                if mine:
                    found.setdefault(head, {})[seed] = mine[-1]
        return found

    def f1(self, head: str, seeds: Sequence[int] | None = None) -> np.ndarray:
        """F1 (Q,) of every question in percent, the mean over seeds (all the head has, unless given)."""
        chosen = self.accuracy[head] if seeds is None else seeds
        return np.mean([self.scores[f"{head}-seed{seed}"].array(self.examples) for seed in chosen], axis=0)

    def mean(self, head: str, key: str) -> float | None:
        """Mean of a column over the head's seeds."""
        values = [row[key] for row in self.accuracy[head].values() if key in row]
        return float(np.mean(values)) if values else None

    @cached_property
    def intervals(self) -> dict[str, Interval]:
        """F1 of every head with its interval over questions."""
        return {head: interval(self.f1(head)) for head in self.accuracy}

    @cached_property
    def seed_deviation(self) -> tuple[float, int] | None:
        """(deviation of F1 between seeds pooled over heads, degrees of freedom), or None when no head has several seeds."""
        values = [np.array([row["f1"] for row in rows.values()]) for rows in self.accuracy.values()]
        freedom = sum(len(v) - 1 for v in values)
        return (float(np.sqrt(sum(((v - v.mean()) ** 2).sum() for v in values) / freedom)), freedom) if freedom else None

    @cached_property
    def comparisons(self) -> dict[str, HeadDifference]:
        """Every head that shares a seed with the reference, against it."""
        found = {}
        for head in self.accuracy if REFERENCE in self.accuracy else ():
            shared = [seed for seed in self.accuracy[head] if seed in self.accuracy[REFERENCE]]
            if head == REFERENCE or not shared:
                continue
            rows, base = self.accuracy[head], self.accuracy[REFERENCE]
            own = [row["f1"] for row in rows.values()]
            margin = None
            if self.seed_deviation is not None:
                deviation, freedom = self.seed_deviation
                margin = t_quantile(freedom) * deviation * float(np.sqrt(2 / len(shared)))
            found[head] = HeadDifference(
                paired_difference(self.f1(head, shared), self.f1(REFERENCE, shared)),
                tuple(rows[seed]["f1"] - base[seed]["f1"] for seed in shared),
                max(own) - min(own) if len(own) > 1 else None,
                margin,
            )
        return found

    def export_rows(self, head: str, export: str) -> list[Row]:
        """All rows of an export of the first seed's model, on this machine."""
        if self.seeds[0] not in self.accuracy.get(head, {}):
            return []
        name = f"{head}-seed{self.seeds[0]}-{export}"
        return [row for row in self.rows if row["model"] == name and row["machine"] == machine()]

    def export_row(self, head: str, export: str) -> Row | None:
        """The newest row of an export's time at real lengths, or of why there is none."""
        rows = [row for row in self.export_rows(head, export) if row["status"] != OK or row.get("lengths") == "real"]
        return rows[-1] if rows else None

    def export_change(self, head: str, export: str) -> float | None:
        """F1 of an export less that of the model it was made of, on the same questions."""
        rows = self.export_rows(head, export)
        if not rows or rows[-1]["status"] != OK:
            return None
        scored = [row for row in rows if row.get("n") == len(self.examples) and row["data"] == self.data]
        scored = [row for row in scored if row["bundle_sha256"] == rows[-1]["bundle_sha256"]]
        return scored[-1]["f1"] - self.accuracy[head][self.seeds[0]]["f1"] if scored else None

    @cached_property
    def failures(self) -> list[str]:
        """A line for every model and export whose newest row is one of a failure."""
        newest = {row["model"]: row for row in self.rows if row.get("head") in self.heads and row.get("seed") in self.seeds}
        return [f"{name}: {row['status']}" for name, row in newest.items() if row["status"] != OK]


def t_quantile(freedom: int) -> float:
    """Student's t that 95 % stay below in magnitude."""
    return T_QUANTILES[max(known for known in T_QUANTILES if known <= freedom)]


def export_cell(row: Row | None) -> str:
    """Median milliseconds, or a word for why there are none."""
    if row is None:
        return UNKNOWN
    if row["status"] != OK:
        return "not supported" if row["status"].startswith(UNSUPPORTED) else "failed"
    return number(row["latency_ms_p50"], ".1f")


def main_table(results: Results, training: Training) -> Table:
    """A line for each head: parameters, scores, the latency of its exports, and what int8 changes."""
    parts = {"HasAns_exact": "HasAns EM", "HasAns_f1": "HasAns F1", "NoAns_exact": "NoAns"}
    parts = {key: title for key, title in parts.items() if any(results.mean(head, key) is not None for head in results.accuracy)}
    cells = []
    for head in results.heads:
        if head not in results.accuracy:
            cells.append((head, *[UNKNOWN] * (7 + len(parts) + len(EXPORT_COLUMNS) + len(CHANGE_COLUMNS))))
            continue
        row, found = next(iter(results.accuracy[head].values())), results.intervals[head]
        cells.append(
            (
                head, f"{row['head_params']:,}", number(row.get("params_without_embeddings"), ".2f", 1e-6, "M"),
                number(row["params"], ".2f", 1e-6, "M"), str(len(results.accuracy[head])),
                number(results.mean(head, "exact")), number(found.mean), f"{found.low:.1f} to {found.high:.1f}",
                *(number(results.mean(head, key)) for key in parts),
                *(export_cell(results.export_row(head, export)) for export in EXPORT_COLUMNS),
                *(number(results.export_change(head, export), "+.2f") for export in CHANGE_COLUMNS),
            )
        )  # fmt: skip
    headings = (
        "head", "head params", "no emb.", "params", "seeds", "EM", "F1", f"{LEVEL:.0%} of F1", *parts.values(),
        *EXPORT_COLUMNS.values(), *CHANGE_COLUMNS.values(),
    )  # fmt: skip
    return Table(f"Heads on {encoder_name(training)}, {results.data['name']}, {len(results.examples):,} questions",
                 headings, tuple(cells), tuple(conditions(results, training)), n_left=1)  # fmt: skip


def encoder_name(training: Training) -> str:
    """The encoder, with how much of it."""
    part = {None: "", 1: "1 layer of "}.get(training.layers, f"{training.layers} layers of ")
    return f"{part}{training.encoder}"


def conditions(results: Results, training: Training) -> list[str]:
    """How the models were trained and measured, and what failed."""
    frozen = ", encoder frozen" if training.freeze_encoder else ""
    notes = [
        f"trained on {training.windows:,} windows of {training.data['name']}, batch {training.batch_size}, {training.optimizer}, "
        f"peak learning rate {training.learning_rate:g}{frozen}; the same windows in the same order for all heads of a seed",
        f"EM and F1 in PyTorch fp32, means over the seeds; interval: bootstrap over questions, {N_RESAMPLES:,} resamples",
    ]
    whole = [head for head in results.heads if head in WHOLE_MODELS]
    if whole:
        notes.append(
            f"{', '.join(whole)}: whole models of fresh weights and the encoder's word vectors, at a rate of "
            f"{WHOLE_MODEL_RATE:g}; their head is the output layer"
        )
    if any(results.export_change(head, export) is not None for head in results.heads for export in CHANGE_COLUMNS):
        notes.append("int8 F1: F1 of the export less that of its PyTorch model")
    rows = [row for head in results.heads for e in EXPORT_COLUMNS if (row := results.export_row(head, e)) and row["status"] == OK]
    if rows:
        runtimes = ", ".join(dict.fromkeys(row["runtime"] for row in rows))
        notes.append("ms: median of the runtime call for one window of real length, 1 thread; each column was measured in turns")
        notes.append(f"{machine()}; {runtimes}")
        busy = max(row.get("other_load", 0.0) for row in rows)
        notes += [f"other processes kept {busy:.1f} cores busy while times were measured"] if busy >= BUSY else []
    return notes + results.failures


def comparison_table(results: Results) -> Table | None:
    """Every head against the reference; None when there is nothing to compare."""
    if not results.comparisons:
        return None
    ordered = sorted(results.comparisons.items(), key=lambda item: -item[1].difference.mean)
    cells = [
        (
            head, f"{one.difference.mean:+.2f}", f"{one.difference.low:+.2f} to {one.difference.high:+.2f}",
            ", ".join(f"{value:+.2f}" for value in one.by_seed), number(one.spread), one.verdict,
        )
        for head, one in ordered
    ]  # fmt: skip
    notes = [
        f"F1 of the head less F1 of {REFERENCE} on the same questions, mean over the seeds both have; interval: {LEVEL:.0%}, "
        "of a bootstrap over questions, paired",
        f"of {len(cells)} such intervals {len(cells) * (1 - LEVEL):.1f} leave out 0 by chance alone",
    ]
    if results.seed_deviation is not None:
        deviation, freedom = results.seed_deviation
        notes.append(
            "spread: highest less lowest F1 between the head's seeds; deviation between seeds, pooled over heads: "
            f"{deviation:.2f} ({freedom} degrees of freedom)"
        )
    headings = ("head", f"F1 - {REFERENCE}", "interval", "by seed", "spread", "in words")
    return Table(f"Differences from {REFERENCE}", headings, tuple(cells), tuple(notes), n_left=1)


def check_markers(path: Path, name: str = MARKERS_NAME) -> None:
    """OptionError unless the file is there and has the markers between which the tables go: said before hours of work."""
    if not path.is_file():
        raise OptionError(f"--write {path}: no such file; give a Markdown file with the markers of the name {name}")
    replace_marked(path.read_text(encoding="utf-8"), name, "", f"--write {path}")


def write_results(results: Results, training: Training, out: Path, readme: Path | None) -> str:
    """Write zoo.md and zoo.svg into `out` and, where given, the tables into a marked Markdown file. Returns them as text."""
    tables = [table for table in (main_table(results, training), comparison_table(results)) if table is not None]
    markdown = "\n".join(map(as_markdown, tables))
    write_whole(out / "zoo.md", markdown)
    plot(results, out / "zoo.svg")
    if readme is not None:
        text = readme.read_text(encoding="utf-8")
        write_whole(readme, replace_marked(text, MARKERS_NAME, markdown, str(readme)))
    return "\n".join(map(as_text, tables)) + "\n"


def plot(results: Results, path: Path) -> None:
    """F1 with its interval against the parameters of the head; nothing where no head has been scored. Whole models have none."""
    from benchmarks.views.plots import Point, as_file, scatter

    points = []
    for head, found in results.intervals.items():
        if head in WHOLE_MODELS:
            continue
        row = next(iter(results.accuracy[head].values()))
        points.append(Point(head, row["head_params"], found.mean, "torch", "fp32", (found.low, found.high)))
    if points:
        label = f"parameters of the head; lines: {LEVEL:.0%} intervals over questions"
        write_whole(path, as_file(scatter(points, label, "zoo")))
