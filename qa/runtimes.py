"""PyTorch, ONNX Runtime and LiteRT behind one call: a batch of windows in, start and end logits out.

`load_runtime` opens the right one for a bundle and, for exported models, runs the bundle's probe first: a runtime that
computes this model wrongly is refused before it can answer.
"""

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

import numpy as np
from tqdm import tqdm

from qa.bundle import PROBE, ModelFolder
from qa.cli import one_line
from qa.errors import BundleError, OptionError, PocketQAError, ProbeError
from qa.features import Window, collate
from qa.kinds import KINDS
from qa.probe import Probe, ProbeWindow, check_covers, read_probe, relative_difference

Inputs = dict[str, np.ndarray]
Logits = tuple[np.ndarray, np.ndarray]

# The names LiteRT's interpreter has been published under: (package, module), newest first.
LITERT_PACKAGES = (
    ("ai-edge-litert", "ai_edge_litert.interpreter"),
    ("tensorflow", "tensorflow.lite.python.interpreter"),
    ("tflite-runtime", "tflite_runtime.interpreter"),
)


class Runtime(Protocol):
    """One loaded model. Calling it maps (B, T) inputs to (start, end) logits, each (B, T) float32.

    Its class has `library()`, which imports what it computes with, so that loading can be timed alone.
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

    lengths: tuple[int, ...] | None = None
    max_batch = 32

    @staticmethod
    def library() -> Any:
        """Import what it computes with."""
        import qa.models.model  # noqa: F401

        return importlib.import_module("torch")

    def __init__(self, bundle: ModelFolder, threads: int, device: str = "cpu") -> None:
        torch = self.library()
        from qa.models.model import QAModel

        self._torch, self.device, self._threads = torch, device, threads
        self.package, self.version = "torch", str(torch.__version__)
        self.name = f"{self.package} {self.version}"
        self.model = QAModel.from_pretrained(bundle.path).to(device)
        wanted, most = bundle.settings.max_length, self.model.encoder.max_length
        if wanted > most:
            raise BundleError(f"{bundle.path}: windows of {wanted} tokens, but positions for {most}; make the bundle again")

    def __call__(self, inputs: Inputs) -> Logits:
        """Logits of a batch, (B, T) each."""
        torch = self._torch
        with self._own_threads(), torch.inference_mode():
            output = self.model(**{name: torch.from_numpy(array).to(self.device) for name, array in inputs.items()})
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


# Without TF32, fp32 is on a GPU what it is elsewhere, and in PyTorch.
PROVIDER_OPTIONS: dict[str, dict[str, str]] = {"CPUExecutionProvider": {}, "CUDAExecutionProvider": {"use_tf32": "0"}}


class OnnxRuntime:
    """ONNX Runtime, on the CPU unless another provider is named.

    Batch 1: dynamic int8 takes its ranges over the whole batch, so a batch would change answers.
    """

    lengths: tuple[int, ...] | None = None
    max_batch = 1

    @staticmethod
    def library() -> Any:
        """Import what it computes with."""
        try:
            return importlib.import_module("onnxruntime")
        except ImportError:
            raise OptionError("an ONNX bundle needs onnxruntime: pip install 'pocketqa[onnx]'") from None

    def __init__(self, bundle: ModelFolder, threads: int, provider: str = "CPUExecutionProvider") -> None:
        ort = self.library()
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        # Threads that spin between calls would take time from the other runtimes measured in the same run.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # Attention gives padding weights that are denormal numbers, which Softmax would take several times as long to compute.
        options.add_session_config_entry("session.set_denormal_as_zero", "1")
        try:
            self._session = ort.InferenceSession(str(bundle.weights), options, providers=[(provider, PROVIDER_OPTIONS[provider])])
        except Exception as error:  # onnxruntime's own exception types share no public base
            raise BundleError(f"{bundle.weights}: ONNX Runtime cannot load it ({str(error).splitlines()[0]})") from None
        if provider not in self._session.get_providers():  # without CUDA's libraries it computes on the CPU, and says nothing
            raise OptionError(f"ONNX Runtime cannot use its {provider} here; install the CUDA and cuDNN that its version needs")
        self.package, self.version = "onnxruntime", ort.__version__
        self.name = f"{self.package} {self.version}"

    def __call__(self, inputs: Inputs) -> Logits:
        """Logits of a batch, (B, T) each."""
        start, end = self._session.run(["start_logits", "end_logits"], inputs)
        return start, end


class LiteRTRuntime:
    """LiteRT, one window at a time, through the smallest signature that fits."""

    max_batch = 1

    @staticmethod
    def library() -> tuple[str, Any]:
        """(package name, Interpreter class) of the first LiteRT this machine has."""
        for package, module in LITERT_PACKAGES:
            with contextlib.suppress(ImportError):
                return package, importlib.import_module(module).Interpreter
        names = ", ".join(package for package, _ in LITERT_PACKAGES)
        raise OptionError(f"a TFLite bundle needs one of {names}: pip install 'pocketqa[litert]'")

    def __init__(self, bundle: ModelFolder, threads: int, *, xnnpack: bool = True) -> None:
        """Without `xnnpack` it computes with LiteRT's own kernels, as phones do on which XNNPACK fails."""
        package, interpreter_class = self.library()
        options: dict[str, Any] = {"model_path": str(bundle.weights), "num_threads": threads}
        if not xnnpack:
            resolvers = sys.modules[interpreter_class.__module__].OpResolverType
            options["experimental_op_resolver_type"] = resolvers.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        try:
            with _stderr_to_null():
                self._interpreter = interpreter_class(**options)
                names = list(self._interpreter.get_signature_list())
                self._runners = {int(n.removeprefix("qa")): self._interpreter.get_signature_runner(n) for n in names}
                for length, runner in self._runners.items():  # allocates the tensors; unsupported operators surface here
                    runner(**{k: v.astype(np.int32) for k, v in collate([_EMPTY_WINDOW], length).items()})
        except (ValueError, RuntimeError) as error:
            raise BundleError(f"{bundle.weights}: {package} cannot load it ({str(error).splitlines()[0]})") from None
        self.lengths: tuple[int, ...] | None = tuple(sorted(self._runners))
        self.package, self.version = package, _version(package)
        self.name = f"{self.package} {self.version}"

    def __call__(self, inputs: Inputs) -> Logits:
        """Logits of a batch, (B, T) each."""
        length = inputs["input_ids"].shape[1]
        output = self._runners[length](**{name: array.astype(np.int32) for name, array in inputs.items()})
        return output["start_logits"], output["end_logits"]


_EMPTY_WINDOW = Window(0, np.array([0, 0, 0], np.int32), 2, np.array([0]), np.array([0]), np.array([True]), 0, 0)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown version"


@contextlib.contextmanager
def _stderr_to_null() -> Iterator[None]:
    """Keep LiteRT's C++ start-up notes off the user's terminal; its errors come as exceptions."""
    saved, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(null)


def load_runtime(bundle: ModelFolder, threads: int | None = None, *, probe: bool = True) -> Runtime:
    """Load a bundle's model and let its probe decide whether this runtime may answer.

    `threads` defaults to all cores. Raises ProbeError when the runtime computes this model wrongly, BundleError when the
    probe leaves a length of the model uncomputed.
    """
    kind = KINDS[bundle.kind]
    runtime: Runtime = kind.runtime_class()(bundle, threads or available_cores())
    if probe and kind.exported:
        if PROBE not in bundle.manifest["files"]:
            raise BundleError(f"{bundle.path}: has no {PROBE}, so nothing shows that this runtime is right; export it again")
        where = str(bundle.path / PROBE)
        recorded = read_probe((bundle.path / PROBE).read_bytes(), where)
        check_covers(recorded.windows, runtime.lengths or (), where)
        try:
            check_probe(runtime, recorded, bundle.precision)
        except PocketQAError:
            raise
        except Exception as error:  # the runtimes' own types
            raise BundleError(f"{bundle.weights}: {runtime.name} cannot compute it ({one_line(error)})") from None
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
    tolerance, worst = probe.allowed(precision), probe_difference(runtime, probe.windows)
    if not worst <= tolerance:
        raise ProbeError(
            f"{runtime.name} computes this {precision} model wrongly: its logits differ from PyTorch's by {worst:.3g} of their "
            f"deviation, at most {tolerance:.3g} is allowed; use another runtime or version"
        )
    return worst


def available_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_length(runtime: Runtime, n_tokens: int) -> int:
    """The length at which a runtime computes a window of `n_tokens`: its smallest that fits, or just that many."""
    if runtime.lengths is None:
        return n_tokens
    fitting = [length for length in runtime.lengths if length >= n_tokens]
    if not fitting:
        raise BundleError(f"a window of {n_tokens} tokens does not fit the model's lengths {runtime.lengths}")
    return fitting[0]


def run_windows(runtime: Runtime, windows: Sequence[Window], *, progress: bool = False) -> list[Logits]:
    """Logits of every window, in order, each (T,) over the window's own tokens (padding cut off).

    Windows of like length are computed together, in batches of at most `runtime.max_batch`.
    """
    order = sorted(range(len(windows)), key=lambda i: len(windows[i].input_ids), reverse=True)
    results: list[Logits | None] = [None] * len(windows)
    with tqdm(total=len(windows), desc=runtime.name, unit="window", disable=not progress, mininterval=1.0, delay=1.0) as bar:
        for first in range(0, len(order), runtime.max_batch):
            rows = order[first : first + runtime.max_batch]
            batch = [windows[i] for i in rows]
            starts, ends = runtime(collate(batch, run_length(runtime, len(batch[0].input_ids))))
            for row, window, start, end in zip(rows, batch, starts, ends, strict=True):
                n = len(window.input_ids)
                results[row] = (start[:n], end[:n])
            bar.update(len(rows))
    return [logits for logits in results if logits is not None]
