"""Build one toolchain's model, in that toolchain's environment.

    python -m benchmarks.toolchains.prepare ADAPTER [SOURCE OUT CALIBRATION PRECISION]

ADAPTER is a module such as benchmarks.toolchains.openvino; the rest is what its `prepare` takes. Prints the
versions of its packages as one JSON object; everything else goes to stderr. Without the rest nothing is
built: adapters import their libraries late, so this takes a fraction of a second. Exit code 3 is a model that
the toolchain cannot express.
"""

import importlib
import json
import os
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from qa.base.errors import UnsupportedExport

EXIT_UNSUPPORTED = 3  # the toolchain cannot express the model, which is no fault


def main() -> None:
    """Build into an empty folder; end with one line for what the user can act on."""
    module, *arguments = sys.argv[1:]
    adapter = importlib.import_module(module)
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # libraries print
    try:
        versions = {name: version(name) for name in adapter.PACKAGES}
        if arguments:
            *paths, precision = arguments
            source, out, calibration = map(Path, paths)
            adapter.prepare(source, out, calibration, precision)
    except UnsupportedExport as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(EXIT_UNSUPPORTED)
    except PackageNotFoundError as error:
        sys.exit(f"error: {error.name} is not installed for {sys.executable}; run make toolchains")
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
    print(json.dumps(versions), file=replies, flush=True)


if __name__ == "__main__":
    main()
