"""Which versions make a peer: those of its adapter's packages, in the environment that this runs in.

    python -m benchmarks.peers.versions benchmarks.peers.openvino

Prints one JSON object. Adapters import their libraries late, so this takes a fraction of a second.
"""

import importlib
import json
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version


def installed_versions(packages: Sequence[str]) -> dict[str, str]:
    """Version of each package; ImportError with one line when one is missing."""
    try:
        return {name: version(name) for name in packages}
    except PackageNotFoundError as error:
        raise ImportError(f"{error.name} is not installed for {sys.executable}; run make peers") from None


def main() -> None:
    """Print the versions of one adapter's packages."""
    adapter = importlib.import_module(sys.argv[1])
    print(json.dumps(installed_versions(adapter.PACKAGES)))


if __name__ == "__main__":
    main()
