"""Inputs of a training run, and whether a finished bundle was made of the same: what --resume may return."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from distill.training.options import flag_of
from qa.base.errors import BundleError
from qa.base.files import file_sha256
from qa.bundles.bundle import MANIFEST, Bundle
from qa.data.datasets import resolve

# Options that a finished model does not depend on.
FREE_OPTIONS = ("resume", "cache", "out", "eval_data")


@dataclass(frozen=True)
class RunInputs:
    """Options and files that decide what a stage makes."""

    options: dict[str, Any]
    """Values by option, as a manifest records them."""
    defaults: dict[str, Any]
    """Values of options that a bundle does not record, because it is older than they are."""
    data: str
    """Training questions, by name or path."""
    models: dict[str, Path]
    """Bundles that were given, by option."""

    @classmethod
    def of(cls, config: Any, **models: Path | str | None) -> "RunInputs":
        """Collect them from a stage's options and the models that it starts from."""
        options = {name: value for name, value in asdict(config).items() if name not in FREE_OPTIONS}
        defaults = {name: getattr(type(config), name, None) for name in options}
        given = {name: Path(path) for name, path in models.items() if path}
        bundles = {name: path for name, path in given.items() if (path / MANIFEST).is_file()}
        return cls(_recorded(options), _recorded(defaults), config.data, bundles)

    def check(self, bundle: Bundle) -> None:
        """Raise BundleError, naming the first difference, unless `bundle` was made of the same inputs."""
        made_with = self.defaults | _recorded(bundle.manifest.config or {})
        for name, value in self.options.items():
            if not _same(made_with[name], value):
                raise BundleError(
                    f"{bundle.path}: made with {flag_of(name)} {made_with[name]}, not {value}; choose "
                    "another --out"
                )
        for name, value in made_with.items():
            if value is not None and name not in (*self.options, *FREE_OPTIONS):
                raise BundleError(
                    f"{bundle.path}: made with {flag_of(name)} {value}, an option that the command no longer "
                    "has; choose another --out"
                )
        data_sha256 = file_sha256(resolve(self.data, "train"))
        training_data = bundle.manifest.training_data
        if training_data is None or training_data.sha256 != data_sha256:
            raise BundleError(
                f"{bundle.path}: made of another --data than {self.data} is now; choose another --out"
            )
        made_of = {ancestor.sha256 for ancestor in bundle.manifest.ancestors}
        if bundle.manifest.teacher is not None:
            made_of.add(bundle.manifest.teacher.sha256)
        for name, path in self.models.items():
            if file_sha256(path / MANIFEST) not in made_of:
                raise BundleError(
                    f"{bundle.path}: made of another --{name} than {path} is now; choose another --out"
                )


def _recorded(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as a manifest's JSON has them."""
    recorded: dict[str, Any] = json.loads(json.dumps(options, default=str))
    return recorded


def _same(recorded: Any, given: Any) -> bool:
    """Test if an option has its recorded value; of a path only the name, as files count by content."""
    if isinstance(recorded, str) and isinstance(given, str) and Path(given).exists():
        return Path(recorded).name == Path(given).name
    return bool(recorded == given)
