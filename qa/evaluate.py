"""EM and F1 of a bundle or of a prediction file, in a line or as JSON, and a list of the wrong answers.

python -m qa.evaluate --data dev-v1.1.json --model runs/demo/student --errors errors.html
python -m qa.evaluate --data dev-v1.1.json --predictions predictions.json --json
"""

import json
import os
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from tyro.conf import arg

from qa.base.cli import changed, check_exclusive, check_option, flag_of
from qa.base.commands import run_command
from qa.base.errors import OptionError
from qa.base.files import check_new_file, check_not_an_input, file_sha256, write_whole
from qa.base.journal import Journal
from qa.bundles.bundle import Bundle
from qa.bundles.overlap import TUNED_LINE, overlap_line
from qa.bundles.trained_on import train_overlap
from qa.data.datasets import resolve
from qa.data.metrics import evaluate_predictions, scores_by_question
from qa.data.squad import Example, articles_of, read_predictions, read_squad
from qa.evaluation.bootstrap import MIN_QUESTIONS, score_interval
from qa.evaluation.calibration import calibration_scores
from qa.evaluation.coverage import coverage
from qa.evaluation.errors import SUFFIXES, Result, write_errors, wrong_answers
from qa.evaluation.predict import JOURNAL_ROW, answer_texts, evaluate_runtime
from qa.runtime.package import open_file_or_model
from qa.runtime.runtimes import load_runtime
from qa.text.answers import Prediction
from qa.text.limits import beyond_limits
from qa.text.preselection import MOST_WINDOWS
from qa.text.settings import DEFAULT_MODE, MODE_HELP, Mode, check_mode


@dataclass(frozen=True)
class EvaluateOptions:
    """Score a bundle or a prediction file on SQuAD data."""

    data: str
    """File of questions (SQuAD JSON, JSON lines, CSV, TSV or Parquet), or the dev part of embedded, everyday,
    squad or squad_v2."""
    model: Path | None = None
    """Bundle or phone's .tflite file to evaluate, or a transformers checkpoint (folder or hub name)."""
    predictions: Path | None = None
    """Prediction file to score instead: {question id: answer}."""
    out: Path | None = None
    """File for the answers of the model, in the official prediction format; after a stop, the same command
    continues."""
    errors: Path | None = None
    """File for a list of the wrong answers, .html or .csv: question, expected, answered, probability, and the
    passage with the answer marked."""
    json: bool = False
    """Print one JSON object with the keys of the official script."""
    mode: Annotated[Mode, arg(help=MODE_HELP)] = DEFAULT_MODE
    null_threshold: float | None = None
    """No-answer threshold instead of the model's: there is no answer when null score - best score exceeds
    it."""

    def __post_init__(self) -> None:
        if (self.model is None) == (self.predictions is None):
            raise OptionError("give either --model or --predictions")
        for name in changed(self, ("out", "null_threshold", "mode") if self.model is None else ()):
            check_exclusive(True, flag_of(name), "--predictions")
        check_mode(self.mode, self.null_threshold)
        if self.out is not None:
            check_new_file(self.out, "--out")
        if self.errors is not None:
            formats = " or ".join(SUFFIXES)
            check_option(self.errors.suffix in SUFFIXES, "--errors", self.errors, f"a file in {formats}")
            is_out = self.out is not None and os.path.realpath(self.errors) == os.path.realpath(self.out)
            check_option(not is_out, "--errors", self.errors, "another than --out")
            check_new_file(self.errors, "--errors")

    def check_not_inputs(self, *inputs: Path | None) -> None:
        """Raise OptionError when an output is one of the input files."""
        for flag, path in (("--out", self.out), ("--errors", self.errors)):
            if path is not None:
                check_not_an_input(path, flag, filter(None, inputs))


def predictions_of(
    options: EvaluateOptions, bundle: Bundle, data: Path, examples: Sequence[Example]
) -> tuple[dict[str, Any], list[Prediction]]:
    """Run a bundle and write its answers to --out; after a stop, the same command continues.

    Returns scores and predictions.
    """
    runtime = load_runtime(bundle)
    if options.out is None:
        return evaluate_runtime(runtime, bundle, examples)
    read = {"data": file_sha256(data), "most_windows": MOST_WINDOWS, "row": JOURNAL_ROW}
    run = {"bundle": bundle.sha256, "runtime": runtime.name, **read}
    with closing(Journal(options.out, run)) as journal:
        try:
            scores, predictions = evaluate_runtime(runtime, bundle, examples, journal)
        except KeyboardInterrupt:
            if journal.entries:
                print(f"\nstopped; run the same command to continue from {journal.path}", file=sys.stderr)
            raise
        answers = answer_texts(examples, predictions, bundle.settings.null_threshold)
        write_whole(options.out, json.dumps(answers, ensure_ascii=False))
        journal.remove()
    return scores, predictions


def evaluate_model(
    options: EvaluateOptions, data: Path, examples: Sequence[Example]
) -> tuple[dict[str, Any], dict[str, str], list[Result]]:
    """Score the model. Returns scores, answers by question id, and the results."""
    assert options.model is not None  # checked by __post_init__
    bundle = open_file_or_model(options.model)
    settings = bundle.settings.deciding(options.mode, options.null_threshold)
    bundle = replace(bundle, settings=settings)
    for line in beyond_limits(examples, bundle.tokenizer, settings):
        print(f"{data}: {line}", file=sys.stderr)
    result, predictions = predictions_of(options, bundle, data, examples)
    calibrated = calibration_scores(examples, predictions, settings)
    result |= {name: value for name, value in calibrated.items() if not name.endswith("reliability")}
    result["coverage_at_80"] = coverage(examples, predictions, settings)
    threshold = settings.null_threshold
    result["null_threshold"] = threshold
    if options.null_threshold is None:
        result["mode"] = options.mode
        if tuning := bundle.manifest.tuning:
            result["tuning"] = msgspec.to_builtins(tuning)
        if bundle.is_tuned_on(file_sha256(data)):
            print(TUNED_LINE, file=sys.stderr)
    result["train_overlap"] = train_overlap(bundle.path, bundle.manifest, file_sha256(data), examples)
    results = [(p.best(threshold), p.probability(threshold, settings.calibration)) for p in predictions]
    return result, answer_texts(examples, predictions, threshold), results


def evaluate(options: EvaluateOptions) -> dict[str, Any]:
    """Evaluate, list the wrong answers where asked to, and print a line or one JSON object."""
    options.check_not_inputs(Path(options.data), options.predictions)
    data = resolve(options.data, "dev")
    options.check_not_inputs(data)
    examples = read_squad(data)
    results = None
    if options.predictions is None:
        result, answers, results = evaluate_model(options, data, examples)
    else:
        answers = read_predictions(options.predictions)
        result = dict(evaluate_predictions(examples, answers))
    result["answered"] = sum(bool(answers.get(e.id)) for e in examples)
    if len(examples) >= MIN_QUESTIONS:
        f1 = np.array([f1 for _, f1 in scores_by_question(examples, answers)])
        interval, result["resampled"] = score_interval(100 * f1, articles_of(examples))
        result["f1_interval"] = [interval.low, interval.high]
    line = in_words(result)
    overlap = overlap_line(result.get("train_overlap", 0))
    if options.errors is not None:
        wrong = wrong_answers(examples, answers, results)
        write_errors(options.errors, wrong, "; ".join(filter(None, [line, overlap])))
    print(json.dumps(result, indent=1) if options.json else line)
    if overlap:
        print(overlap, file=sys.stderr)
    return result


def in_words(result: dict[str, Any]) -> str:
    """Return the scores in a line."""
    ends = result.get("f1_interval")
    over = ", over questions" if result.get("resampled") == "questions" else ""
    interval = f" (95 %: {ends[0]:.1f} to {ends[1]:.1f}{over})" if ends else ""
    missing = result.get("missing", 0)
    declined = result["total"] - result["answered"] - missing
    parts = [
        f"EM {result['exact']:.2f}",
        f"F1 {result['f1']:.2f}" + interval,
        f"{result['answered']:,} answered",
        f"{declined:,} declined",
    ]
    if missing:
        parts.append(f"{missing:,} missing")
    if "coverage_at_80" in result:
        parts.append(f"{result['coverage_at_80']:.1f} % can be answered at 80 % accuracy")
    if "calibration_error" in result:
        parts.append(f"calibration error {result['calibration_error']:.1f} points")
    return ", ".join(parts)


if __name__ == "__main__":
    run_command("evaluate")
