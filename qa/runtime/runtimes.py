"""One interface to every runtime: a batch of windows in, start and end logits out.

`load_runtime` opens the runtime of a bundle. For an exported model it runs the probe first: a runtime that
computes this model wrongly is refused before it can answer.
"""

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from qa.base.cli import one_line
from qa.base.errors import BundleError, OptionError, PocketQAError, ProbeError
from qa.base.progress import Progress
from qa.bundles.bundle import PROBE, ModelFolder
from qa.formats.registry import FORMATS
from qa.formats.tensors import Inputs, Logits
from qa.runtime.engines import run_length
from qa.runtime.probe import Probe, ProbeWindow, check_covers, read_probe, relative_difference
from qa.text.features import Window, collate


class Runtime(Protocol):
    """Loaded model; a call maps (B, T) inputs to (start, end) logits, (B, T) float32 each.

    The class takes the path of the weights and a number of threads. Its `library()` imports the runtime's
    package, so that the time to load a model can be measured without the import.
    """

    name: str
    """Package and version."""
    package: str
    version: str
    lengths: tuple[int, ...] | None
    """Window lengths of the model, ascending; None for any length."""
    max_batch: int
    """Largest useful batch: 1 where a phone would send one window at a time."""

    def __call__(self, inputs: Inputs, /) -> Logits:
        """Compute the logits of a batch."""
        ...


class TorchRuntime:
    """PyTorch in fp32 on the CPU, or on a GPU when `device` says so."""

    package = "torch"
    lengths: tuple[int, ...] | None = None
    max_batch = 32

    @staticmethod
    def library() -> Any:
        """Import torch and the model."""
        try:
            import qa.models.model  # noqa: F401
        except ModuleNotFoundError as error:
            raise OptionError(
                f"a PyTorch bundle needs {error.name}, which is not installed for {sys.executable}; "
                "pip install 'pocketqa[train]'"
            ) from None
        return importlib.import_module("torch")

    def __init__(self, weights: Path, threads: int, device: str = "cpu") -> None:
        self._torch = self.library()
        from qa.models.model import QAModel

        self.model = QAModel.from_pretrained(weights.parent).to(device)
        self.device = device
        self._threads = threads
        self.version = str(self._torch.__version__)
        self.name = f"{self.package} {self.version}"

    def __call__(self, inputs: Inputs) -> Logits:
        """Compute the logits of a batch, (B, T) each."""
        torch = self._torch
        with self._own_threads(), torch.inference_mode():
            tensors = {name: torch.from_numpy(array).to(self.device) for name, array in inputs.items()}
            output = self.model(**tensors)
        return output["start_logits"].cpu().numpy(), output["end_logits"].cpu().numpy()

    @contextlib.contextmanager
    def _own_threads(self) -> Iterator[None]:
        """Set the number of threads, which holds for the whole process, and restore it."""
        before = self._torch.get_num_threads()
        self._torch.set_num_threads(self._threads)
        try:
            yield
        finally:
            self._torch.set_num_threads(before)


def load_runtime(bundle: ModelFolder, threads: int | None = None, *, probe: bool = True) -> Runtime:
    """Load the model of a bundle and check the runtime with its probe.

    `threads` defaults to all cores. Raises ProbeError when the runtime computes this model wrongly.
    BundleError when the probe does not cover a length of the model, or when the windows are longer than the
    positions of a PyTorch model.
    """
    format = FORMATS[bundle.format]
    runtime: Runtime = format.runtime_class()(bundle.weights, threads or available_cores())
    if isinstance(runtime, TorchRuntime):
        length = bundle.settings.max_length
        n_positions = runtime.model.encoder.max_length
        if length > n_positions:
            raise BundleError(
                f"{bundle.path}: windows of {length} tokens, but positions for {n_positions}; "
                "make the bundle again"
            )
    if probe and format.exported:
        if not (bundle.path / PROBE).is_file():
            raise BundleError(
                f"{bundle.path}: has no {PROBE}, so nothing shows that this runtime is right; export it again"
            )
        where = str(bundle.path / PROBE)
        recorded = read_probe((bundle.path / PROBE).read_bytes(), where)
        check_covers(recorded.windows, runtime.lengths or (), where)
        try:
            check_probe(runtime, recorded, bundle.precision)
        except PocketQAError:
            raise
        except Exception as error:  # the runtimes' own types
            raise BundleError(
                f"{bundle.weights}: {runtime.name} cannot compute it ({one_line(error)})"
            ) from None
    return runtime


def probe_difference(runtime: Runtime, windows: Sequence[ProbeWindow]) -> float:
    """Return the largest relative difference of a runtime's logits from those of the probe."""
    worst = 0.0
    for window in windows:
        n = len(window.input_ids)
        start, end = runtime(collate([window], run_length(runtime, n)))
        worst = max(
            worst,
            relative_difference(window.start_logits, start[0, :n]),
            relative_difference(window.end_logits, end[0, :n]),
        )
    return worst


def check_probe(runtime: Runtime, probe: Probe, precision: str) -> float:
    """Run the probe and return the largest relative difference; ProbeError above the tolerance."""
    tolerance = probe.allowed(precision)
    worst = probe_difference(runtime, probe.windows)
    if not worst <= tolerance:
        raise ProbeError(
            f"{runtime.name} computes this {precision} model wrongly: its logits differ from PyTorch's by "
            f"{worst:.3g} of their deviation, at most {tolerance:.3g} is allowed; use another runtime or "
            "version"
        )
    return worst


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_windows(runtime: Runtime, windows: Sequence[Window], *, progress: bool = False) -> list[Logits]:
    """Compute the logits of every window, in order, (T,) each without padding.

    Windows of similar length are computed together, in batches of at most `runtime.max_batch`.
    """
    order = sorted(range(len(windows)), key=lambda i: len(windows[i].input_ids), reverse=True)
    results: list[Logits | None] = [None] * len(windows)
    with Progress(
        total=len(windows), desc="reading windows", unit="window", disable=not progress, delay=1.0
    ) as bar:
        for first in range(0, len(order), runtime.max_batch):
            rows = order[first : first + runtime.max_batch]
            batch = [windows[i] for i in rows]
            starts, ends = runtime(collate(batch, run_length(runtime, len(batch[0].input_ids))))
            for row, window, start, end in zip(rows, batch, starts, ends, strict=True):
                n = len(window.input_ids)
                results[row] = (start[:n], end[:n])
            bar.update(len(rows))
    return [logits for logits in results if logits is not None]
