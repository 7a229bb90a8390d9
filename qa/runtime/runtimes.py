"""Any runtime behind one call: a batch of windows in, start and end logits out.

`load_runtime` opens the right one for a bundle and, for exported models, runs the bundle's probe first: a
runtime that computes this model wrongly is refused before it can answer.
"""

import contextlib
import importlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from tqdm import tqdm

from qa.base.cli import one_line
from qa.base.errors import BundleError, PocketQAError, ProbeError
from qa.bundles.bundle import PROBE, ModelFolder
from qa.formats.registry import FORMATS
from qa.formats.tensors import Inputs, Logits
from qa.runtime.engines import run_length
from qa.runtime.probe import Probe, ProbeWindow, check_covers, read_probe, relative_difference
from qa.text.features import Window, collate


class Runtime(Protocol):
    """One loaded model. Calling it maps (B, T) inputs to (start, end) logits, each (B, T) float32.

    Its class is called with the path of the weights and a number of threads, and has `library()`, which
    imports what it computes with, so that loading can be timed alone.
    """

    name: str
    """Package and version."""
    package: str
    version: str
    lengths: tuple[int, ...] | None
    """The window lengths it computes, ascending; None takes any."""
    max_batch: int
    """Largest batch worth sending: 1 where a phone would send one window at a time."""

    def __call__(self, inputs: Inputs, /) -> Logits:
        """Logits of a batch."""
        ...


class TorchRuntime:
    """PyTorch in fp32 on the CPU, or on a GPU when `device` says so."""

    package = "torch"
    lengths: tuple[int, ...] | None = None
    max_batch = 32

    @staticmethod
    def library() -> Any:
        """Import what it computes with."""
        import qa.models.model  # noqa: F401

        return importlib.import_module("torch")

    def __init__(self, weights: Path, threads: int, device: str = "cpu") -> None:
        torch = self.library()
        from qa.models.model import QAModel

        self._torch = torch
        self.device = device
        self._threads = threads
        self.version = str(torch.__version__)
        self.name = f"{self.package} {self.version}"
        self.model = QAModel.from_pretrained(weights.parent).to(device)

    def __call__(self, inputs: Inputs) -> Logits:
        """Logits of a batch, (B, T) each."""
        torch = self._torch
        with self._own_threads(), torch.inference_mode():
            output = self.model(
                **{name: torch.from_numpy(array).to(self.device) for name, array in inputs.items()}
            )
        return output["start_logits"].cpu().numpy(), output["end_logits"].cpu().numpy()

    @contextlib.contextmanager
    def _own_threads(self) -> Iterator[None]:
        """The number of threads is the whole process's; whoever calls gets his back."""
        before = self._torch.get_num_threads()
        self._torch.set_num_threads(self._threads)
        try:
            yield
        finally:
            self._torch.set_num_threads(before)


def load_runtime(bundle: ModelFolder, threads: int | None = None, *, probe: bool = True) -> Runtime:
    """Load a bundle's model and let its probe decide whether this runtime may answer.

    `threads` defaults to all cores. Raises ProbeError when the runtime computes this model wrongly,
    BundleError when the probe leaves a length of the model uncomputed, or the windows are longer than a
    PyTorch model has positions for.
    """
    format = FORMATS[bundle.format]
    runtime: Runtime = format.runtime_class()(bundle.weights, threads or available_cores())
    if isinstance(runtime, TorchRuntime):
        wanted = bundle.settings.max_length
        most = runtime.model.encoder.max_length
        if wanted > most:
            raise BundleError(
                f"{bundle.path}: windows of {wanted} tokens, but positions for {most}; make the bundle again"
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
    """The largest relative difference of a runtime's logits from those recorded of a probe's windows."""
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
    """Run the probe; the largest relative difference, or ProbeError when it exceeds what the probe allows."""
    tolerance = probe.allowed(precision)
    worst = probe_difference(runtime, probe.windows)
    if not worst <= tolerance:
        raise ProbeError(
            f"{runtime.name} computes this {precision} model wrongly: its logits differ from PyTorch's by "
            f"{worst:.3g} of their "
            f"deviation, at most {tolerance:.3g} is allowed; use another runtime or version"
        )
    return worst


def available_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_windows(runtime: Runtime, windows: Sequence[Window], *, progress: bool = False) -> list[Logits]:
    """Logits of every window, in order, each (T,) over the window's own tokens (padding cut off).

    Windows of like length are computed together, in batches of at most `runtime.max_batch`.
    """
    order = sorted(range(len(windows)), key=lambda i: len(windows[i].input_ids), reverse=True)
    results: list[Logits | None] = [None] * len(windows)
    with tqdm(
        total=len(windows), desc=runtime.name, unit="window", disable=not progress, mininterval=1.0, delay=1.0
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
