"""Accuracy of a bundle on one data set: measured once, then found again in the rows; and the answers it gave, kept beside them.

Answers are kept so that an export can be compared with its PyTorch parent question by question, also across runs.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.rows import CPU, OK, Row
from qa.bundle import Bundle
from qa.evaluate import answer_text, evaluate_runtime
from qa.files import write_whole
from qa.runtimes import Runtime
from qa.squad import Example, read_predictions

Answers = dict[str, str]
ACCURACY_KEYS = (
    "n", "n_windows", "exact", "f1",
    "HasAns_exact", "HasAns_f1", "HasAns_total", "NoAns_exact", "NoAns_f1", "NoAns_total", "best_f1", "best_f1_thresh",
    "null_threshold",
)  # fmt: skip

RELATION_KEYS = (
    "baseline", "baseline_sha256", "f1_retained", "f1_retained_low", "f1_retained_high", "f1_low", "f1_high",
    "same_answers", "same_answers_as",
)  # fmt: skip


@dataclass(frozen=True)
class Conditions:
    """What an accuracy of this machine belongs to. When any of these differs it is measured again."""

    bundle_sha256: str
    data_sha256: str
    runtime: str | None
    """None where the hash stands for the runtime too, as that of a peer does."""
    target: str
    machine: str

    def hold_for(self, row: Row) -> bool:
        """Whether a row was measured under these conditions and succeeded."""
        seen = (row["bundle_sha256"], row["data"]["sha256"], row["target"], row["machine"])
        same = seen == (self.bundle_sha256, self.data_sha256, self.target, self.machine)
        return row["status"] == OK and same and self.runtime in (None, row.get("runtime"))


def known_accuracy(rows: Sequence[Row], conditions: Conditions) -> Row | None:
    """The newest row with an accuracy of just these conditions."""
    return next((row for row in reversed(rows) if "f1" in row and conditions.hold_for(row)), None)


def measure_accuracy(
    runtime: Runtime, bundle: Bundle, examples: Sequence[Example], *, progress: bool = False
) -> tuple[dict[str, Any], Answers]:
    """Run the bundle over all examples: (accuracy columns, answer text by question id)."""
    scores, predictions = evaluate_runtime(runtime, bundle, examples, progress=progress)
    threshold = bundle.settings.null_threshold
    answers = {e.id: answer_text(e, p, threshold) for e, p in zip(examples, predictions, strict=True)}
    return accuracy_columns(scores), answers


def accuracy_columns(scores: Mapping[str, Any]) -> dict[str, Any]:
    """The scores that belong into a row, by its keys."""
    scores = {**scores, "n": scores["total"]}
    # Where every question has an answer the HasAns_ columns repeat exact and f1, and there is no threshold to find.
    extra = () if "NoAns_total" in scores else ACCURACY_KEYS[4:]
    return {key: scores[key] for key in ACCURACY_KEYS if key in scores and key not in extra}


def answers_path(rows_path: Path, bundle_sha256: str, data_sha256: str, target: str = CPU) -> Path:
    """Where a bundle's answers to a data set are kept: <rows>.predictions/<bundle>-<data>.json, a GPU's with its name behind."""
    where = "" if target == CPU else f"-{target}"
    return rows_path.with_suffix(".predictions") / f"{bundle_sha256[:16]}-{data_sha256[:16]}{where}.json"


def save_answers(path: Path, answers: Answers) -> None:
    """Write in the official prediction format, by rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(answers, ensure_ascii=False))


def load_answers(path: Path) -> Answers | None:
    """Answers kept earlier, or None."""
    return read_predictions(path) if path.is_file() else None


def share_of_same_answers(answers: Mapping[str, str], others: Mapping[str, str]) -> float:
    """Share of questions (0 to 1) with letter-identical answer texts. ValueError when the questions differ."""
    if answers.keys() != others.keys() or not answers:
        raise ValueError(f"answers to {len(answers)} and {len(others)} questions that are not the same")
    return sum(text == others[qid] for qid, text in answers.items()) / len(answers)
