"""Inputs of a training run, and whether a finished bundle was made of the same: what --resume may return."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from qa.base.cli import flag_of
from qa.base.errors import BundleError
from qa.base.files import file_sha256
from qa.bundles.bundle import MANIFEST, Bundle
from qa.bundles.hf_import import source_files
from qa.bundles.manifest import Ancestor, EncoderReference, recorded_name
from qa.data.datasets import resolve
from qa.data.origins import MINILM
from qa.models.checkpoint_weights import WEIGHTS
from qa.models.standalone import STANDALONE_MODELS

# Options that a finished model does not depend on.
FREE_OPTIONS = ("resume", "cache", "out", "eval_data")


def encoder_reference(name: str, folder: Path) -> EncoderReference:
    """Return the reference of a pre-trained encoder in a folder."""
    files = source_files(folder)
    return EncoderReference(name=recorded_name(name), sha256=files[WEIGHTS], files=files)


def check_inputs(bundle: Bundle, options: Any, models: Mapping[str, Path | str | None]) -> None:
    """Raise BundleError, naming the first difference, unless `bundle` was made of the same inputs.

    `options` are a stage's options, and `models` the bundles and other models that these name, by option.
    """

    def differs(made: str) -> BundleError:
        return BundleError(f"{bundle.path}: made {made}; choose another --out")

    given = {name: value for name, value in asdict(options).items() if name not in FREE_OPTIONS}
    made_with = bundle.manifest.config or {}
    for name, value in _recorded(given).items():
        if name not in made_with:
            raise differs(f"by a version without {flag_of(name)}")
        if not _same(made_with[name], value):
            raise differs(f"with {flag_of(name)} {made_with[name]}, not {value}")
    for name, value in made_with.items():
        if value is not None and name not in (*given, *FREE_OPTIONS):
            raise differs(f"with {flag_of(name)} {value}, an option that the command no longer has")
    training_data = bundle.manifest.training_data
    if training_data is None or training_data.sha256 != file_sha256(resolve(options.data, "train")):
        raise differs(f"of another --data than {options.data} is now")
    made_of = bundle.lineage()[:2]  # itself and its parent: the options name no older stage
    if teacher := bundle.manifest.teacher:
        made_of += [s for s in (*bundle.lineage(), *teacher.lineage) if s.sha256 == teacher.sha256]
    for name, path in models.items():
        is_a_name = path in (MINILM, *STANDALONE_MODELS)
        if path and not is_a_name and Path(path).is_dir() and not _is_one_of(Path(path), made_of):
            raise differs(f"of another {flag_of(name)} than {path} is now")


def _is_one_of(folder: Path, models: list[Ancestor]) -> bool:
    """Test if a folder holds one of the models: its bundle, checkpoint or pre-trained encoder."""
    manifest = folder / MANIFEST
    if manifest.is_file() and file_sha256(manifest) in {model.sha256 for model in models}:
        return True
    encoders = [model.encoder.files for model in models if model.encoder]
    sources = [model.source.files for model in models if model.source]
    return source_files(folder) in (*encoders, *sources)


def _recorded(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as a manifest's JSON has them."""
    recorded: dict[str, Any] = json.loads(json.dumps(options, default=str))
    return recorded


def _same(recorded: Any, given: Any) -> bool:
    """Test if an option has its recorded value; of a path only the name, as files count by content."""
    if isinstance(recorded, str) and isinstance(given, str) and Path(given).exists():
        return Path(recorded).name == Path(given).name
    return bool(recorded == given)
