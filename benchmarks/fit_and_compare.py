"""Fit a model to a user's questions and compare it with the shipped file: what `benchmarks.fit` does."""

import math
import sys
import time
from contextlib import suppress
from pathlib import Path

import torch

from benchmarks.differences import read_f1
from benchmarks.fit import FitOptions
from benchmarks.measure.models import display_names
from benchmarks.measure_and_show import measure
from benchmarks.options import CompareOptions
from benchmarks.results.files import exit_if_failed
from compress.options import QATOptions
from compress.qat.train import trained
from distill.training.options import AUTO
from distill.training.precision import resolve_precision
from export.options import TFLiteOptions
from export.tflite.exporter import TFLiteExporter, check_converters, packaged
from qa.base.errors import BundleError, OptionError, SquadFormatError, UnsupportedExport, first_few
from qa.base.sampling import evenly
from qa.base.shipped import ASKED, STUDENT, shipped
from qa.bundles.bundle import Bundle, open_bundle
from qa.bundles.hf_import import open_model
from qa.bundles.next_export import can_train_rounded, export_format
from qa.bundles.overlap import is_notable, overlap_line
from qa.data.convert.report import Report, check_converted, write
from qa.data.convert.rows import read_examples
from qa.data.datasets import source_reference
from qa.data.squad import read_squad
from qa.evaluation.bootstrap import LEVEL, Interval, score_interval
from qa.evaluation.threshold import read_held_out
from qa.runtime.runtimes import load_runtime, run_windows
from qa.split import texts_of, why_none, write_parts
from qa.text.features import make_windows
from qa.text.preselection import windows_to_read

TIMED_WINDOWS = 32
# What a window costs in training, in passes of the model in fp32: forward, twice backward and rounding. In
# bf16, and in batches, all of it is as fast as one pass.
TRAINING_COST = {"fp32": 4, "bf16": 1}
OTHER_MINUTES = 2  # rounding before training, and the export


def fit(options: FitOptions) -> None:
    """Convert, split, train, export, compare, and say which file is better."""
    check_converters()
    model = options.model or shipped(STUDENT)
    parent = open_model(model, format="pytorch")
    # What a model of the user's gained is asked of that model, which may read another language than ours.
    baseline = shipped(ASKED) if options.model is None else parent.path
    if export_format(parent) != "tflite" or not can_train_rounded(parent):
        raise UnsupportedExport(f"--model {model}: cannot be trained for a TFLite file; give another model")
    train, held_out = split(options)
    fitted = options.out / "fitted"
    if not fitted.exists():
        packaged(parent, "int8", Path(model))
        print(estimate(parent, train, held_out, options.epochs), flush=True)
    # Only the gold answers count: the model is to answer otherwise than it did.
    training = QATOptions(
        model=model,
        data=str(train),
        epochs=options.epochs,
        learning_rate=options.learning_rate,
        alpha=1,
        hidden_weight=0,
        out=fitted,
        resume=True,
    )
    try:
        bundle = trained(training)
        file = exported(bundle, parent, options.out / "fitted-tflite-int8", held_out or train)
    except KeyboardInterrupt:
        print("the same command continues this run", file=sys.stderr)
        raise
    if held_out is None:
        print(
            f"no file is recommended, as no question is left to compare on: score {file} and {baseline} on "
            "questions about other texts"
        )
        return
    rows = options.out / "rows.jsonl"
    compared = CompareOptions(
        (baseline, file), str(held_out), baseline=baseline, rows=rows, skip_latency=True
    )
    exit_if_failed(measure(compared))
    kept = "ours" if options.model is None else str(model)
    found = verdict(*difference(rows, held_out, baseline, file), kept)
    if parent.settings.null_threshold is None and bundle.settings.null_threshold is not None:
        found += f"; {kept} has no no-answer threshold, and one may be all that the new file has more"
    print(found)


def split(options: FitOptions) -> tuple[Path, Path | None]:
    """Convert the questions; return files of those to train on and, where any are, of those held out.

    OptionError where the folder holds anything but a run on the same questions.
    """
    report = Report()
    examples, made_from = read_examples(options.file, "train", report)
    check_converted(report, f"{options.file}:")
    out = options.out
    questions = out / "questions.json"
    if questions.is_file():
        is_same = False
        with suppress(SquadFormatError):
            is_same = read_squad(questions, unlabelled=True) == examples
        if not is_same:
            raise OptionError(
                f"--out {out}: was made of other questions than {options.file} has now; choose another --out"
            )
    elif out.exists() and not all(path.name.startswith(f"{questions.name}.") for path in out.iterdir()):
        raise OptionError(f"--out {out}: exists already and holds no run of fit; choose another --out")
    else:
        unlabelled = [example.id for example in examples if example.unlabelled]
        if unlabelled:
            raise SquadFormatError(
                f"{options.file}: unlabelled: {first_few(unlabelled)}; label or remove them"
            )
        out.mkdir(parents=True, exist_ok=True)
        write(questions, examples, report, made_from)
    print(report.table(questions))
    examples = read_squad(questions)
    parts = write_parts(examples, out, source_reference(questions))
    if parts is None:
        print(f"set apart to compare on: nothing: {why_none(examples)}")
        return questions, None
    return parts


def estimate(parent: Bundle, train: Path, held_out: Path | None, epochs: float) -> str:
    """Return in words how long the run takes, by the time of some windows on this machine's CPU."""
    how = parent.tokenizer, parent.settings
    windows = make_windows(read_squad(train), *how)
    asked = windows_to_read(read_squad(held_out), *how) if held_out else []
    sample = [windows[i] for i in evenly(len(windows), TIMED_WINDOWS)]
    runtime = load_runtime(parent)
    began = time.monotonic()
    run_windows(runtime, sample)
    seconds = (time.monotonic() - began) / len(sample)
    cost = TRAINING_COST[resolve_precision(AUTO)]
    # Two files answer what is held out, and the new one may do so once more for its card.
    passes = cost * epochs * len(windows) + 3 * len(asked)
    minutes = math.ceil(OTHER_MINUTES + passes * seconds / 60)
    return (
        f"this takes about {minutes} minutes: an estimate for {len(windows):,} windows, {epochs:g} times, "
        f"from the time of {len(sample)} on this CPU"
        + ("; its GPU trains faster" if torch.cuda.is_available() else "")
    )


def exported(bundle: Bundle, parent: Bundle, out: Path, questions: Path) -> Path:
    """Export the trained bundle, unless a stopped run has done so. BundleError for another model's file.

    The export of a bundle that holds no questions of its own data out is compared with it on `questions`.
    """
    if not out.exists():
        own = {e.id for e in read_held_out(bundle.path)} - {e.id for e in read_held_out(parent.path)}
        compared_on = None if own else str(questions)
        return TFLiteExporter(TFLiteOptions(bundle.path, out, "int8", eval_data=compared_on)).exported().path
    made_of = open_bundle(out, format="tflite").manifest.parent
    if made_of is None or made_of.sha256 != bundle.sha256:
        raise BundleError(
            f"{out}: was not made of {bundle.path} as it is now; remove it, or choose another --out"
        )
    return out


def difference(rows: Path, data: Path, baseline: Path, file: Path) -> tuple[Interval, float | None]:
    """Return F1 of `file` less that of `baseline` in points, over texts, and the train-test overlap."""
    examples, f1, scores = read_f1(rows, str(data))
    before, after = display_names([baseline, file])
    asked = read_squad(rows.with_name("questions.json"))
    texts = dict(zip((e.id for e in asked), texts_of(asked), strict=True))  # by which they were parted
    found, _ = score_interval(f1[after] - f1[before], [texts[e.id] for e in examples])
    return found, scores[after].train_overlap


def verdict(points: Interval, overlap: float | None, kept: str) -> str:
    """Recommend the file made or the model `kept`; none where questions are about passages trained on."""
    measured = (
        f"{points.mean:+.1f} points of F1 ({LEVEL:.0%} interval {points.low:+.1f} to {points.high:+.1f})"
    )
    if is_notable(overlap):
        return f"no file is recommended: the new one differs by {measured}, but {overlap_line(overlap)}"
    if points.low > 0:
        return f"the new file is better by {measured}"
    return f"keep {kept}: the new file differs by {measured}"
