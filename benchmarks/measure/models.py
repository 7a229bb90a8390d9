"""Find the models under test: bundles, and what toolchains make of one."""

import hashlib
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure.command_line import note
from benchmarks.measure.hosts import on_this_machine
from benchmarks.measure.plan import sample_windows
from benchmarks.measure.run import ModelUnderTest
from benchmarks.results.rows import TOOLCHAIN_STAGE
from benchmarks.toolchains.build import ToolchainError, build
from benchmarks.toolchains.registry import TOOLCHAINS
from qa.base.cli import one_line
from qa.base.errors import BundleError, OptionError, UnsupportedExport
from qa.base.files import file_sha256
from qa.bundles.bundle import MANIFEST, Bundle, open_bundle
from qa.bundles.card import embedding_form
from qa.bundles.hf_import import open_model
from qa.bundles.manifest import Manifest
from qa.data.datasets import EMBEDDED, resolve
from qa.data.squad import read_squad
from qa.text.features import make_windows

DEMO = Path("runs/demo")
TOOLCHAINS_FOLDER = Path("runs/toolchains")  # keeps what toolchains made, for the next run
CALIBRATION_WINDOWS = 128


def bundle_metadata(bundle: Bundle, name: str) -> dict[str, Any]:
    """Return the fields of a Result that a bundle determines."""
    parameters = bundle.manifest.parameters
    return {
        "model": name,
        "bundle_sha256": bundle.sha256,
        "parent_sha256": bundle.manifest.parent and bundle.manifest.parent.sha256,
        "stage": bundle.manifest.stage,
        "precision": bundle.precision,
        "embeddings": bundle.manifest.embeddings or embedding_form(bundle.path),
        "params": parameters.total,
        "params_without_embeddings": parameters.without_embeddings,
        "size_bytes": bundle.weights.stat().st_size,
    }


def sha256_of(*parts: object) -> str:
    """Hash the parts of a model that is not a bundle as it is."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def display_names(paths: Sequence[Path]) -> list[str]:
    """Return folder names, each with as many parents as tell it from the others."""
    parts = [path.resolve().parts for path in paths]
    names = [folders[-1] for folders in parts]
    for depth in range(2, max((len(folders) for folders in parts), default=0) + 1):
        names = [
            "/".join(folders[-depth:]) if names.count(name) > 1 else name
            for folders, name in zip(parts, names, strict=True)
        ]
    return names


def find_models(named: Sequence[Path], also: Sequence[Path] = ()) -> list[ModelUnderTest]:
    """Open `also` and the bundles or checkpoints named, or all of the demo; each once.

    BundleError when a named one is none, or there is none at all.
    """
    opened = [open_model(path) for path in (*also, *named)]
    if not named:
        for path in sorted(DEMO.glob(f"*/{MANIFEST}"), key=lambda path: path.stat().st_mtime_ns):
            try:
                opened.append(open_bundle(path.parent))
            except BundleError as error:
                note(f"skipped: {one_line(error)}")
    if not opened:
        raise BundleError(f"{DEMO}: holds no finished bundle to compare; run make demo, or name bundles")
    by_sha256 = {bundle.sha256: bundle for bundle in reversed(opened)}  # under the name given first
    for bundle in opened[len(also) :]:
        if bundle.path.resolve() != by_sha256[bundle.sha256].path.resolve():
            note(f"{bundle.path}: is the same model as {by_sha256[bundle.sha256].path}, and left out")
    listed = dict.fromkeys(bundle.sha256 for bundle in opened[len(also) :])
    first = [bundle.sha256 for bundle in opened[: len(also)] if bundle.sha256 not in listed]
    bundles = [by_sha256[sha256] for sha256 in dict.fromkeys([*first, *listed])]
    names = display_names([bundle.path for bundle in bundles])
    return [
        ModelUnderTest(bundle, bundle_metadata(bundle, name), on_this_machine(bundle.weights))
        for bundle, name in zip(bundles, names, strict=True)
    ]


def choose_baseline(models: Sequence[ModelUnderTest], named: Path | None) -> ModelUnderTest:
    """Return the model of --baseline, else the first teacher that comes from no other, else the first.

    A teacher learnt from gold answers only, or taught one of these. OptionError when no model is the named.
    """
    if named is not None:
        sha256 = open_model(named).sha256
        found = next((model for model in models if model.sha256 == sha256), None)
        if found is None:
            raise OptionError(
                f"--baseline {named}: no runtime here computes it on a GPU; name a PyTorch bundle"
            )
        return found
    taught = {sha256 for m in models for sha256 in m.bundle.manifest.taught_by}
    teachers = [m for m in models if m.bundle.manifest.is_teacher or m.sha256 in taught]
    hashes = {m.sha256 for m in teachers}
    # A teacher that was cast, fine-tuned or distilled from another one is no baseline of itself.
    originals = [m for m in teachers if not hashes & _comes_from(m.bundle.manifest)]
    return [*originals, *models][0]


def _comes_from(manifest: Manifest) -> set[str]:
    """Return the hashes of what a model was made of, and of its teachers."""
    return {ancestor.sha256 for ancestor in manifest.ancestors} | manifest.taught_by


def n_ancestors(model: ModelUnderTest, models: Sequence[ModelUnderTest]) -> int:
    """Count the models that this one was made from, directly or not."""
    parents = [other for other in models if other.sha256 == model.metadata["parent_sha256"]]
    return 1 + n_ancestors(parents[0], models) if parents else 0


def toolchain_models(student: ModelUnderTest) -> list[ModelUnderTest]:
    """Build a model with each toolchain from a PyTorch bundle; a model that cannot be built has an error.

    Calibration uses training data only.
    """
    bundle = student.bundle
    windows = make_windows(read_squad(resolve(EMBEDDED, "train")), bundle.tokenizer, bundle.settings)
    sample = sample_windows(windows, CALIBRATION_WINDOWS)
    models = []
    with tempfile.TemporaryDirectory() as folder:
        calibration = Path(folder) / "calibration.json"
        tokens = [(window.input_ids.tolist(), window.context_begin) for window in sample]
        calibration.write_text(json.dumps(tokens), encoding="ascii")
        for toolchain in TOOLCHAINS.values():
            metadata = {
                "model": f"{student.name}-{toolchain.name}",
                "bundle_sha256": sha256_of(toolchain.name, bundle.sha256),
                "parent_sha256": bundle.sha256,
                "stage": TOOLCHAIN_STAGE,
                "precision": toolchain.precision,
                "toolchain": toolchain.name,
                **{name: student.metadata[name] for name in ("params", "params_without_embeddings")},
            }
            model = ModelUnderTest(bundle, metadata, student.deployment, in_process=False)
            models.append(model)
            note(f"{model.name}: building, unless it is kept from an earlier run")
            try:
                built = build(toolchain, bundle, calibration, TOOLCHAINS_FOLDER / bundle.sha256[:16])
            except (ToolchainError, UnsupportedExport) as error:
                model.error = one_line(error)
                model.unsupported = isinstance(error, UnsupportedExport)
                continue
            paths = [path for path in sorted(built.path.rglob("*")) if path.is_file()]
            files = {str(path.relative_to(built.path)): file_sha256(path) for path in paths}
            metadata["versions"] = built.versions
            metadata["size_bytes"] = built.size_bytes
            metadata["bundle_sha256"] = sha256_of(toolchain.name, bundle.sha256, built.versions, files)
            model.deployment = on_this_machine(built.path, toolchain.module, built.python)
    return models
