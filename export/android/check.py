"""Compare the Android app's answers with Python's: what `python -m export.android` does."""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from export.android.core_process import CoreAnswer, CoreProcess
from export.android.push_to_phone import push
from qa.base.cli import changed, check_exclusive, check_option, flag_of
from qa.base.errors import ParityError
from qa.base.files import file_sha256
from qa.base.next_step import say_next
from qa.base.progress import Progress
from qa.base.sampling import evenly
from qa.bundles.bundle import Bundle, open_bundle
from qa.data.datasets import EMBEDDED, resolve
from qa.data.squad import Example, read_squad
from qa.evaluation.predict import predict
from qa.runtime.package import is_phone_file, open_packaged, read_package
from qa.runtime.runtimes import Runtime, load_runtime, run_windows
from qa.text.answers import Prediction
from qa.text.preselection import windows_to_read

LONG_PASSAGES = 5  # of several windows each, put beside the chosen questions
JOINED = 4  # passages joined into a long one
SHARE_TOLERANCE = 1e-12
SHOWN = 5  # differences named before the rest is counted


@dataclass(frozen=True)
class AndroidOptions:
    """Check on the JVM that the Android app accepts a TFLite bundle and gives Python's answers."""

    model: Path
    """TFLite bundle, or its model.tflite, which is the file to sideload."""
    questions: int = 50
    """Number of real questions to compare, chosen evenly; a few on passages of several windows are added."""
    data: str = EMBEDDED
    """File of questions (SQuAD JSON or records), or embedded, everyday, squad, squad_v2 (their dev part)."""

    push: bool = False
    """Put the model on the phone that adb sees and open the app on it, instead of comparing."""
    serial: str | None = None
    """Serial number of the phone, where adb sees several (adb devices lists them)."""

    def __post_init__(self) -> None:
        check_option(self.questions >= 1, "--questions", self.questions, "at least 1")
        check_option(self.push or self.serial is None, "--serial", self.serial, "given with --push")
        for name in changed(self, ("data", "questions") if self.push else ()):
            check_exclusive(True, flag_of(name), "--push")


def choose_examples(examples: Sequence[Example], n: int) -> list[Example]:
    """Choose `n` examples evenly, and a few whose passage is several passages joined.

    The latter have answers over many windows.
    """
    chosen = [examples[i] for i in evenly(len(examples), n)]
    contexts = list(dict.fromkeys(example.context for example in examples))
    for number in range(min(LONG_PASSAGES, len(contexts))):
        parts = [contexts[(number * 7 + k) % len(contexts)] for k in range(JOINED)]
        example = next(e for e in examples if e.context == parts[-1])
        chosen.append(Example(f"joined-{number}", "", "\n".join(parts), example.question, (), False))
    return chosen


def answer_here(
    examples: Sequence[Example], bundle: Bundle, runtime: Runtime
) -> list[tuple[Prediction, int]]:
    """Return Python's prediction for each example, and how many windows it read."""
    windows = windows_to_read(examples, bundle.tokenizer, bundle.settings)
    logits = run_windows(runtime, windows, progress=True)
    n_windows = Counter(window.example for window in windows)
    predictions = predict(examples, windows, logits, bundle.settings)
    return [(prediction, n_windows[row]) for row, prediction in enumerate(predictions)]


def differences(
    example: Example, expected: tuple[Prediction, int], answer: CoreAnswer, threshold: float | None
) -> str:
    """Describe how the core's answer differs; empty when all is equal to the last digit."""
    prediction, n_windows = expected
    where = f"{example.id} {example.question!r}: "
    if answer.n_windows != n_windows:
        return f"{where}{answer.n_windows} windows, in Python {n_windows}"
    if not equal_predictions(answer.prediction, prediction):
        texts = [
            [(round(c.score, 4), c.start, c.end, example.context[c.start : c.end]) for c in p.candidates[:1]]
            for p in (answer.prediction, prediction)
        ]
        return f"{where}{texts[0]}, in Python {texts[1]} (or another candidate or the null score differs)"
    if answer.answered != (prediction.best(threshold) is not None):
        return f"{where}answered: {answer.answered}, in Python {not answer.answered}"
    return ""


def equal_predictions(one: Prediction, other: Prediction) -> bool:
    """Return whether two predictions are equal; shares may be sums in another order."""
    places = [[(c.score, c.start, c.end) for c in p.candidates] for p in (one, other)]
    pairs = zip(one.candidates, other.candidates, strict=False)
    return (one.null_score, places[0]) == (other.null_score, places[1]) and all(
        abs(a.share - b.share) <= SHARE_TOLERANCE for a, b in pairs
    )


def check_or_push(options: AndroidOptions) -> None:
    """Compare or push, and print the result."""
    bundle = None if is_phone_file(options.model) else open_bundle(options.model, format="tflite")
    file = options.model if bundle is None else bundle.weights
    package = read_package(file)  # a file without one is refused before any work
    if options.push:
        push(file, package, options.serial)
    else:
        compare(options, bundle or open_packaged(file), file)


def compare(options: AndroidOptions, bundle: Bundle, weights: Path) -> None:
    """Compare the app's answers with those of Python, which reads the file as a bundle, and print the result.

    BundleError when the app refuses the file, ParityError when an answer differs.
    """
    examples = choose_examples(read_squad(resolve(options.data, "dev")), options.questions)
    runtime = load_runtime(bundle, 1)
    expected = answer_here(examples, bundle, runtime)
    with CoreProcess(weights) as core:
        print(f"{weights}: {weights.stat().st_size:,} bytes, SHA-256 {file_sha256(weights)}")
        print("the app's reader accepts the file")
        worst = core.check_probe(runtime)
        tolerance = read_package(weights).probe.allowed(bundle.precision)
        print(f"probe: logits differ by {worst:.3g} of their deviation (tolerance {tolerance:.3g})")
        threshold = bundle.settings.null_threshold
        different = []
        progress = Progress(examples, desc="the app's core", unit="question")
        for example, here in zip(progress, expected, strict=True):
            answer = core.ask(example.context, example.question, runtime)
            if text := differences(example, here, answer, threshold):
                different.append(text)
    for text in different[:SHOWN]:
        print(f"differs: {text}", file=sys.stderr)
    if different:
        raise ParityError(
            f"{len(different)} of {len(examples)} questions: the app's core answers otherwise than Python"
        )
    answered = sum(prediction.best(threshold) is not None for prediction, _ in expected)
    n_windows = sum(n for _, n in expected)
    print(
        f"{len(examples)} of {len(examples)} real questions ({n_windows} windows, {answered} answered): "
        "answers, offsets, n-best lists, scores and no-answer decisions are equal"
    )
    say_next("export android", "--model", options.model, "--push")
