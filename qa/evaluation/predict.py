"""Answers of a loaded model to many questions, and their scores."""

from collections.abc import Iterator, Sequence
from typing import Any

from qa.base.journal import Journal
from qa.base.progress import Progress
from qa.bundles.bundle import ModelFolder
from qa.data.metrics import best_f1_threshold, evaluate_predictions
from qa.data.squad import Example
from qa.formats.tensors import Logits
from qa.runtime.runtimes import Runtime, run_windows
from qa.text.answers import Candidate, Prediction, decode
from qa.text.features import Passage, Window
from qa.text.preselection import windows_to_read
from qa.text.settings import QASettings

# Characters of passages in memory at a time, about 350 windows of SQuAD: enough to batch similar lengths.
PART_CHARACTERS = 250_000
JOURNAL_ROW = ("null_score", "score", "start", "end", "share")  # of a question's best candidate


def predict(
    examples: Sequence[Example], windows: Sequence[Window], logits: Sequence[Logits], settings: QASettings
) -> list[Prediction]:
    """Decode every example from the logits of its windows; windows are in the order of the examples."""
    grouped: list[tuple[list[Window], list[Logits]]] = [([], []) for _ in examples]
    for window, pair in zip(windows, logits, strict=True):
        grouped[window.example][0].append(window)
        grouped[window.example][1].append(pair)
    return [decode(group, pairs, settings) for group, pairs in grouped]


def answer_text(example: Example, prediction: Prediction, null_threshold: float | None) -> str:
    """Return the text of the answer, cut from the original context; empty for no answer."""
    best = prediction.best(null_threshold)
    return example.context[best.start : best.end] if best else ""


def answer_texts(
    examples: Sequence[Example], predictions: Sequence[Prediction], null_threshold: float | None
) -> dict[str, str]:
    """Return the answers by question id; empty for no answer."""
    return {e.id: answer_text(e, p, null_threshold) for e, p in zip(examples, predictions, strict=True)}


def score(
    examples: Sequence[Example], predictions: Sequence[Prediction], null_threshold: float | None
) -> dict[str, Any]:
    """Score answers with the official keys, best_f1 and best_f1_thresh included (the oracle threshold)."""
    answers = answer_texts(examples, predictions, null_threshold)
    raw = answer_texts(examples, predictions, None)
    differences = {e.id: p.null_difference for e, p in zip(examples, predictions, strict=True)}
    best_f1, threshold = best_f1_threshold(examples, raw, differences)
    return evaluate_predictions(examples, answers) | {"best_f1": best_f1, "best_f1_thresh": threshold}


def parts(examples: Sequence[Example], first: int = 0) -> Iterator[Sequence[Example]]:
    """Split the examples from `first` on into parts of PART_CHARACTERS characters, or of one example."""
    n_characters = 0
    for last, example in enumerate(examples[first:], start=first):
        if last > first and n_characters + len(example.context) > PART_CHARACTERS:
            yield examples[first:last]
            first = last
            n_characters = 0
        n_characters += len(example.context)
    if first < len(examples):
        yield examples[first:]


def evaluate_runtime(
    runtime: Runtime,
    model: ModelFolder,
    examples: Sequence[Example],
    journal: Journal | None = None,
) -> tuple[dict[str, Any], list[Prediction]]:
    """Run a loaded model over examples, of whose long texts it reads the windows that `ask` reads.

    Returns scores with n_windows, and predictions with their best candidate only. One part of the examples is
    in memory at a time. Entries of the `journal` are not computed again.
    """
    tokenizer = model.tokenizer
    entries = list(journal.entries) if journal else []
    predictions = [
        Prediction((Candidate(*best),) if best else (), null_score)
        for entry in entries
        for null_score, *best in entry["predictions"]
    ]
    n_windows = sum(entry["n_windows"] for entry in entries)
    n_done = len(predictions)
    with Progress(
        total=len(examples),
        initial=n_done,
        desc=f"scoring, {runtime.name}",
        unit="question",
        delay=1.0,
    ) as bar:
        passages: dict[str, Passage] = {}  # of the part before: questions on one text follow each other
        for part in parts(examples, n_done):
            passages = {e.context: passages[e.context] for e in part if e.context in passages}
            windows = windows_to_read(part, tokenizer, model.settings, passages)
            predicted = predict(part, windows, run_windows(runtime, windows), model.settings)
            predictions += [prediction.shortened() for prediction in predicted]
            n_windows += len(windows)
            if journal is not None:
                journal.add({"predictions": [_row(p) for p in predicted], "n_windows": len(windows)})
            bar.update(len(part))
    scores = score(examples, predictions, model.settings.null_threshold) | {"n_windows": n_windows}
    return scores, predictions


def _row(prediction: Prediction) -> list[float]:
    """Return a journal entry, JOURNAL_ROW; the null score only without a candidate."""
    if not prediction.candidates:
        return [prediction.null_score]
    best = prediction.candidates[0]
    return [prediction.null_score, best.score, best.start, best.end, best.share]
