"""Model on disk: one folder with weights, config, tokenizer, qa.json and manifest.json.

The manifest is written last, so a folder without a manifest is unfinished. It holds the SHA-256 of every
other file, and opening a bundle verifies them. Bundles are never edited: a stage reads one and creates
another.
"""

import hashlib
import importlib.metadata
import json
import platform
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from tokenizers import Tokenizer

from qa.base.commands import COMMANDS
from qa.base.errors import BundleError, first_few
from qa.base.files import check_new_folder, file_sha256, whole_folder
from qa.bundles.card import PROBE, model_card
from qa.bundles.manifest import (
    MANIFEST,
    MANIFEST_VERSION,
    Ancestor,
    BundleReference,
    Manifest,
    StageRecord,
    TeacherReference,
    Tuning,
)
from qa.formats.registry import ADAPTER, CONFIG, FORMATS
from qa.formats.tensors import INPUTS, OUTPUTS
from qa.text.settings import QASettings
from qa.text.tokenization import load_tokenizer

SETTINGS = "qa.json"
CARD = "README.md"
HELD_OUT = "held_out.json.gz"  # questions to tune the no-answer threshold on (qa.evaluation.threshold)
TRAINED_ON = "trained_on.json.gz"  # hashes of the passages trained on (qa.bundles.trained_on)
# Files that are read besides weights and manifest.
READ_FILES = {SETTINGS, PROBE, HELD_OUT, TRAINED_ON, ADAPTER, CONFIG}
READ_FILES |= {"tokenizer.json", "tokenizer_config.json"}
RECORDED_PACKAGES = (
    "torch",
    "transformers",
    "numpy",
    "onnx",
    "onnxruntime",
    "litert-torch",
    "ai-edge-quantizer",
    "ai-edge-litert",
)


@dataclass(frozen=True)
class ModelFolder:
    """Model on disk as runtimes take it, sealed or not."""

    path: Path
    format: str
    """Name in `qa.formats.registry`."""
    precision: str
    """Name in `qa.formats.precision`."""
    settings: QASettings

    @property
    def weights(self) -> Path:
        """File with the weights."""
        return self.path / FORMATS[self.format].weights

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """Tokenizer without padding and truncation, shared by all that ask for it: do not change it."""
        return load_tokenizer(self.path)


@dataclass(frozen=True)
class Bundle(ModelFolder):
    """Opened, verified bundle."""

    manifest: Manifest
    sha256: str
    """Hash of the manifest, and through it of every file: the bundle's identity."""

    @property
    def lasting_tuning(self) -> Tuning | None:
        """Tuning that children keep: on other files than the bundle's own, its held-out questions."""
        tuning = self.manifest.tuning
        own = self.manifest.files.values()
        return tuning if tuning and any(file.sha256 not in own for file in tuning.files) else None

    @property
    def inherited_tuning(self) -> Tuning | None:
        """Lasting tuning, for a model of other weights that takes the thresholds over."""
        tuning = self.lasting_tuning
        return msgspec.structs.replace(tuning, of_parent=True) if tuning else None

    def is_tuned_on(self, data_sha256: str) -> bool:
        """Return True where the model may decline, by a threshold that was tuned on this file."""
        files = self.manifest.tuning.files if self.manifest.tuning else []
        return self.settings.null_threshold is not None and data_sha256 in {file.sha256 for file in files}

    def reference(self) -> BundleReference:
        """Return how the manifest of a child names this bundle."""
        weights_sha256 = self.manifest.files[self.weights.name]
        return BundleReference(
            name=self.path.resolve().name, sha256=self.sha256, weights_sha256=weights_sha256
        )

    def as_teacher(self, student: "Bundle") -> TeacherReference:
        """Return how the manifest of a child of `student` names this bundle as its teacher."""
        known = any(ancestor.sha256 == self.sha256 for ancestor in student.lineage())
        reference = msgspec.structs.asdict(self.reference())
        return TeacherReference(**reference, lineage=[] if known else self.lineage())

    def lineage(self) -> list[Ancestor]:
        """Return the `ancestors` of a child: this bundle and all that it was made from, nearest first."""
        return [self.manifest.as_ancestor(self.reference()), *self.manifest.ancestors]


def read_manifest(path: Path) -> Manifest:
    """Read the manifest of a bundle folder and verify no other file.

    Raises BundleError, naming the file, when the folder is missing or unfinished, or the manifest is damaged.
    """
    return Manifest.from_json(_manifest_bytes(path), str(path / MANIFEST))


def _manifest_bytes(path: Path) -> bytes:
    if not path.is_dir():
        if path.is_file() and any((path.parent / name).is_file() for name in (MANIFEST, CONFIG)):
            raise BundleError(f"{path}: is a file; give its folder, {path.parent}")
        what = "is a file" if path.exists() else "no such bundle folder"
        raise BundleError(
            f"{path}: {what}; give a folder that a PocketQA stage wrote, such as models/student"
        )
    if not (path / MANIFEST).is_file():
        inside = {file.parent.name for name in (MANIFEST, CONFIG) for file in path.glob(f"*/{name}")}
        give = "a folder that a PocketQA stage wrote, or run the stage that makes it again"
        if (path / "adapter_config.json").is_file():
            give = "a bundle: an adapter of peft is merged into its model first, with merge_and_unload()"
        with_weights = (path / FORMATS["pytorch"].weights).is_file()
        if with_weights and not (path / CONFIG).is_file():
            give = f"a folder that a PocketQA stage wrote, or a checkpoint with its {CONFIG}"
        elif with_weights and not (path / SETTINGS).is_file():
            give = "a bundle; python -m qa.bundles.hf_import makes one of a transformers checkpoint"
        if inside:
            give = f"one of the models in it: {first_few(sorted(inside))}"
        raise BundleError(f"{path}: no {MANIFEST}, so it is not a finished bundle; give {give}")
    return (path / MANIFEST).read_bytes()


def open_bundle(path: Path, format: str | None = None) -> Bundle:
    """Open a bundle and verify every file against its manifest.

    Raises BundleError, naming the file, when the folder is missing, unfinished, changed, or not of `format`.
    """
    bundle = _open(path, with_weights=True)
    if format not in (None, bundle.format):
        makes = ""
        if f"export {format}" in COMMANDS:
            source = path if bundle.format == "pytorch" else "PARENT"
            makes = f" (python -m export.{format} --model {source} makes one)"
        raise BundleError(f"{path}: is a bundle in {bundle.format}; give one in {format}{makes}")
    return bundle


def open_adapter(path: Path) -> Bundle:
    """Open a bundle whose weights may be missing, because its adapter and an encoder make them again.

    Raises BundleError as `open_bundle` does, and for a bundle without an adapter.
    """
    bundle = _open(path, with_weights=False)
    if ADAPTER not in bundle.manifest.files or bundle.manifest.encoder is None:
        raise BundleError(f"--adapter {path}: must be a bundle of distill.finetune --lora-rank on an encoder")
    return bundle


def _open(path: Path, *, with_weights: bool) -> Bundle:
    raw = _manifest_bytes(path)
    where = path / MANIFEST
    manifest = Manifest.from_json(raw, str(where))
    weights = FORMATS[manifest.format].weights
    for name in (weights, SETTINGS):
        if name not in manifest.files:
            raise BundleError(f"{where}: not a valid manifest (files lacks {name}); make the bundle again")
    if with_weights and ADAPTER in manifest.files and not (path / weights).exists():
        raise BundleError(
            f"{path}: has an adapter and no {weights}; make the model with "
            f"python -m distill.adapter --adapter {path} --encoder FOLDER --out BUNDLE"
        )
    for name, sha256 in manifest.files.items():
        if with_weights or name != weights:
            _verify(path / name, sha256)
    for name in sorted(READ_FILES - manifest.files.keys()):
        if (path / name).exists():
            raise BundleError(
                f"{path / name}: the manifest does not list this file, so it is not the model's; copy the "
                "bundle again"
            )
    settings = QASettings.from_json((path / SETTINGS).read_bytes(), str(path / SETTINGS))
    sha256 = hashlib.sha256(raw).hexdigest()
    return Bundle(path, manifest.format, manifest.precision, settings, manifest, sha256)


def _verify(path: Path, expected: str) -> None:
    if not path.is_file():
        raise BundleError(f"{path}: the manifest lists this file, but it is missing; copy the bundle again")
    sha256 = file_sha256(path)
    if sha256 != expected:
        raise BundleError(
            f"{path}: changed since it was made (SHA-256 {sha256[:12]}, manifest {expected[:12]}); copy the "
            "bundle again"
        )


def refuse_existing(out: Path) -> None:
    """Raise BundleError when `out` exists, if only as a broken link: no stage overwrites a bundle."""
    if out.exists() or out.is_symlink():
        raise BundleError(
            f"{out}: exists already and is never overwritten; choose another --out or remove it"
        )


def check_new_bundle(out: Path) -> None:
    """Raise BundleError, before minutes of work, when `out` exists, OptionError when it cannot be written."""
    refuse_existing(out)
    check_new_folder(out, "--out")


class Draft:
    """Bundle in the making: a folder to write files into, and what its manifest will say."""

    bundle: Bundle
    """The finished bundle; there once `new_bundle` is left without an error."""

    def __init__(self, path: Path, recorded: StageRecord) -> None:
        self.path = path
        self.recorded = recorded

    def record(self, **fields: Any) -> None:
        """Record more, by the names of StageRecord."""
        self.recorded = msgspec.structs.replace(self.recorded, **fields)

    def model(self, settings: QASettings) -> ModelFolder:
        """Return what was written so far as runtimes take it, with settings that need not be final."""
        return ModelFolder(self.path, self.recorded.format, self.recorded.precision, settings)

    def seal(self, out: Path) -> Bundle:
        """Write the model card and, last, the manifest with the hashes of all files.

        Returns the bundle as it is once the folder was moved to `out`.
        """
        settings = QASettings.from_json((self.path / SETTINGS).read_bytes(), str(self.path / SETTINGS))
        if not self.recorded.versions:
            self.record(versions=package_versions())
        manifest = Manifest(
            **msgspec.structs.asdict(self.recorded),
            version=MANIFEST_VERSION,
            files={},
            inputs=list(INPUTS),
            outputs=list(OUTPUTS),
        )
        card = model_card(manifest, settings, self.model(settings).weights, out.name)
        # The name of a file need not be text.
        (self.path / CARD).write_text(card, encoding="utf-8", errors="replace")
        files = {file.name: file_sha256(file) for file in sorted(self.path.iterdir())}
        text = json.dumps(msgspec.to_builtins(manifest) | {"files": files}, indent=1) + "\n"
        (self.path / MANIFEST).write_text(text, encoding="utf-8")
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        manifest = Manifest.from_json(text, str(out / MANIFEST))
        return Bundle(out, manifest.format, manifest.precision, settings, manifest, sha256)


def copy_bundle(path: Path, out: Path) -> Bundle:
    """Copy a bundle completely or not at all.

    BundleError when it is damaged, or `out` is another bundle.
    """
    bundle = open_bundle(path)
    if not out.exists():
        with whole_folder(out) as draft:
            for name in (*bundle.manifest.files, MANIFEST):
                shutil.copyfile(path / name, draft / name)
    copy = open_bundle(out)
    if copy.sha256 != bundle.sha256:
        raise BundleError(f"{out}: is another model than {path}; choose another --out, or remove it")
    return copy


@contextmanager
def restored_bundle(bundle: Bundle, out: Path) -> Iterator[Path]:
    """Create `out` from a bundle that lacks only its weights: yield a folder to write them into.

    Files of the bundle replace files that are written there. BundleError when the weights are not those of
    the manifest, bit for bit. Then nothing stays behind.
    """
    refuse_existing(out)
    weights = bundle.weights.name
    with whole_folder(out) as draft:
        yield draft
        for name in (*bundle.manifest.files.keys() - {weights}, MANIFEST):
            shutil.copyfile(bundle.path / name, draft / name)
        if file_sha256(draft / weights) != bundle.manifest.files[weights]:
            raise BundleError(f"{out}: the weights made are not those of {bundle.path}; nothing was written")
        open_bundle(draft)


@contextmanager
def new_bundle(out: Path, recorded: StageRecord) -> Iterator[Draft]:
    """Create a bundle: yield a draft, which is sealed and moved to `out` when the body is done.

    Afterwards `bundle` of the draft is the finished bundle. When the body fails or the disk is full, nothing
    stays behind.
    """
    refuse_existing(out)
    with whole_folder(out) as path:
        draft = Draft(path, recorded)
        yield draft
        bundle = draft.seal(out)
        refuse_existing(out)
    draft.bundle = bundle


def package_versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages that decide what a model computes."""
    versions = {"python": platform.python_version()}
    for name in RECORDED_PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions
