"""Manifest of a bundle, manifest.json: where the model comes from, what it holds, SHA-256 of every file.

Python names differ from the JSON keys where the key is an older word: `kind` is `format`, `grid` is `qat`,
`recovered_against` is `teacher`. Keys that no field names are ignored on reading.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

import msgspec

from qa.base.errors import BundleError
from qa.formats.precision import PRECISIONS
from qa.formats.registry import FORMATS

MANIFEST = "manifest.json"
MANIFEST_VERSION = 1
TEACHER_STAGES = frozenset({"finetune", "checkpoint", "average"})


class Struct(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Part of a manifest; a field that is None has no key in the JSON."""


class FileReference(Struct, frozen=True):
    """Name and hash of a data file, or of the weights of a pre-trained encoder."""

    name: str
    sha256: str
    dataset: str | None = None
    """Name of the published data set that the file holds, where its content is known."""
    made_from: "FileReference | None" = None
    """File that this one is a sample of, or that questions were added to."""

    @property
    def published(self) -> str | None:
        """Name of the published data set that the questions come from, where it is known."""
        return self.dataset or (self.made_from.published if self.made_from else None)


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


class Parameters(Struct, frozen=True):
    """Number of parameters."""

    total: int
    without_embeddings: int

    def __str__(self) -> str:
        """Return both in words."""
        return f"{self.total:,} parameters ({self.without_embeddings:,} without embeddings)"


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
    products_of_activations: dict[str, int] = {}
    signatures: list[str] = []
    opset: dict[str, int] = {}
    fp32_layers: list[str] = []
    """Layers that stayed in fp32 in a quantized file."""


class Ancestor(BundleReference, frozen=True):
    """Bundle that a model was made from, directly or not, with what its own manifest says of its making."""

    stage: str | None = None
    config: dict[str, Any] | None = None
    encoder: FileReference | None = None
    source: CheckpointReference | None = None
    training_data: FileReference | None = None
    teacher: TeacherReference | None = msgspec.field(default=None, name="recovered_against")
    averaged: list[BundleReference] | None = None
    qat: QAT | None = msgspec.field(default=None, name="grid")
    scores: Scores | None = None


class Manifest(Struct, frozen=True):
    """Manifest of a bundle."""

    version: int = msgspec.field(name="format")
    """Version of the manifest's own layout."""
    format: str = msgspec.field(name="kind")
    """Name in `qa.formats.registry`."""
    precision: str
    """Name in `qa.formats.precision`."""
    stage: str
    """Stage that made the model: finetune, average, distill, prune, search, compress, quantize, export, or
    checkpoint for an imported one."""
    parameters: Parameters
    files: dict[str, str]
    """SHA-256 of every other file, by name."""
    config: dict[str, Any] | None = None
    """Options of the stage."""
    parent: BundleReference | None = None
    """Bundle that the stage read."""
    ancestors: list[Ancestor] = []
    """The parent, its parent and so on, nearest first."""
    encoder: FileReference | None = None
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
    search: dict[str, Any] | None = None  # of a model that `benchmarks.search` of version 0.2.0 made
    structure: Structure | None = None
    parity: Parity | None = None
    tuning: Tuning | None = None
    scores: Scores | None = None
    inputs: list[str] = []
    outputs: list[str] = []
    versions: dict[str, str] = {}

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise ValueError(f"kind {self.format!r} is not one of {', '.join(FORMATS)}")
        if self.precision not in PRECISIONS:
            raise ValueError(f"precision {self.precision!r} is not one of {', '.join(PRECISIONS)}")
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
        teachers = {stage.teacher.sha256 for stage in made_of if stage.teacher is not None}
        # A new student is made of its teacher, which nothing else names.
        pairs = zip(made_of, self.ancestors, strict=False)
        return teachers | {parent.sha256 for made, parent in pairs if made.stage == "distill"}

    @property
    def is_student(self) -> bool:
        """True for a PyTorch model that was distilled, pruned, searched, or compressed."""
        return self.format == "pytorch" and not self.is_teacher

    def facts_of_model(self) -> dict[str, Any]:
        """Return the facts, by JSON key, that hold however the model is stored and whatever its settings."""
        facts = {
            "stage": self.stage,
            "config": self.config,
            "encoder": self.encoder,
            "source": self.source,
            "training_data": self.training_data,
            "parameters": self.parameters,
            "embeddings": self.embeddings,
            "width": self.width,
            "pruning": self.pruning,
            "recovered_against": self.teacher,
            "averaged": self.averaged,
        }
        return {key: value for key, value in facts.items() if value is not None}

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
                raise BundleError(f"{where}: format {version}, this version reads {MANIFEST_VERSION}")
            return msgspec.convert(values, cls)
        except (ValueError, RecursionError) as error:  # msgspec.ValidationError is a ValueError
            reason = str(error) or type(error).__name__
            raise BundleError(f"{where}: not a valid manifest ({reason}); make the bundle again") from None


KEYS = frozenset(field.encode_name for field in msgspec.structs.fields(Manifest))


def check_keys(facts: Mapping[str, Any]) -> None:
    """Raise TypeError for a key that the manifest has no field for."""
    unknown = facts.keys() - KEYS
    if unknown:
        raise TypeError(f"no field of a manifest: {', '.join(sorted(unknown))}")


def to_json(facts: Mapping[str, Any]) -> str:
    """Return facts as the text of a manifest, in their own order."""
    return json.dumps(facts, indent=1, default=_jsonable) + "\n"


def _jsonable(value: Any) -> Any:
    return msgspec.to_builtins(value) if isinstance(value, msgspec.Struct) else str(value)
