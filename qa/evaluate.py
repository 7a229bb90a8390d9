"""EM and F1 of a bundle or of a prediction file, as one JSON object with the official script's keys.

    python -m qa.evaluate --data dev-v1.1.json --model runs/demo/student
    python -m qa.evaluate --data dev-v1.1.json --predictions predictions.json
"""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from qa.answers import Candidate, Prediction, decode
from qa.bundle import Bundle, ModelFolder
from qa.checkpoints import open_model
from qa.cli import check_option, run_command
from qa.datasets import resolve
from qa.engines import Logits
from qa.features import Window, make_windows
from qa.files import check_not_an_input, check_writable, write_whole
from qa.journal import Journal
from qa.metrics import best_f1_threshold, evaluate_predictions
from qa.runtimes import Runtime, load_runtime, run_windows
from qa.settings import QASettings
from qa.squad import Example, file_sha256, read_predictions, read_squad

AT_ONCE = 250_000  # characters of passages, some 350 windows of SQuAD's: few enough for memory, enough to batch like lengths


@dataclass(frozen=True)
class EvaluateConfig:
    """Score a bundle or a prediction file on SQuAD data."""

    data: str
    """SQuAD JSON file (plain or gzip), or embedded, squad, squad_v2 (their dev part)."""
    model: Path | None = None
    """Bundle to evaluate, or a transformers checkpoint (folder or hub name)."""
    predictions: Path | None = None
    """Prediction file to score instead: {question id: answer}."""
    out: Path | None = None
    """Write the model's answers here, in the official prediction format; the same command then goes on after a stop."""
    null_threshold: float | None = None
    """Instead of the model's own: it gives no answer where null score - best score exceeds this."""

    def __post_init__(self) -> None:
        given = (self.model is not None) + (self.predictions is not None)
        check_option(given == 1, "--model / --predictions", f"{given} of them", "exactly one of the two")
        for flag, value in (("--out", self.out), ("--null-threshold", self.null_threshold)):
            check_option(value is None or self.model is not None, flag, value, "given with --model only")
        if self.out is not None:
            check_writable(self.out, "--out")


def predict(
    examples: Sequence[Example], windows: Sequence[Window], logits: Sequence[Logits], settings: QASettings
) -> list[Prediction]:
    """Decode every example from the logits of its windows; windows stand in the order of the examples."""
    grouped: list[tuple[list[Window], list[Logits]]] = [([], []) for _ in examples]
    for window, pair in zip(windows, logits, strict=True):
        grouped[window.example][0].append(window)
        grouped[window.example][1].append(pair)
    return [decode(group, pairs, settings) for group, pairs in grouped]


def answer_text(example: Example, prediction: Prediction, null_threshold: float | None) -> str:
    """The answer as text, cut from the original context; empty for no answer."""
    best = prediction.best(null_threshold)
    return example.context[best.start : best.end] if best else ""


def score(examples: Sequence[Example], predictions: Sequence[Prediction], null_threshold: float | None) -> dict[str, Any]:
    """The official keys, and the best F1 any threshold reaches with the threshold that reaches it."""
    answers = {e.id: answer_text(e, p, null_threshold) for e, p in zip(examples, predictions, strict=True)}
    raw = {e.id: answer_text(e, p, None) for e, p in zip(examples, predictions, strict=True)}
    differences = {e.id: p.null_difference for e, p in zip(examples, predictions, strict=True)}
    best_f1, threshold = best_f1_threshold(examples, raw, differences)
    return evaluate_predictions(examples, answers) | {"best_f1": best_f1, "best_f1_thresh": threshold}


def parts(examples: Sequence[Example], first: int = 0) -> Iterator[Sequence[Example]]:
    """The examples from `first` on, in stretches whose passages have AT_ONCE characters together, or of one example."""
    n_characters = 0
    for last, example in enumerate(examples[first:], start=first):
        if last > first and n_characters + len(example.context) > AT_ONCE:
            yield examples[first:last]
            first, n_characters = last, 0
        n_characters += len(example.context)
    if first < len(examples):
        yield examples[first:]


def evaluate_runtime(
    runtime: Runtime, model: ModelFolder, examples: Sequence[Example], *, progress: bool = False, journal: Journal | None = None
) -> tuple[dict[str, Any], list[Prediction]]:
    """Run a loaded model over examples: (scores with n_windows, predictions, each with its best candidate alone).

    Windows and logits are those of a part of the examples at a time, so that memory does not grow with their number. What the
    `journal` has is not computed again.
    """
    tokenizer, entries = model.tokenizer(), list(journal.entries) if journal else []
    predictions = [_prediction(row) for entry in entries for row in entry["predictions"]]
    n_windows = sum(entry["n_windows"] for entry in entries)
    n_done = len(predictions)
    with tqdm(total=len(examples), initial=n_done, desc=runtime.name, unit="question", disable=not progress, delay=1.0) as bar:
        for part in parts(examples, n_done):
            windows = make_windows(part, tokenizer, model.settings)
            found = predict(part, windows, run_windows(runtime, windows), model.settings)
            predictions += [Prediction(prediction.candidates[:1], prediction.null_score) for prediction in found]
            n_windows += len(windows)
            if journal is not None:
                journal.add({"predictions": [_row(prediction) for prediction in found], "n_windows": len(windows)})
            bar.update(len(part))
    return score(examples, predictions, model.settings.null_threshold) | {"n_windows": n_windows}, predictions


def _row(prediction: Prediction) -> list[float]:
    """A prediction as a journal has it: null score and, where there is one, score, start and end of the best candidate."""
    return [prediction.null_score, *(value for best in prediction.candidates[:1] for value in (best.score, best.start, best.end))]


def _prediction(row: Sequence[Any]) -> Prediction:
    null_score, *best = row
    return Prediction((Candidate(*best),) if best else (), null_score)


def evaluate_bundle(config: EvaluateConfig, bundle: Bundle, data: Path, examples: Sequence[Example]) -> dict[str, Any]:
    """The scores of a bundle, whose answers go to --out; stopped, the same command goes on."""
    runtime, progress = load_runtime(bundle), sys.stderr.isatty()
    if config.out is None:
        return evaluate_runtime(runtime, bundle, examples, progress=progress)[0]
    run = {"bundle": bundle.sha256, "runtime": runtime.name, "data": file_sha256(data)}
    with closing(Journal(config.out, run)) as journal:
        try:
            result, predictions = evaluate_runtime(runtime, bundle, examples, progress=progress, journal=journal)
        except KeyboardInterrupt:
            if journal.entries:
                print(f"\nstopped; the same command goes on from {journal.path}", file=sys.stderr)
            raise
        threshold = bundle.settings.null_threshold
        answers = {e.id: answer_text(e, p, threshold) for e, p in zip(examples, predictions, strict=True)}
        write_whole(config.out, json.dumps(answers, ensure_ascii=False))
        journal.remove()
    return result


def main(config: EvaluateConfig) -> dict[str, Any]:
    """Evaluate and print one JSON object."""
    data = resolve(config.data, "dev")
    if config.out is not None:
        check_not_an_input(config.out, "--out", [data])
    examples = read_squad(data)
    if config.predictions is not None:
        result: dict[str, Any] = evaluate_predictions(examples, read_predictions(config.predictions))
    else:
        assert config.model is not None  # __post_init__ has seen to it
        bundle = open_model(config.model)
        if config.null_threshold is not None:
            bundle = replace(bundle, settings=replace(bundle.settings, null_threshold=config.null_threshold))
        result = evaluate_bundle(config, bundle, data, examples)
    print(json.dumps(result, indent=1))
    return result


if __name__ == "__main__":
    run_command(main)
