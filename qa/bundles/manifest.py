"""Manifest of a bundle, manifest.json: where the model comes from, what it holds, SHA-256 of every file.

Python names differ from the JSON keys where the key is an older word: `kind` is `format`, `grid` is `qat`,
`recovered_against` is `teacher`. Keys that no field names are ignored on reading.
"""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, Self

import msgspec

from qa.base.errors import BundleError
from qa.formats.parameters import Parameters
from qa.formats.precision import PRECISIONS
from qa.formats.registry import FORMATS

MANIFEST = "manifest.json"
MANIFEST_VERSION = 1
TEACHER_STAGES = frozenset({"finetune", "checkpoint", "average"})


class Struct(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Part of a manifest; a field that is None has no key in the JSON."""


class FileReference(Struct, frozen=True):
    """Name and hash of a data file."""

    name: str
    sha256: str
    dataset: str | None = None
    """Name of the published data set that the file holds, where its content is known."""
    made_from: "FileReference | None" = None
    """File that this one is a sample of, or that questions were added to."""
    added: "list[FileReference]" = []
    """Files whose questions were added."""

    @property
    def origins(self) -> "list[FileReference]":
        """Files that the questions come from, as far back as that is known."""
        if self.dataset or not self.made_from:
            return [self]
        return [origin for file in (self.made_from, *self.added) for origin in file.origins]

    @property
    def published(self) -> str | None:
        """Name of the published data set that all questions come from, where there is one."""
        names = {origin.dataset for origin in self.origins}
        return names.pop() if len(names) == 1 else None


class EncoderReference(FileReference, frozen=True):
    """Name and weights' hash of a pre-trained encoder, and the hashes of all its files."""

    files: dict[str, str] = {}
    """SHA-256 by name; older manifests have none."""

    @property
    def all_files(self) -> str:
        """SHA-256 of the names and hashes of its files."""
        return hashlib.sha256(repr(sorted(self.files.items())).encode()).hexdigest()


class CheckpointReference(Struct, frozen=True):
    """Name and file hashes of an imported transformers checkpoint."""

    name: str
    files: dict[str, str]


class BundleReference(Struct, frozen=True):
    """Name and hashes of another bundle."""

    name: str
    sha256: str
    """Hash of its manifest."""
    weights_sha256: str | None = None


class TeacherReference(BundleReference, frozen=True):
    """Name and hashes of a teacher."""

    lineage: "list[Ancestor]" = []
    """The teacher, its parent and so on, nearest first; empty for one that is an ancestor of the model."""


class QAT(Struct, frozen=True):
    """Quantization-aware training."""

    precision: str


class Scores(Struct, frozen=True):
    """Scores in percent, as the official SQuAD script counts them; counts of questions, windows, articles."""

    data: FileReference
    exact: float
    f1: float
    total: int
    has_answer_exact: float | None = msgspec.field(default=None, name="HasAns_exact")
    has_answer_f1: float | None = msgspec.field(default=None, name="HasAns_f1")
    has_answer_total: int | None = msgspec.field(default=None, name="HasAns_total")
    no_answer_exact: float | None = msgspec.field(default=None, name="NoAns_exact")
    no_answer_f1: float | None = msgspec.field(default=None, name="NoAns_f1")
    no_answer_total: int | None = msgspec.field(default=None, name="NoAns_total")
    best_f1: float | None = None
    """F1 with the oracle threshold."""
    best_f1_thresh: float | None = None
    n_windows: int | None = None
    n_articles: int | None = None
    exact_interval: tuple[float, float] | None = None
    """Ends of the 95 % interval (bootstrap over articles)."""
    f1_interval: tuple[float, float] | None = None
    calibration_error: float | None = None
    """Expected calibration error of the probabilities, in percent (`qa.evaluation.calibration`)."""
    uncalibrated_calibration_error: float | None = None
    """The same of the softmax scores."""
    coverage_at_80: float | None = None
    """Share of questions, in percent, that can be answered at 80 % accuracy (`qa.evaluation.coverage`)."""
    train_overlap: float | None = None
    """Share of questions (0 to 1) about passages that the model was trained on; None where unknown."""


class Tuning(Struct, frozen=True):
    """Questions that the no-answer thresholds and the calibration were tuned on."""

    n_questions: int
    n_unanswerable: int
    n_articles: int
    null_threshold_interval: tuple[float, float]
    """Ends of the 95 % interval of the threshold in mode balanced (bootstrap over `resampled`)."""
    resampled: Literal["articles", "questions"]
    data: FileReference | None = None
    """File of the questions; None for those that the model holds out."""
    more_data: list[FileReference] = []
    """Further files, of the same weight."""
    of_parent: bool = False
    """True where the thresholds are those of the model that this one was trained from."""

    @property
    def counts(self) -> tuple[int, int, int]:
        """Numbers of questions, of those without an answer, and of articles."""
        return self.n_questions, self.n_unanswerable, self.n_articles

    @property
    def files(self) -> list[FileReference]:
        """Files of the questions; none where the model held them out."""
        return [self.data, *self.more_data] if self.data else []


class Parity(Struct, frozen=True):
    """Comparison of an exported model with its PyTorch parent on real windows."""

    name: str
    n_windows: int
    max_difference: float
    relative_difference: float
    """Largest difference of a logit, in standard deviations of the parent's logits."""
    relative_tolerance: float
    equal_spans: float
    """Share of windows with the same best span."""
    equal_spans_wanted: float

    def __str__(self) -> str:
        """Describe the comparison in a line."""
        return (
            f"parity of {self.name} with PyTorch on {self.n_windows} real windows: "
            f"logits differ by {self.max_difference:.3g} at most, by {self.relative_difference:.3g} of their "
            f"deviation (tolerance {self.relative_tolerance:g}); "
            f"equal spans {self.equal_spans:.1%} (at least {self.equal_spans_wanted:.1%})"
        )


class Structure(Struct, frozen=True):
    """Content of an exported model file."""

    operators: dict[str, int]
    quantized_share_of_bytes: float
    signatures: list[str] = []
    opset: dict[str, int] = {}
    fp32_layers: list[str] = []
    """Layers that stayed in fp32 in a quantized file."""


class Ancestor(BundleReference, frozen=True):
    """Bundle that a model was made from, directly or not, with what its own manifest says of its making."""

    stage: str | None = None
    config: dict[str, Any] | None = None
    encoder: EncoderReference | None = None
    source: CheckpointReference | None = None
    training_data: FileReference | None = None
    teacher: TeacherReference | None = msgspec.field(default=None, name="recovered_against")
    averaged: list[BundleReference] | None = None
    qat: QAT | None = msgspec.field(default=None, name="grid")
    scores: Scores | None = None


class Made(Struct, frozen=True, kw_only=True):
    """Part of a record that differs from stage to stage: what was done to the model, with whom."""

    encoder: EncoderReference | None = None
    """Pre-trained encoder that training started from."""
    source: CheckpointReference | None = None
    """Checkpoint that was imported."""
    training_data: FileReference | None = None
    counted_data: FileReference | None = None
    """Data whose tokens were counted to quantize the embedding table."""
    teacher: TeacherReference | None = msgspec.field(default=None, name="recovered_against")
    """Teacher of a recovery or of quantization-aware training."""
    averaged: list[BundleReference] | None = None
    qat: QAT | None = msgspec.field(default=None, name="grid")
    training_precision: str | None = None
    embeddings: str | None = None
    """Form of the embedding table: a key of `qa.formats.precision.ROW_BITS` or `GROUP_SIZES`."""
    width: dict[str, Any] | None = None
    """Heads and neurons that distillation kept."""
    pruning: dict[str, Any] | None = None
    """Heads and neurons, or weights, that pruning kept."""


class StageRecord(Made, frozen=True, kw_only=True):
    """Record of a stage about the bundle it makes; sealing adds the rest of the manifest."""

    format: str = msgspec.field(name="kind")
    """Name in `qa.formats.registry`."""
    precision: str
    """Name in `qa.formats.precision`."""
    stage: str
    """Stage that made the model: finetune, average, distill, prune, search, compress, quantize, export,
    checkpoint for an imported one, or package for a phone's file."""
    parameters: Parameters
    config: dict[str, Any] | None = None
    """Options of the stage."""
    parent: BundleReference | None = None
    """Bundle that the stage read."""
    ancestors: list[Ancestor] = []
    """The parent, its parent and so on, nearest first."""
    structure: Structure | None = None
    parity: Parity | None = None
    tuning: Tuning | None = None
    scores: Scores | None = None
    versions: dict[str, str] = {}
    """Versions of Python and packages, by default those at the sealing."""

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise ValueError(f"kind {self.format!r} is not one of {', '.join(FORMATS)}")
        if self.precision not in PRECISIONS:
            raise ValueError(f"precision {self.precision!r} is not one of {', '.join(PRECISIONS)}")


class Manifest(StageRecord, frozen=True, kw_only=True):
    """Manifest of a bundle."""

    version: int = msgspec.field(name="format")
    """Version of the manifest's own layout."""
    files: dict[str, str]
    """SHA-256 of every other file, by name."""
    inputs: list[str] = []
    outputs: list[str] = []

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.files:
            if name != Path(name).name:
                raise ValueError(f"files: {name!r} is not a file of the folder")

    @property
    def is_teacher(self) -> bool:
        """True for a model that was trained on gold answers only, and for a mean of such models."""
        stages = {self.stage}
        if self.stage == "average":
            stages.update(str(ancestor.stage) for ancestor in self.ancestors)
        return stages <= TEACHER_STAGES

    @property
    def taught_by(self) -> set[str]:
        """SHA-256 of the teachers that it, and what it was made of, learnt from."""
        made_of: list[Manifest | Ancestor] = [self, *self.ancestors]
        recorded = {stage.teacher.sha256 for stage in made_of if stage.teacher is not None}
        # A new student is made of its teacher, which nothing else names.
        pairs = zip(made_of, self.ancestors, strict=False)
        followed = {parent.sha256 for made, parent in pairs if made.stage == "distill"}
        # The models of a mean stand behind one another, and taught nobody.
        averaged = {model.sha256 for stage in made_of for model in stage.averaged or []}
        return recorded | (followed - averaged)

    @property
    def is_student(self) -> bool:
        """True for a PyTorch model that was distilled, pruned, searched, or compressed."""
        return self.format == "pytorch" and not self.is_teacher

    def of_model(self) -> StageRecord:
        """Return what holds however the model is stored, and whatever its settings and parent."""
        record: StageRecord = msgspec.convert(msgspec.to_builtins(self), StageRecord)
        return msgspec.structs.replace(
            record,
            parent=None,
            ancestors=[],
            counted_data=None,
            qat=None,
            training_precision=None,
            structure=None,
            parity=None,
            tuning=None,
            scores=None,
        )

    def as_ancestor(self, reference: BundleReference) -> Ancestor:
        """Return what the manifest of a child keeps of this one."""
        return msgspec.convert({**msgspec.to_builtins(self), **msgspec.to_builtins(reference)}, Ancestor)

    @classmethod
    def from_json(cls, raw: bytes | str, where: str) -> Self:
        """Parse a manifest; BundleError names `where` and the field for anything else."""
        try:
            values = json.loads(raw)
            version = values.get("format", MANIFEST_VERSION) if isinstance(values, dict) else MANIFEST_VERSION
            if version != MANIFEST_VERSION:
                raise BundleError(
                    f"{where}: format {version}, this version reads {MANIFEST_VERSION}; use the version that "
                    "made it, or make the bundle again"
                )
            return msgspec.convert(values, cls)
        except (ValueError, RecursionError) as error:  # msgspec.ValidationError is a ValueError
            reason = str(error) or type(error).__name__
            raise BundleError(f"{where}: not a valid manifest ({reason}); make the bundle again") from None


def recorded_options(options: Any) -> dict[str, Any]:
    """Return the options of a stage, a dataclass, as a manifest records them.

    Of an absolute path only the file name is kept, so that a manifest tells nothing of the machine.
    """
    return {name: _recorded(value) for name, value in asdict(options).items()}


def recorded_name(model: str) -> str:
    """Return the name of a model for a manifest: of a folder only the last part, a hub name whole."""
    return Path(model).resolve().name if Path(model).exists() else model


def _recorded(value: Any) -> Any:
    if isinstance(value, str | Path):
        return Path(value).name if Path(value).is_absolute() else str(value)
    return [_recorded(item) for item in value] if isinstance(value, list | tuple) else value
