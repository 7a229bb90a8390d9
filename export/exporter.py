"""Export of a PyTorch bundle: write the file, compare it with PyTorch, find its threshold, seal it.

A format is a subclass of `Exporter`: export.onnx.exporter, export.tflite.exporter.
"""

import copy
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from torch import nn

from compress.product_quantization import token_counts
from export.embeddings import stored_words, with_words
from export.options import ExportOptions
from export.parity import (
    SHORT_WINDOW,
    check_parity,
    cut_window,
    limits_of,
    probe_tolerance,
    probe_windows,
    real_windows,
    window_logits,
)
from qa.base.errors import BundleError, ParityError, UnsupportedExport
from qa.base.next_step import say_next
from qa.base.shipped import STUDENT, TEACHER, shipped
from qa.bundles.bundle import (
    MANIFEST,
    PROBE,
    SETTINGS,
    Bundle,
    ModelFolder,
    check_new_bundle,
    new_bundle,
    read_manifest,
)
from qa.bundles.hf_import import open_model, output_beside, say_that_it_always_answers
from qa.bundles.manifest import StageRecord, Structure, Tuning, recorded_options
from qa.bundles.trained_on import TrainedOn
from qa.data.datasets import EMBEDDED, resolve
from qa.data.squad import read_squad
from qa.evaluation.scores import load_eval, scores_of
from qa.evaluation.threshold import questions_to_tune, read_held_out, tune_for_bundle, tune_on_files
from qa.formats.precision import PRECISIONS
from qa.models.model import QAModel
from qa.models.pretrained import copy_tokenizer
from qa.runtime.probe import ProbeWindow, write_probe
from qa.runtime.runtimes import Runtime, TorchRuntime, available_cores, load_runtime, probe_difference
from qa.text.settings import QASettings

DEMO = Path("runs/demo")


def newest_student(folder: Path = DEMO) -> Path:
    """Return the student that was finished last in a run folder; the shipped one when there is none."""
    students = []
    for manifest in folder.glob(f"*/{MANIFEST}"):
        try:
            is_student = read_manifest(manifest.parent).is_student
        except BundleError:
            continue
        # A run's copy of its teacher may have been distilled too.
        if is_student and manifest.parent.name != TEACHER:
            students.append((manifest.stat().st_mtime_ns, manifest.parent))
    return max(students)[1] if students else shipped(STUDENT)


class Exporter:
    """Export of one PyTorch bundle to one format."""

    format: ClassVar[str]
    """Name of the format, a key of FORMATS."""

    def __init__(self, options: ExportOptions) -> None:
        """Open the parent; nothing is written yet."""
        self.options = options
        self.precision = options.quantize
        least = options.min_equal_spans
        defaults = PRECISIONS[self.precision].equal_spans
        self.min_equal_spans = defaults[self.format] if least is None else least
        self.source = options.model or newest_student()
        if options.model is None:
            print(f"exporting {self.source}", file=sys.stderr)
        name = "-".join([self.format, self.precision, *filter(None, [options.embeddings])])
        self.out = options.out or output_beside(self.source, name)
        check_new_bundle(self.out)
        self.eval_data = load_eval(options.eval_data)
        self.to_tune: list[Path] = []
        if options.tune_threshold is not None:  # now, not after minutes of work
            self.to_tune = [questions_to_tune(options.tune_threshold, "--tune-threshold")]
        self.parent = open_model(self.source, format="pytorch")

    def check(self, model: QAModel) -> None:
        """Raise when the parent cannot be exported, before any work is done."""

    def probe_lengths(self) -> Sequence[int]:
        """Return the number of tokens of each window of the probe."""
        raise NotImplementedError

    def write(self, model: QAModel, folder: Path) -> Structure:
        """Write the model file; return its structure for the manifest.

        `model` has the embedding table as the file stores it. Raises UnsupportedExport or ParityError.
        """
        raise NotImplementedError

    def package(self, folder: Path, settings: QASettings) -> None:
        """Add to the model file what depends on its settings."""

    def other_runtimes(self, model: ModelFolder, threads: int) -> Sequence[Runtime]:
        """Return runtimes with other kernels, by which other machines may compute the model."""
        return ()

    def export(self) -> Bundle:
        """Export as `exported` does, and print the next command."""
        bundle = self.exported()
        eval_data = self.options.eval_data
        say_next("compare", self.source, self.out, *(() if eval_data is None else ("--data", eval_data)))
        return bundle

    def exported(self) -> Bundle:
        """Write the file, compare it with PyTorch on real windows, and seal the bundle."""
        parent = self.parent
        threads = available_cores()
        reference = load_runtime(parent, threads)
        assert isinstance(reference, TorchRuntime)
        # An imported checkpoint is a bundle in the cache, so the message names what was given.
        try:
            self.check(reference.model)
        except UnsupportedExport as error:
            raise UnsupportedExport(f"{self.source}: {error}") from None
        with new_bundle(self.out, self.record()) as draft:
            copy_tokenizer(parent.path, draft.path, parent.settings.max_length)
            TrainedOn.read(parent.path).write(draft.path)
            held_out = read_held_out(parent.path)

            def counts() -> np.ndarray:
                counted = held_out or read_squad(resolve(EMBEDDED, "train"))
                return token_counts(parent, reference.model.encoder.words.num_embeddings, counted)

            words, form = stored_words(reference.model, self.precision, self.options.embeddings, counts)
            if form is not None:
                draft.record(embeddings=form)
            # A runtime is to compute what PyTorch computes with the embedding table as it is stored; parity
            # is with the parent's own table.
            stored = copy.copy(reference)
            stored.model = with_words(reference.model, words)
            windows = probe_windows(parent, self.probe_lengths())
            recorded = [
                ProbeWindow(
                    window.input_ids.tolist(),
                    window.context_begin,
                    *(logits.tolist() for logits in window_logits(stored, window)),
                )
                for window in windows
            ]
            draft.record(structure=self.write(stored.model, draft.path))
            exported = load_runtime(draft.model(parent.settings), threads, probe=False)
            own = held_out or (self.eval_data.examples if self.eval_data else ())
            real = real_windows(parent, examples=own)
            own_form = form if isinstance(reference.model.encoder.words, nn.Embedding) else None
            report = check_parity(
                reference,
                exported,
                # A few words are a window, too; and the file computes what is recorded.
                [cut_window(real[0], SHORT_WINDOW), *real, *windows],
                parent.settings,
                name=self.out.name,
                tolerance=limits_of(self.precision, own_form).probe_tolerance,
                min_equal_spans=self.min_equal_spans,
            )
            draft.record(parity=report)
            print(report)
            runtimes = [exported, *self.other_runtimes(draft.model(parent.settings), threads)]
            differences = [probe_difference(runtime, recorded) for runtime in runtimes]
            tolerance = probe_tolerance(self.precision, max(differences))
            # Parity allows more where the embedding table has few bits; opening the file does not.
            if not differences[0] <= tolerance:
                raise ParityError(
                    f"{self.out.name}: logits differ from those of the probe by {differences[0]:.3g} of "
                    f"their deviation (tolerance {tolerance:g}); take a finer --quantize; no file was kept"
                )
            probe = write_probe(recorded, {self.precision: tolerance})
            (draft.path / PROBE).write_text(probe, encoding="utf-8")
            settings, tuning = self.settings(exported)
            draft.record(tuning=tuning)
            settings.save(draft.path / SETTINGS)
            if self.eval_data is not None:
                draft.record(scores=scores_of(exported, draft, settings, self.eval_data))
            self.package(draft.path, settings)
        print(summary(draft.bundle))
        return draft.bundle

    def record(self) -> StageRecord:
        """Return what the manifest says before anything is computed."""
        return StageRecord(
            format=self.format,
            precision=self.precision,
            stage="export",
            config=recorded_options(replace(self.options, model=Path(self.source), out=self.out)),
            parent=self.parent.reference(),
            ancestors=self.parent.lineage(),
            parameters=self.parent.manifest.parameters,
        )

    def settings(self, exported: Runtime) -> tuple[QASettings, Tuning | None]:
        """Return the parent's settings with the file's own thresholds, and on what they were tuned.

        They are tuned with the file's logits, on the questions that the parent holds out or on those of a
        file; thresholds of the parent that were tuned on other files stay. A given threshold replaces that of
        mode balanced. Mode strict never answers more than it does.
        """
        parent = self.parent
        options = self.options
        if self.to_tune:
            return tune_on_files(exported, parent.tokenizer, parent.settings, self.to_tune)
        settings, tuning = tune_for_bundle(exported, parent)
        given = options.null_threshold
        if given is None:
            say_that_it_always_answers(settings, parent.manifest)
            return settings, tuning
        strict = settings.strict_threshold
        strict = None if strict is None else min(strict, given)
        return replace(settings, null_threshold=given, strict_threshold=strict), None


def summary(bundle: Bundle) -> str:
    """Describe an exported file in a line."""
    structure = bundle.manifest.structure
    assert structure is not None
    return (
        f"{bundle.weights}: {bundle.weights.stat().st_size / 1e6:.1f} MB, "
        f"{sum(structure.operators.values())} operators, "
        f"{structure.quantized_share_of_bytes:.1%} of the constants' bytes are int8 or int4"
    )
