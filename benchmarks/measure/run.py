"""A run: the models under test, and what all their measurements share."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from benchmarks.measure.command_line import note
from benchmarks.results.files import ResultFile
from benchmarks.results.rows import (
    SHARED,
    Accuracy,
    Data,
    Failure,
    Kind,
    Machine,
    Result,
    Runtime,
    newest,
)
from qa.base.cli import one_line
from qa.bundles.bundle import Bundle
from qa.data.squad import Example
from qa.runtime.remote import Deployment
from qa.text.features import Window
from qa.text.preselection import MOST_WINDOWS, windows_to_read
from qa.text.settings import QASettings


def now() -> str:
    """Return the date of a run, UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class ModelUnderTest:
    """One model of a run."""

    bundle: Bundle
    """Bundle that a toolchain's model was made from."""
    metadata: dict[str, Any]
    """Fields of a Result that describe the model."""
    deployment: Deployment
    in_process: bool = True
    """True where this process computes its answers, else a worker."""
    runtime: Runtime | None = None
    accuracy: Accuracy | None = None
    error: str | None = None
    """Why it is measured no further."""
    unsupported: bool = False
    """True where its toolchain cannot express the model."""

    @property
    def name(self) -> str:
        """Return the name in tables."""
        return str(self.metadata["model"])

    @property
    def sha256(self) -> str:
        """Return the hash of what is measured."""
        return str(self.metadata["bundle_sha256"])


@dataclass
class Run:
    """Facts that all measurements of one run share, and the file of its results."""

    file: ResultFile
    examples: Sequence[Example]
    data: Data
    models: list[ModelUnderTest]
    target: str
    machine: Machine
    command: str
    baseline: ModelUnderTest | None = None
    date: str = field(default_factory=now)
    _windows: dict[str, list[Window]] = field(default_factory=dict)

    def windows(self, bundle: Bundle, settings: QASettings) -> list[Window]:
        """Return the windows that are read; bundles of the same tokenizer and settings share them."""
        tokenizer_sha256 = bundle.manifest.files.get("tokenizer.json")
        cut = replace(settings, null_threshold=None, strict_threshold=None, calibration=None)
        key = f"{tokenizer_sha256} {cut}"
        if key not in self._windows:
            self._windows[key] = windows_to_read(self.examples, bundle.tokenizer, settings)
        return self._windows[key]

    def common(self, model: ModelUnderTest) -> dict[str, Any]:
        """Return the fields that all results of a model have."""
        return {
            **model.metadata,
            "runtime": model.runtime,
            "target": self.target,
            "machine": self.machine,
            "data": self.data,
            "command": self.command,
            "date": self.date,
        }

    def known(self, kind: type[Kind], model: ModelUnderTest, **more: Any) -> Kind | None:
        """Return the newest earlier scores of this model on this data, target and machine; with any runtime
        if it is unknown.

        Scores with a no-answer threshold are not those of a model that answers always. Earlier versions
        scored all windows of a long text, or counted other answers as right in the calibration error: these
        are left out too.
        """
        always = model.bundle.settings.null_threshold is None
        old = [
            r
            for r in self.file.old
            if (not isinstance(r, Accuracy) or (r.null_threshold is None) == always)
            and r.data is not None
            and r.data.sha256 == self.data.sha256
            and (getattr(r, "right", SHARED) == SHARED or getattr(r, "calibration_error", None) is None)
        ]
        names = ("bundle_sha256", "runtime", "target", "machine")
        found = newest(old, kind, **{name: self.common(model)[name] for name in names}, **more)
        settings = model.bundle.settings
        # Each window but the first adds `doc_stride` tokens, so a shorter text has no window too many.
        may_skip = any(len(e.context) > MOST_WINDOWS * settings.doc_stride for e in self.examples)
        n_windows = getattr(found, "n_windows", None)
        if may_skip and n_windows not in (None, len(self.windows(model.bundle, settings))):
            return None
        return found

    def is_shown(self, model: ModelUnderTest, known: Result) -> bool:
        """Return whether tables still show a known result of a model.

        They do not where the file has a later failure, or a later result of another file, or of another
        runtime, under the same name.
        """
        for result in reversed(self.file.old):
            if result is known:
                return True
            there = (result.target, result.data) == (known.target, known.data)
            same_file = result.bundle_sha256 == known.bundle_sha256
            if not there or not (same_file or result.model in (model.name, known.model)):
                continue
            replaced = not same_file or result.runtime != known.runtime
            failed = isinstance(result, Failure) and result.threads is None  # else its scores stay
            if failed or (replaced and result.machine == known.machine):
                return False
        return True

    def fail(self, model: ModelUnderTest, error: Exception | str, **more: Any) -> None:
        """Append a failure; the model is measured no further."""
        model.error = error if isinstance(error, str) else one_line(error)
        note(f"{model.name}: failed, {model.error}")
        self.file.append(
            Failure(**self.common(model), **more, error=model.error, unsupported=model.unsupported)
        )
