"""Add no-answer thresholds and calibrated probabilities to a finished bundle, without exporting it again.

python -m export.tune --model models/student-tflite-int8 --data models/student/held_out.json.gz

With several files, the thresholds serve all of them alike.
The model computes the questions in its own runtime. Weights and all other files stay the same, byte for byte;
of a packaged file, only its settings change.
"""

import shutil
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from export.android.package import package_again
from qa.base.commands import run_command
from qa.base.errors import OptionError
from qa.bundles.bundle import CARD, HELD_OUT, SETTINGS, Bundle, check_new_bundle, new_bundle, open_bundle
from qa.bundles.hf_import import output_beside
from qa.bundles.manifest import StageRecord
from qa.evaluation.scores import load_eval, scores_of
from qa.evaluation.threshold import questions_to_tune, tune_on_files
from qa.runtime.runtimes import load_runtime
from qa.text.settings import QASettings


@dataclass(frozen=True)
class TuneOptions:
    """Tune the thresholds and the calibration of a finished bundle."""

    model: Path
    """Bundle of any format; it is left as it is."""
    out: Path | None = None
    """Bundle to create; by default beside the model, for a shipped model in runs, named <model>-tuned."""
    data: tuple[Path, ...] = ()
    """Questions to tune on, at least 100, 20 of them with and 20 without an answer, which no training of
    the model has seen: SQuAD JSON or records. Several files weigh the same, whatever their sizes. By default
    the held-out questions of the bundle; an export finds them in its parent's held_out.json.gz."""
    eval_data: str | None = None
    """Questions to score the result on, for its card: embedded, everyday, squad, squad_v2, or a file
    of questions. Without it the new bundle has no scores."""
    max_answer_length: int | None = None
    """Longest answer in tokens that the model may give; by default as before."""

    def __post_init__(self) -> None:
        self.settings(QASettings())

    def settings(self, base: QASettings) -> QASettings:
        """Return `base` with the given longest answer."""
        if self.max_answer_length is None:
            return base
        return replace(base, max_answer_length=self.max_answer_length)


def tune(options: TuneOptions) -> Bundle:
    """Tune, seal a copy of the bundle with the new settings, and print them."""
    out = options.out or output_beside(options.model, "tuned")
    check_new_bundle(out)
    eval_data = load_eval(options.eval_data)
    bundle = open_bundle(options.model)
    if not options.data and not (bundle.path / HELD_OUT).is_file():
        of_parent = f"give --data (for an export, {HELD_OUT} of its parent)"
        raise OptionError(f"{options.model}: holds out no questions; {of_parent}")
    files = [questions_to_tune(file, "--data") for file in options.data or (bundle.path / HELD_OUT,)]
    runtime = load_runtime(bundle)
    settings = options.settings(bundle.settings)
    settings, tuning = tune_on_files(runtime, bundle.tokenizer, settings, files)
    recorded: StageRecord = msgspec.convert(msgspec.to_builtins(bundle.manifest), StageRecord)
    with new_bundle(out, msgspec.structs.replace(recorded, tuning=tuning, scores=None)) as draft:
        for name in bundle.manifest.files:
            if name not in (CARD, SETTINGS, bundle.weights.name):
                shutil.copyfile(bundle.path / name, draft.path / name)
        weights = draft.path / bundle.weights.name
        if bundle.format == "tflite" and zipfile.is_zipfile(bundle.weights):
            package_again(bundle.weights, weights, settings)
        else:
            shutil.copyfile(bundle.weights, weights)
        settings.save(draft.path / SETTINGS)
        if eval_data is not None:
            draft.record(scores=scores_of(runtime, draft, settings, eval_data))
    print(f"{out}: {summary(draft.bundle)}")
    return draft.bundle


def summary(bundle: Bundle) -> str:
    """Describe what was tuned in a line."""
    settings = bundle.settings
    tuning = bundle.manifest.tuning
    assert tuning is not None
    assert settings.calibration is not None
    low, high = tuning.null_threshold_interval
    return (
        f"threshold {settings.null_threshold:.4g} (95 % interval {low:.3g} to {high:.3g}), strict "
        f"{settings.strict_threshold:.4g}, temperature {settings.calibration.temperature:.4g}, offset "
        f"{settings.calibration.offset:.4g}, tuned on {tuning.n_questions} questions of {tuning.n_articles} "
        "articles"
    )


if __name__ == "__main__":
    run_command("tune")
