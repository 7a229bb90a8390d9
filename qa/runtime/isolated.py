"""A runtime in a process of its own: a model file that crashes its runtime ends that process, and the caller
gets an error.

Runtimes trust the files they are given (SECURITY.md). The process is `python -m qa.runtime.isolated`; the
protocol is that of `qa.runtime.remote`.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from qa.base.cli import check_option, one_line
from qa.base.errors import BundleError, PocketQAError
from qa.bundles.bundle import Bundle, open_bundle
from qa.formats.tensors import OUTPUTS, Inputs
from qa.runtime.remote import Deployment, RemoteRuntime, exit_text, serve
from qa.runtime.runtimes import load_runtime


class IsolatedRuntime(RemoteRuntime):
    """Any runtime, with its probe, in another process.

    Raises what `load_runtime` raises, and BundleError when the process dies while it loads or computes the
    file.
    """

    def __init__(self, bundle: Bundle, threads: int) -> None:
        check_option(os.name != "nt", "isolated", True, "False on Windows, which cannot wait for a pipe")
        self._weights = bundle.weights
        command = (sys.executable, "-m", __name__)
        super().__init__(Deployment(command, {"path": str(bundle.path.absolute())}), threads)

    def ended(self, code: int, line: str) -> PocketQAError:
        """Blame the file, whatever the process wrote."""
        return BundleError(
            f"{self._weights}: its runtime died ({exit_text(code)}) "
            "while loading or computing; do not use this file"
        )


class Server:
    """The bundle that this process loaded."""

    def load(self, path: str, threads: int, cores: list[int]) -> dict[str, Any]:
        """Load a bundle and run its probe; `cores` is empty."""
        self.path = path
        with self._errors():
            self.runtime = load_runtime(open_bundle(Path(path)), threads)
        return {
            "runtime": [self.runtime.package, self.runtime.version, ""],
            "lengths": self.runtime.lengths,
            "max_batch": self.runtime.max_batch,
        }

    def compute(self, inputs: Inputs) -> dict[str, Any]:
        """Compute the logits of a batch, (B, T) each."""
        with self._errors():
            return dict(zip(OUTPUTS, self.runtime(inputs), strict=True))

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn errors of the runtime's own types into BundleError."""
        try:
            yield
        except PocketQAError:
            raise
        except Exception as error:  # of the runtime's own types
            raise BundleError(f"{self.path}: cannot be computed ({one_line(error)})") from None


if __name__ == "__main__":
    server = Server()
    serve({"load": server.load, "compute": server.compute})
