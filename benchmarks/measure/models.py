"""Models under test: bundles, what other tools made of one, a bundle in other precisions on a GPU; and the
run they share."""

import hashlib
import importlib
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.measure.command_line import note
from benchmarks.measure.cuda_adapter import PRECISIONS as GPU_PRECISIONS
from benchmarks.measure.hosts import on_this_machine
from benchmarks.measure.plan import sample_windows
from benchmarks.results.rows import CUDA, Accuracy, Data, Failure, Machine, ResultFile, Runtime
from benchmarks.toolchains.calibration import write_windows
from benchmarks.toolchains.making import PeerError, make_peer
from benchmarks.toolchains.registry import PEERS
from qa.base.cli import one_line
from qa.base.errors import BundleError, OptionError
from qa.base.files import file_sha256
from qa.bundles.bundle import MANIFEST, Bundle, open_bundle
from qa.bundles.hf_import import open_model
from qa.data.datasets import EMBEDDED, resolve
from qa.data.squad import Example, read_squad
from qa.models.model import QAModel
from qa.runtime.remote import Deployment
from qa.text.features import make_windows

DEMO = Path("runs/demo")
PEERS_FOLDER = Path("runs/peers")  # what was made once is taken again
CALIBRATION_WINDOWS = 128


@dataclass
class ModelUnderTest:
    """One model of a run. Of a peer `bundle` is what the other tool started from; `metadata` are its fields
    of a Result."""

    bundle: Bundle
    metadata: dict[str, Any]
    deployment: Deployment
    in_process: bool = True
    """Whether this process computes its answers, else a worker."""
    runtime: Runtime | None = None
    accuracy: Accuracy | None = None
    error: str | None = None

    @property
    def name(self) -> str:
        """In tables."""
        return str(self.metadata["model"])

    @property
    def sha256(self) -> str:
        """Hash of what is measured."""
        return str(self.metadata["bundle_sha256"])


@dataclass
class Run:
    """What all measurements of one run share, and the file of its results."""

    file: ResultFile
    examples: Sequence[Example]
    data: Data
    models: list[ModelUnderTest]
    target: str
    machine: Machine
    command: str
    baseline: ModelUnderTest | None = None
    date: str = ""

    def __post_init__(self) -> None:
        self.date = self.date or now()

    def common(self, model: ModelUnderTest) -> dict[str, Any]:
        """The fields that all results of a model have."""
        where = {"target": self.target, "machine": self.machine, "data": self.data}
        return {
            **model.metadata,
            "runtime": model.runtime,
            **where,
            "command": self.command,
            "date": self.date,
        }

    def fail(self, model: ModelUnderTest, error: Exception | str, **more: Any) -> None:
        """Append a failure; the model is measured no further."""
        model.error = error if isinstance(error, str) else one_line(error)
        note(f"{model.name}: failed, {model.error}")
        self.file.append(Failure(**self.common(model), **more, error=model.error))


def now() -> str:
    """The date of a run."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def bundle_metadata(bundle: Bundle, name: str) -> dict[str, Any]:
    """The fields of a Result that are a bundle's own."""
    parameters = bundle.manifest.parameters
    return {
        "model": name,
        "bundle_sha256": bundle.sha256,
        "settings_sha256": bundle.settings_sha256,
        "parent_sha256": bundle.manifest.parent and bundle.manifest.parent.sha256,
        "stage": bundle.manifest.stage,
        "precision": bundle.precision,
        "embeddings": bundle.manifest.embeddings,
        "params": parameters.total,
        "params_without_embeddings": parameters.without_embeddings,
        "size_bytes": bundle.weights.stat().st_size,
    }


def sha256_of(*parts: object) -> str:
    """One hash that stands for what is measured where a bundle's own hash does not say it all."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def find_bundles(named: Sequence[Path], also: Sequence[Path] = ()) -> list[Bundle]:
    """Open the bundles or checkpoints named, or all of the demo, and `also` others. A named one that is none
    raises BundleError.

    Each is taken once.
    """
    found = [open_model(path) for path in (*also, *named)]
    for path in () if named else sorted(DEMO.glob(f"*/{MANIFEST}"), key=lambda path: path.stat().st_mtime_ns):
        try:
            found.append(open_bundle(path.parent))
        except BundleError as error:
            note(f"skipped: {one_line(error)}")
    if not found:
        raise BundleError(f"{DEMO}: holds no finished bundle to compare; run make demo, or name bundles")
    return list({bundle.sha256: bundle for bundle in reversed(found)}.values())[::-1]


def display_names(paths: Sequence[Path]) -> list[str]:
    """Folder names, each with as many of its parents as it takes to tell it from the others."""
    parts = [path.resolve().parts for path in paths]
    names = [own[-1] for own in parts]
    for depth in range(2, max((len(own) for own in parts), default=0) + 1):
        names = [
            "/".join(own[-depth:]) if names.count(name) > 1 else name
            for own, name in zip(parts, names, strict=True)
        ]
    return names


def find_models(named: Sequence[Path], also: Sequence[Path] = ()) -> list[ModelUnderTest]:
    """The bundles of `find_bundles` as models."""
    bundles = find_bundles(named, also)
    for bundle in bundles:
        try:
            str(bundle.path.resolve()).encode()
        except UnicodeEncodeError:
            raise BundleError(
                f"{str(bundle.path)!r}: not valid UTF-8, which result rows require; rename the folder"
            ) from None
    names = display_names([bundle.path for bundle in bundles])
    return [model_of(bundle, name) for bundle, name in zip(bundles, names, strict=True)]


def model_of(bundle: Bundle, name: str) -> ModelUnderTest:
    """A bundle as it is."""
    return ModelUnderTest(bundle, bundle_metadata(bundle, name), on_this_machine(bundle.weights))


def choose_baseline(models: Sequence[ModelUnderTest], named: Path | None) -> ModelUnderTest | None:
    """The model of --baseline, else the only teacher that was made of no other, else None.

    OptionError when there are several.
    """
    if named is not None:
        wanted = named.resolve()
        same = [m for m in models if m.bundle.path.resolve() == wanted]
        return same[0] if same else next(m for m in models if m.bundle.sha256 == open_model(named).sha256)
    teachers = [m for m in models if m.bundle.manifest.is_teacher]
    hashes = {m.sha256 for m in teachers}
    # One that was made of another of them, by storing or fine-tuning it, is no baseline of itself.
    teachers = [
        m for m in teachers if not hashes & {ancestor.sha256 for ancestor in m.bundle.manifest.ancestors}
    ]
    if len(teachers) > 1:
        names = ", ".join(m.name for m in teachers)
        raise OptionError(f"several possible baselines ({names}); choose one with --baseline BUNDLE")
    return teachers[0] if teachers else None


def n_ancestors(model: ModelUnderTest, models: Sequence[ModelUnderTest]) -> int:
    """How many of the models this one was made from, directly or not."""
    found = [other for other in models if other.sha256 == model.metadata["parent_sha256"]]
    return 1 + n_ancestors(found[0], models) if found else 0


def peer_models(student: ModelUnderTest) -> list[ModelUnderTest]:
    """A model for each peer of a PyTorch bundle; one that cannot be made has an error. Calibration sees
    training data only."""
    bundle = student.bundle
    models = []
    shared = {key: student.metadata[key] for key in ("params", "params_without_embeddings")}
    with tempfile.TemporaryDirectory() as folder:
        windows = make_windows(read_squad(resolve(EMBEDDED, "train")), bundle.tokenizer, bundle.settings)
        content = [
            (window.input_ids, window.context_begin)
            for window in sample_windows(windows, CALIBRATION_WINDOWS)
        ]
        calibration = write_windows(Path(folder) / "calibration.npz", content)
        for peer in PEERS.values():
            metadata = shared | {
                "model": f"{student.name}-{peer.name}",
                "bundle_sha256": sha256_of(peer.name, bundle.sha256),
                "parent_sha256": bundle.sha256,
                "stage": "peer",
                "precision": peer.precision,
                "peer": peer.name,
            }
            model = ModelUnderTest(
                bundle, metadata, on_this_machine(bundle.path, peer.module), in_process=False
            )
            models.append(model)
            try:
                note(f"{model.name}: converting, unless its converted model is kept")
                made = make_peer(peer, bundle, calibration, PEERS_FOLDER / bundle.sha256[:16])
            except PeerError as error:
                model.error = one_line(error)
                continue
            paths = [path for path in sorted(made.path.rglob("*")) if path.is_file()]
            files = {str(path.relative_to(made.path)): file_sha256(path) for path in paths}
            metadata |= {"versions": made.versions, "size_bytes": made.size_bytes}
            metadata["bundle_sha256"] = sha256_of(peer.name, bundle.sha256, made.versions, files)
            model.deployment = on_this_machine(made.path, peer.module, made.python)
    return models


def gpu() -> Machine:
    """The first GPU. OptionError when PyTorch sees none."""
    import torch

    if not torch.cuda.is_available():
        raise OptionError(
            f"--target {CUDA}: PyTorch {torch.__version__} sees no NVIDIA GPU here; leave --target out"
        )
    properties = torch.cuda.get_device_properties(0)
    return Machine(f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB, CUDA {torch.version.cuda}")


def onnx_has_cuda() -> bool:
    """Whether the ONNX Runtime that is installed computes on a GPU."""
    try:
        return "CUDAExecutionProvider" in importlib.import_module("onnxruntime").get_available_providers()
    except ImportError:
        return False


def gpu_models(models: Sequence[ModelUnderTest]) -> list[ModelUnderTest]:
    """What is measured of these bundles on a GPU: PyTorch in three precisions, ONNX where its runtime has
    CUDA.

    OptionError when nothing is. Dynamic int8 is left out: its operators have kernels for the CPU alone.
    """
    found = []
    for model in models:
        bundle = model.bundle
        if bundle.format == "pytorch":
            found += [_on_gpu(model, precision) for precision in GPU_PRECISIONS]
        elif bundle.format == "onnx" and bundle.precision in GPU_PRECISIONS and onnx_has_cuda():
            found.append(_on_gpu(model, bundle.precision))
        else:
            note(
                f"{model.name}: skipped, no runtime here computes {bundle.format} in {bundle.precision} on a "
                "GPU"
            )
    if not found:
        raise OptionError(
            f"--target {CUDA}: none of the bundles can be computed on a GPU here; name a PyTorch bundle"
        )
    return found


def _size_bytes(model: QAModel, bytes_per_parameter: int) -> int:
    """Of the weights in memory, codes of a word table as they are."""
    codes = sum(buffer.nbytes for buffer in model.state_dict().values() if not buffer.is_floating_point())
    return sum(p.numel() for p in model.parameters()) * bytes_per_parameter + codes


def _on_gpu(model: ModelUnderTest, precision: str) -> ModelUnderTest:
    """A bundle in a precision; the bundle's own is the bundle itself, another makes it another model."""
    own = (
        "fp32" if model.bundle.format == "pytorch" else model.bundle.precision
    )  # however PyTorch's weights are stored
    deployment = on_this_machine(model.bundle.weights, "benchmarks.measure.cuda_adapter", precision=precision)
    metadata = dict(model.metadata)
    if precision != own:
        metadata |= {
            "model": f"{model.name}-{precision}",
            "precision": precision,
            "parent_sha256": model.sha256,
            "bundle_sha256": sha256_of(model.sha256, precision),
            "size_bytes": _size_bytes(
                QAModel.from_pretrained(model.bundle.path), 4 if precision == "fp32" else 2
            ),
        }
    return replace(model, metadata=metadata, deployment=deployment, in_process=False)
