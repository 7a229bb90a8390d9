"""A model on disk: one folder with weights, config, tokenizer, qa.json and manifest.json.

The manifest is written last, so a folder without one is unfinished. It holds the SHA-256 of every other file,
and opening a bundle verifies them. This module is the only reader and writer of manifests. Bundles are never
edited: a stage reads one and creates another.
"""

import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from qa.base.errors import BundleError
from qa.base.files import file_sha256, left_behind
from qa.bundles.card import model_card
from qa.formats.precision import PRECISIONS
from qa.formats.registry import KINDS
from qa.formats.tensors import INPUTS, OUTPUTS
from qa.text.settings import QASettings
from qa.text.tokenization import load_tokenizer

FORMAT_VERSION = 1
MANIFEST = "manifest.json"
SETTINGS = "qa.json"
PROBE = "probe.json"
CARD = "README.md"
HELD_OUT = "held_out.json.gz"  # questions to tune a threshold on (qa.evaluation.threshold)
# All that is ever read of a bundle, beside its weights and its manifest.
READ_FILES = {SETTINGS, PROBE, HELD_OUT, "config.json", "tokenizer.json", "tokenizer_config.json"}
# What a manifest has, and what it may have, by type.
FACTS = {
    "format": int,
    "kind": str,
    "precision": str,
    "stage": str,
    "files": dict,
    "parameters": {"total": int, "without_embeddings": int},
}
OPTIONAL_FACTS = {
    "parent": {"sha256": str},
    "config": dict,
    "ancestors": list,
    "grid": {"precision": str},
    "embeddings": str,
    "scores": {"exact": int | float, "f1": int | float, "total": int, "data": {"name": str}},
}
LINEAGE = (
    "stage",
    "config",
    "encoder",
    "source",
    "training_data",
    "recovered_against",
    "averaged",
    "grid",
    "scores",
)
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
    """A model on disk as runtimes take it, sealed or not."""

    path: Path
    manifest: dict[str, Any]
    settings: QASettings

    @property
    def kind(self) -> str:
        """Which runtime's weights it holds: a name of `qa.formats.registry`."""
        return self.manifest["kind"]

    @property
    def precision(self) -> str:
        """A name of `qa.formats.precision`."""
        return self.manifest["precision"]

    @property
    def weights(self) -> Path:
        """The file with the weights."""
        return self.path / KINDS[self.kind].weights

    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer, without padding and truncation."""
        return load_tokenizer(self.path)


@dataclass(frozen=True)
class Bundle(ModelFolder):
    """An opened, verified bundle."""

    sha256: str
    """Hash of the manifest, and through it of every file: the bundle's identity."""

    @property
    def settings_sha256(self) -> str | None:
        """SHA-256 of its settings, where they are not those it was sealed with."""
        now = hashlib.sha256(self.settings.to_json().encode()).hexdigest()
        return None if now == self.manifest["files"][SETTINGS] else now

    @property
    def stage(self) -> str:
        """What made it: finetune, average, distill, prune, search, compress, quantize, export, or checkpoint:
        from outside."""
        return self.manifest["stage"]

    @property
    def is_teacher(self) -> bool:
        """Whether it was trained on gold answers alone, here or elsewhere: what others are compared with."""
        parts = self.manifest.get("ancestors", []) if self.stage == "average" else []
        stages = {self.stage, *(part.get("stage") for part in parts)}
        return stages <= {
            "finetune",
            "checkpoint",
            "average",
            "teacher",
        }  # the last is what older bundles say

    def reference(self) -> dict[str, str]:
        """How a child's manifest names this bundle as its parent."""
        weights_sha256 = self.manifest["files"][self.weights.name]
        return {"name": self.path.resolve().name, "sha256": self.sha256, "weights_sha256": weights_sha256}

    def lineage(self) -> list[dict[str, Any]]:
        """What a child's manifest tells of this bundle and of all it was made of, nearest first, as
        `ancestors`."""
        facts = without_folders({key: self.manifest[key] for key in LINEAGE if key in self.manifest})
        return [{**self.reference(), **facts}, *self.manifest.get("ancestors", [])]


def open_bundle(path: Path, kind: str | None = None) -> Bundle:
    """Open a bundle and verify every file against its manifest.

    Raises BundleError, naming the file, when the folder is missing, unfinished, changed, or not of `kind`.
    """
    if not path.is_dir():
        what = "is a file" if path.exists() else "no such bundle folder"
        raise BundleError(f"{path}: {what}; give a folder that a PocketQA stage wrote")
    manifest_path = path / MANIFEST
    if not manifest_path.is_file():
        raise BundleError(
            f"{path}: no {MANIFEST}, so it is not a finished bundle; run the stage that makes it again"
        )
    raw = manifest_path.read_bytes()
    manifest = _read_manifest(raw, str(manifest_path))
    files = manifest["files"]
    found_kind = manifest["kind"]
    for name, expected in files.items():
        _verify(path / name, expected)
    for name in sorted(READ_FILES - files.keys()):
        if (path / name).exists():
            raise BundleError(
                f"{path / name}: the manifest does not list this file, so it is not the model's; copy it "
                "again"
            )
    if kind is not None and found_kind != kind:
        raise BundleError(f"{path}: holds a {found_kind} model, but this stage needs a {kind} bundle")
    settings = QASettings.from_json((path / SETTINGS).read_bytes(), str(path / SETTINGS))
    return Bundle(path, manifest, settings, hashlib.sha256(raw).hexdigest())


def _read_manifest(raw: bytes, where: str) -> dict[str, Any]:
    """A manifest that has all that stages rely on; BundleError names `where` for anything else."""
    try:
        manifest = json.loads(raw)
        if isinstance(manifest, dict) and manifest.get("format") not in (None, FORMAT_VERSION):
            raise BundleError(f"{where}: format {manifest['format']}, this version reads {FORMAT_VERSION}")
        well_formed = (
            _fits(manifest, FACTS)
            and all(
                _fits(manifest[key], wanted)
                for key, wanted in OPTIONAL_FACTS.items()
                if manifest.get(key) is not None
            )
            and all(
                name == Path(name).name and _fits(sha256, str) for name, sha256 in manifest["files"].items()
            )  # of the folder
            and manifest["precision"] in PRECISIONS
            and manifest["kind"] in KINDS
            and {KINDS[manifest["kind"]].weights, SETTINGS} <= manifest["files"].keys()
        )
    except (ValueError, RecursionError):
        well_formed = False
    if not well_formed:
        raise BundleError(f"{where}: not a valid manifest; make the bundle again")
    return manifest


def _fits(value: object, wanted: Any) -> bool:
    """Whether a value is of a type, or an object with at least these facts."""
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all(
            key in value and _fits(value[key], of) for key, of in wanted.items()
        )
    return isinstance(value, wanted)


def _verify(path: Path, expected: str) -> None:
    if not path.is_file():
        raise BundleError(f"{path}: the manifest lists this file, but it is missing; copy the bundle again")
    seen = file_sha256(path)
    if seen != expected:
        raise BundleError(
            f"{path}: changed since it was made (SHA-256 {seen[:12]}, manifest {expected[:12]}); copy it "
            "again"
        )


def refuse_existing(out: Path) -> None:
    """Raise BundleError when `out` exists: no stage overwrites."""
    if out.exists():
        raise BundleError(
            f"{out}: exists already and is never overwritten; choose another --out or remove it"
        )


def without_folders(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts for a manifest, whose `config` has of an absolute path its last part: where it lay is nobody's
    business."""
    config = facts.get("config") or {}
    short = {
        key: Path(v).name if isinstance(v, str | Path) and Path(v).is_absolute() else v
        for key, v in config.items()
    }
    return {**facts, "config": short} if config else dict(facts)


class Draft:
    """A bundle in the making: a folder to write files into, and what its manifest will say."""

    def __init__(self, path: Path, facts: Mapping[str, Any]) -> None:
        self.path = path
        self._facts = dict(facts)

    def record(self, **facts: Any) -> None:
        """Let the manifest say these too."""
        self._facts |= facts

    def model(self, settings: QASettings) -> ModelFolder:
        """What was written so far, as runtimes take it, with settings that need not be final."""
        return ModelFolder(self.path, dict(self._facts), settings)

    def seal(self, name: str) -> None:
        """Add the model card and, last, the manifest with the hashes of all files."""
        settings = QASettings.from_json((self.path / SETTINGS).read_bytes(), str(self.path / SETTINGS))
        card = model_card(self._facts, settings, self.model(settings).weights, name)
        (self.path / CARD).write_text(
            card, encoding="utf-8", errors="replace"
        )  # a file's name need not be text
        files = {p.name: file_sha256(p) for p in sorted(self.path.iterdir())}
        full = {
            "format": FORMAT_VERSION,
            **without_folders(self._facts),
            "inputs": list(INPUTS),
            "outputs": list(OUTPUTS),
        }
        full |= {"files": files, "versions": package_versions()}
        partial = self.path / (MANIFEST + ".partial")
        partial.write_text(json.dumps(full, indent=1, default=str) + "\n", encoding="utf-8")
        partial.rename(self.path / MANIFEST)


def copy_bundle(path: Path, out: Path) -> Bundle:
    """The same bundle in another place, whole or not at all. BundleError when it is damaged, or another is
    there."""
    bundle = open_bundle(path)
    if not out.exists():
        draft = _draft_folder(out)
        try:
            for name in (*bundle.manifest["files"], MANIFEST):
                shutil.copyfile(path / name, draft / name)
            draft.rename(out)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    copy = open_bundle(out)
    if copy.sha256 != bundle.sha256:
        raise BundleError(f"{out}: is another model than {path}; choose another --out, or remove it")
    return copy


def _draft_folder(out: Path) -> Path:
    """A new hidden folder beside `out`, without those that killed processes left."""
    for left in left_behind(out.with_name(f".{out.name}"), "unfinished"):
        shutil.rmtree(left, ignore_errors=True)
    path = out.parent / f".{out.name}.unfinished-{os.getpid()}"
    path.mkdir(parents=True)
    return path


@contextmanager
def new_bundle(out: Path, facts: Mapping[str, Any]) -> Iterator[Draft]:
    """Create a bundle: yields a draft, which is sealed and moved to `out` at once when the body is done.

    `facts` for the manifest need kind, precision, stage and parameters; files, format and versions are added.
    When the body fails or the disk is full, nothing stays behind.
    """
    refuse_existing(out)
    draft = Draft(_draft_folder(out), facts)
    try:
        yield draft
        draft.seal(out.name)
        refuse_existing(out)
        draft.path.rename(out)
    finally:
        shutil.rmtree(draft.path, ignore_errors=True)


def package_versions(names: Sequence[str] = RECORDED_PACKAGES) -> dict[str, str]:
    """Versions of Python and of the installed packages that decide what a model computes."""
    versions = {"python": platform.python_version()}
    for name in names:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions
