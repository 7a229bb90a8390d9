"""EM and F1 of a bundle or of a prediction file, as one JSON object with the keys of the official script.

python -m qa.evaluate --data dev-v1.1.json --model runs/demo/student
python -m qa.evaluate --data dev-v1.1.json --predictions predictions.json
"""

import json
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
from tyro.conf import arg

from qa.base.cli import check_exclusive
from qa.base.commands import run_command
from qa.base.errors import OptionError
from qa.base.files import check_not_an_input, check_writable, file_sha256, write_whole
from qa.base.journal import Journal
from qa.bundles.bundle import Bundle
from qa.bundles.hf_import import open_model
from qa.bundles.trained_on import overlap_line, train_overlap
from qa.data.datasets import resolve
from qa.data.metrics import evaluate_predictions
from qa.data.squad import Example, read_predictions, read_squad
from qa.evaluation.calibration import calibration_scores
from qa.evaluation.predict import answer_text, evaluate_runtime
from qa.runtime.runtimes import load_runtime
from qa.text.long_answers import long_answers
from qa.text.settings import DEFAULT_MODE, MODE_HELP, Mode


@dataclass(frozen=True)
class EvaluateOptions:
    """Score a bundle or a prediction file on SQuAD data."""

    data: str
    """File of questions (SQuAD JSON, JSON lines, CSV, TSV or Parquet), or the dev part of embedded, everyday,
    squad or squad_v2."""
    model: Path | None = None
    """Bundle to evaluate, or a transformers checkpoint (folder or hub name)."""
    predictions: Path | None = None
    """Prediction file to score instead: {question id: answer}."""
    out: Path | None = None
    """File for the answers of the model, in the official prediction format; after a stop, the same command
    continues."""
    mode: Annotated[Mode, arg(help=MODE_HELP)] = DEFAULT_MODE
    null_threshold: float | None = None
    """No-answer threshold instead of the model's: there is no answer when null score - best score exceeds
    it."""

    def __post_init__(self) -> None:
        if (self.model is None) == (self.predictions is None):
            raise OptionError("give either --model or --predictions")
        mode = self.mode != DEFAULT_MODE
        own_threshold = self.null_threshold is not None
        for flag, given in (
            ("--out", self.out is not None),
            ("--null-threshold", own_threshold),
            (f"--mode {self.mode}", mode),
        ):
            check_exclusive(given and self.model is None, flag, "--predictions")
        check_exclusive(mode and own_threshold, f"--mode {self.mode}", "--null-threshold")
        if self.out is not None:
            check_writable(self.out, "--out")


def evaluate_bundle(
    options: EvaluateOptions, bundle: Bundle, data: Path, examples: Sequence[Example]
) -> dict[str, Any]:
    """Score a bundle and write its answers to --out; after a stop, the same command continues."""
    runtime = load_runtime(bundle)
    if options.out is None:
        result, predictions = evaluate_runtime(runtime, bundle, examples, progress=True)
        return result | calibration_scores(examples, predictions, bundle.settings)
    run = {"bundle": bundle.sha256, "runtime": runtime.name, "data": file_sha256(data)}
    with closing(Journal(options.out, run)) as journal:
        try:
            result, predictions = evaluate_runtime(runtime, bundle, examples, progress=True, journal=journal)
        except KeyboardInterrupt:
            if journal.entries:
                print(f"\nstopped; run the same command to continue from {journal.path}", file=sys.stderr)
            raise
        threshold = bundle.settings.null_threshold
        answers = {e.id: answer_text(e, p, threshold) for e, p in zip(examples, predictions, strict=True)}
        write_whole(options.out, json.dumps(answers, ensure_ascii=False))
        journal.remove()
    return result | calibration_scores(examples, predictions, bundle.settings)


def evaluate(options: EvaluateOptions) -> dict[str, Any]:
    """Evaluate and print one JSON object."""
    data = resolve(options.data, "dev")
    if options.out is not None:
        check_not_an_input(options.out, "--out", [data])
    examples = read_squad(data)
    if options.predictions is not None:
        result: dict[str, Any] = evaluate_predictions(examples, read_predictions(options.predictions))
    else:
        assert options.model is not None  # checked by __post_init__
        bundle = open_model(options.model)
        settings = bundle.settings.deciding(options.mode, options.null_threshold)
        if line := long_answers(examples, bundle.tokenizer, settings):
            print(f"{data}: {line}", file=sys.stderr)
        result = evaluate_bundle(options, replace(bundle, settings=settings), data, examples)
        result["null_threshold"] = settings.null_threshold
        overlap = train_overlap(bundle, file_sha256(data), examples)
        if overlap is not None:
            result["train_overlap"] = overlap
        if line := overlap_line(overlap):
            print(f"{data}: {line}", file=sys.stderr)
        if options.null_threshold is None:
            result["mode"] = options.mode
            if tuning := bundle.manifest.tuning:
                result["tuning"] = msgspec.to_builtins(tuning)
    print(json.dumps(result, indent=1))
    return result


if __name__ == "__main__":
    run_command("evaluate")
