"""ONNX Runtime and LiteRT, each a class that loads a weights file and computes with it.

Benchmarks copy this file, its imports and `qa/formats/registry.py` to boards without this project: it runs
on any Python from 3.9 with numpy.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from qa.base.errors import BundleError, OptionError, first_line
from qa.formats.tensors import OUTPUTS, Inputs, Logits
from qa.formats.tflite import signature_length

# (package, module) of every published LiteRT interpreter, newest first.
LITERT_PACKAGES = (
    ("ai-edge-litert", "ai_edge_litert.interpreter"),
    ("tensorflow", "tensorflow.lite.python.interpreter"),
    ("tflite-runtime", "tflite_runtime.interpreter"),
)
# Without TF32, fp32 on a GPU is the same as on a CPU and in PyTorch.
PROVIDER_OPTIONS: dict[str, dict[str, str]] = {
    "CPUExecutionProvider": {},
    "CUDAExecutionProvider": {"use_tf32": "0"},
}


class OnnxRuntime:
    """ONNX Runtime, on the CPU unless another provider is named.

    Batch 1: dynamic int8 computes ranges over the whole batch, so a batch would change answers.
    """

    package = "onnxruntime"
    lengths: tuple[int, ...] | None = None
    max_batch = 1

    @staticmethod
    def library() -> Any:
        """Import onnxruntime; OptionError when it is not installed or does not load."""
        try:
            return importlib.import_module("onnxruntime")
        except ModuleNotFoundError:
            raise not_installed("an ONNX bundle", "onnxruntime") from None
        except ImportError as error:
            raise OptionError(f"onnxruntime cannot be imported here ({first_line(error)})") from None

    def __init__(self, weights: Path, threads: int, provider: str = "CPUExecutionProvider") -> None:
        ort = self.library()
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        # Two threads that spin between calls are 1.3 times as fast on an idle machine, but half as fast
        # beside another busy process, and would slow runtimes measured in turns.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # Attention weights of padding are denormal numbers, which make Softmax several times slower.
        options.add_session_config_entry("session.set_denormal_as_zero", "1")
        # No manifest has hashes of weights in further files, so they are looked for where there can be none.
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(weights))
        try:
            self._session = ort.InferenceSession(
                weights.read_bytes(), options, providers=[(provider, PROVIDER_OPTIONS[provider])]
            )
        except Exception as error:  # onnxruntime's own exception types share no public base
            raise BundleError(f"{weights}: ONNX Runtime cannot load it ({first_line(error)})") from None
        self._session.disable_fallback()  # to a CPU, of which nothing is said
        if hasattr(self._session, "_model_bytes"):
            self._session._model_bytes = None  # which it would hold as long as the model
        # Without the libraries of CUDA it would compute on the CPU and not say so.
        if provider not in self._session.get_providers():
            raise OptionError(
                f"ONNX Runtime cannot use its {provider} here; install the CUDA and cuDNN that its version "
                "needs"
            )
        self.version = ort.__version__
        self.name = f"{self.package} {self.version}"

    def __call__(self, inputs: Inputs) -> Logits:
        """Compute the logits of a batch, (B, T) each."""
        start, end = self._session.run(OUTPUTS, inputs)
        return start, end


class LiteRTRuntime:
    """LiteRT, one window at a time: one signature of any length, or one for each length, qa128 and so on.

    The first call of a signature allocates its tensors, and fails where LiteRT lacks an operator. The probe
    of a bundle makes this call.
    """

    max_batch = 1

    @staticmethod
    def library() -> tuple[str, Any]:
        """Import the first LiteRT on this machine: (package name, Interpreter class).

        OptionError when there is none, or none that this machine can load.
        """
        fault = not_installed("a TFLite bundle", LITERT_PACKAGES[0][0])
        for package, module in LITERT_PACKAGES:
            try:
                return package, importlib.import_module(module).Interpreter
            except ModuleNotFoundError:
                continue
            except ImportError as error:
                fault = OptionError(f"{package} cannot be imported here ({first_line(error)})")
        raise fault

    def __init__(self, weights: Path, threads: int, *, xnnpack: bool = True) -> None:
        """Load the weights; without `xnnpack`, LiteRT's own kernels run, as on phones where XNNPACK fails."""
        self.package, interpreter_class = self.library()
        options: dict[str, Any] = {"model_path": str(weights), "num_threads": threads}
        if not xnnpack:
            resolvers = sys.modules[interpreter_class.__module__].OpResolverType
            options["experimental_op_resolver_type"] = resolvers.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        try:
            with _stderr_to_null():
                self._interpreter = interpreter_class(**options)
                names = list(self._interpreter.get_signature_list())
                self._runners = {
                    signature_length(name): self._interpreter.get_signature_runner(name) for name in names
                }
        except (ValueError, RuntimeError) as error:
            raise BundleError(f"{weights}: {self.package} cannot load it ({first_line(error)})") from None
        fixed = [length for length in self._runners if length is not None]
        self.lengths: tuple[int, ...] | None = tuple(sorted(fixed)) or None
        # XNNPACK prints a line at the first run of each signature.
        self._silent = set(self._runners)
        self.version = installed_version(self.package)
        self.name = f"{self.package} {self.version}"

    def __call__(self, inputs: Inputs) -> Logits:
        """Compute the logits of a batch, (B, T) each."""
        length = inputs["input_ids"].shape[1] if self.lengths else None
        with _stderr_to_null() if length in self._silent else contextlib.nullcontext():
            output = self._runners[length](**{name: array.astype(np.int32) for name, array in inputs.items()})
        self._silent.discard(length)
        return output["start_logits"], output["end_logits"]


def not_installed(what: str, package: str) -> OptionError:
    """Return the error for a runtime that is missing."""
    return OptionError(
        f"{what} needs {package}, which is not installed for {sys.executable}; pip install {package}"
    )


def installed_version(package: str) -> str:
    """Return the version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown version"


_STDERR = threading.Lock()  # of two threads at once, the later would put back what the earlier had changed


@contextlib.contextmanager
def _stderr_to_null() -> Iterator[None]:
    """Hide the start-up messages of LiteRT's C++ code; its errors are exceptions."""
    with _STDERR:
        if not _has_stderr():  # its descriptor may be that of another file
            yield
            return
        saved = os.dup(2)
        null = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(null, 2)
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            os.close(null)


def _has_stderr() -> bool:
    """Return False in a process that was started without stderr, or has closed its descriptor."""
    try:
        os.fstat(2)
    except OSError:
        return False
    return sys.__stderr__ is not None


def run_length(runtime: Any, n_tokens: int) -> int:
    """Return the length at which a runtime computes a window: its smallest that fits, or `n_tokens`."""
    if runtime.lengths is None:
        return n_tokens
    fitting = [length for length in runtime.lengths if length >= n_tokens]
    if not fitting:
        raise BundleError(f"a window of {n_tokens} tokens does not fit the model's lengths {runtime.lengths}")
    return fitting[0]
