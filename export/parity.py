"""Check that an exported model computes what its PyTorch parent computes.

Both compute real windows, padded and unpadded.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from qa.base.errors import ParityError
from qa.base.sampling import evenly
from qa.bundles.bundle import Bundle
from qa.bundles.manifest import Parity
from qa.data.datasets import EMBEDDED, resolve
from qa.data.squad import Example, read_squad
from qa.formats.precision import PRECISIONS, Precision
from qa.formats.tensors import Logits
from qa.runtime.engines import run_length
from qa.runtime.probe import relative_difference
from qa.runtime.runtimes import Runtime, TorchRuntime
from qa.text.answers import decode
from qa.text.features import Window, collate, make_windows
from qa.text.preselection import windows_to_read
from qa.text.settings import QASettings

PARITY_WINDOWS = 40
MOST_QUESTIONS = 300  # whose windows are made
SHORT_WINDOW = 16  # tokens
PADDING = 128  # tokens of the padded run; with fixed lengths most windows then take a longer signature
# A file's tolerance is twice its largest difference here. LiteRT's two kinds of kernels round activations
# differently: in 13 files one was up to 2.7 times as far from PyTorch as the other. Other CPUs differ from
# these by 0.01 at most.
SPREAD = 2
LEAST_TOLERANCE = 0.1


def limits_of(precision: str, embeddings: str | None) -> Precision:
    """Return the precision whose limits hold for the logits of a file.

    `embeddings` is the form that the export gave to the embedding table, if it changed it. A table of few
    bits moves the logits of an untrained model as int4 does. Those of a trained model it moves less: int4
    rows and pq3 in an int8 file by 0.11 to 0.13 (LiteRT) and 0.19 (ONNX Runtime) of their deviation.
    """
    return PRECISIONS["int4" if embeddings not in (None, "int8") else precision]


def probe_tolerance(precision: str, worst: float) -> float:
    """Return how far a runtime's logits may be from PyTorch's on a probe.

    `worst` is the largest difference here, with any kernels.
    """
    return min(PRECISIONS[precision].probe_tolerance, max(LEAST_TOLERANCE, float(f"{SPREAD * worst:.3g}")))


def real_windows(bundle: Bundle, n: int = PARITY_WINDOWS, examples: Sequence[Example] = ()) -> list[Window]:
    """Return `n` windows, evenly chosen by length, from shortest to longest.

    They are of some of the `examples`, or of the shipped dev excerpt without any.
    """
    chosen = [examples[row] for row in evenly(len(examples), MOST_QUESTIONS)]
    chosen = chosen or read_squad(resolve(EMBEDDED, "dev"))
    windows = windows_to_read(chosen, bundle.tokenizer, bundle.settings)
    windows.sort(key=lambda w: len(w.input_ids))
    return [windows[i] for i in evenly(len(windows), n, ends=True)]


def probe_windows(bundle: Bundle, sizes: Sequence[int]) -> list[Window]:
    """Return for each size a window of so many tokens, or of the few more that the shortest window takes.

    Each asks another question of the shipped dev excerpt, about its passage and all that follow it: some
    15,000 tokens, truncated. A probe travels with the file, so it never has the user's own text.
    """
    examples = read_squad(resolve(EMBEDDED, "dev"))
    contexts = list(dict.fromkeys(example.context for example in examples))
    tokenizer = bundle.tokenizer
    chosen = []
    for size, row in zip(sizes, evenly(len(examples), len(sizes), ends=True), strict=True):
        at = contexts.index(examples[row].context)
        joined = replace(examples[row], context="\n".join([*contexts[at:], *contexts[:at]]))
        chosen.append(cut_window(make_windows([joined], tokenizer, bundle.settings)[0], size))
    return chosen


def cut_window(window: Window, size: int) -> Window:
    """Truncate a window's context so that the window has `size` tokens; at least one of the context stays."""
    n = max(1, size - window.context_begin - 1)
    ids = np.concatenate([window.input_ids[: window.context_begin + n], window.input_ids[-1:]])
    arrays = {name: getattr(window, name)[:n] for name in ("char_starts", "char_ends", "max_context")}
    return replace(window, input_ids=ids, **arrays)


def best_span(window: Window, logits: Logits, settings: QASettings) -> tuple[int, int] | None:
    """Return the character range of a window's best span."""
    best = decode([window], [logits], settings).best(None)
    return (best.start, best.end) if best else None


def window_logits(runtime: Runtime, window: Window, length: int | None = None) -> Logits:
    """Return one window's logits, (T,) each, padded to `length` tokens; unpadded without it.

    A runtime with fixed lengths pads to its next length, and to its longest at most.
    """
    n = len(window.input_ids)
    length = length or n
    if runtime.lengths is not None:
        length = run_length(runtime, min(length, runtime.lengths[-1]))
    start, end = runtime(collate([window], length))
    return start[0, :n], end[0, :n]


def check_parity(
    reference: TorchRuntime,
    exported: Runtime,
    windows: Sequence[Window],
    settings: QASettings,
    *,
    name: str,
    tolerance: float,
    min_equal_spans: float,
) -> Parity:
    """Compare on every window, unpadded and padded.

    `tolerance` limits the difference of logits, in standard deviations; `min_equal_spans` is the least share
    of runs with the same best span. ParityError, with the figures, when one is not met.
    """
    n_positions = reference.model.encoder.max_length
    equal = []
    max_difference = relative = 0.0
    for window in windows:
        expected = window_logits(reference, window)
        for length in (None, min(len(window.input_ids) + PADDING, n_positions)):
            actual = window_logits(exported, window, length)
            for a, b in zip(expected, actual, strict=True):
                max_difference = max(max_difference, float(np.abs(a - b).max()))
                relative = max(relative, relative_difference(a, b))
            equal.append(best_span(window, expected, settings) == best_span(window, actual, settings))
    equal_spans = float(np.mean(equal))
    report = Parity(name, len(windows), max_difference, relative, tolerance, equal_spans, min_equal_spans)
    if not relative <= tolerance:
        raise ParityError(f"{report}; the exported file was not kept")
    if equal_spans < min_equal_spans:
        raise ParityError(
            f"{name}: {equal_spans:.1%} of the best spans on {len(windows)} real windows equal "
            f"PyTorch's, below --min-equal-spans {min_equal_spans:g}; take a finer --quantize or "
            "--embeddings, train with compress.qat for a TFLite file in int4, or lower --min-equal-spans if "
            "the file's F1 suffices; no file was kept"
        )
    return report
