"""Loss by layer: how far the file is from PyTorch when a layer stays in fp32, and which layers have to.

Layers are the encoder's, counted from 0, and the QA head. Embedding tables stay quantized.
"""

import re
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from export.tflite.file import TFLiteFile
from qa.base.errors import ParityError
from qa.bundles.bundle import Bundle
from qa.data.squad import Example
from qa.evaluation.predict import predict, score
from qa.formats.tensors import Logits
from qa.runtime.engines import LiteRTRuntime
from qa.runtime.probe import relative_difference
from qa.runtime.runtimes import available_cores, load_runtime, run_windows
from qa.text.preselection import windows_to_read

NUMBERED = re.compile(r"(?:Layer|Block)(?:Group)?_(\d+)/")
MATRIX = "FULLY_CONNECTED"


def layer_of(output: str) -> str:
    """Return the layer of a Linear by the name that the converter gives its output.

    The name is the path of its module. Where operators were fused, it is the last of several paths. Linears
    outside numbered layers, such as the projection behind narrow embeddings, are "other".
    """
    path = output.rpartition(";;")[2]
    if "_head/" in path:
        return "head"
    number = NUMBERED.search(path)
    return f"layer {number[1]}" if number else "other"


def linears_by_layer(file: TFLiteFile) -> dict[str, list[str]]:
    """Return the outputs of the Linears of each layer, in the order of the graph."""
    layers: dict[str, list[str]] = {}
    for weight in file.weights():
        if weight.operator == MATRIX:
            layers.setdefault(layer_of(weight.output), []).append(weight.output)
    return layers


@dataclass(frozen=True)
class Scored:
    """A file with some layers in fp32, on the questions of a scored file."""

    f1: float
    """F1 in percent with the parent's threshold."""
    difference: float
    """Mean root-mean-square difference of a window's logits from PyTorch's, in their standard deviations."""
    megabytes: float


class Sensitivity:
    """Score a file with any layers in fp32 against its parent."""

    def __init__(
        self,
        parent: Bundle,
        examples: Sequence[Example],
        make: Callable[[Collection[str]], TFLiteFile],
        layers: Sequence[str],
        path: Path,
    ) -> None:
        """Score the parent.

        `make` returns the file with the given `layers` in fp32; it is written to `path`.
        """
        self.parent = parent
        self.examples = examples
        self.make = make
        self.layers = layers
        self.path = path
        self.windows = windows_to_read(examples, parent.tokenizer, parent.settings)
        self.expected = run_windows(load_runtime(parent, available_cores()), self.windows)
        self.parent_f1 = self._f1(self.expected)
        self._scored: dict[frozenset[str], Scored] = {}

    def _f1(self, logits: Sequence[Logits]) -> float:
        predictions = predict(self.examples, self.windows, logits, self.parent.settings)
        return float(score(self.examples, predictions, self.parent.settings.null_threshold)["f1"])

    def scored(self, fp32_layers: Collection[str]) -> Scored:
        """Score the file with these layers in fp32; each file is made and scored once."""
        key = frozenset(fp32_layers)
        if key not in self._scored:
            content = self.make(fp32_layers).to_bytes()
            self.path.write_bytes(content)
            logits = run_windows(LiteRTRuntime(self.path, available_cores()), self.windows)
            differences = [
                relative_difference(np.stack(expected), np.stack(actual))
                for expected, actual in zip(self.expected, logits, strict=True)
            ]
            self._scored[key] = Scored(self._f1(logits), float(np.mean(differences)), len(content) / 1e6)
        return self._scored[key]

    def table(self) -> tuple[str, list[str]]:
        """Score the file with each layer alone in fp32.

        Returns the table and the layers, most sensitive first: by the difference of the logits that is left,
        which depends less on the questions than F1 does.
        """
        whole = self.scored(())
        by_layer = {}
        for layer in self.layers:
            print(f"{layer} in fp32: scoring {len(self.examples)} questions", file=sys.stderr)
            by_layer[layer] = self.scored((layer,))
        ordered = sorted(self.layers, key=lambda layer: by_layer[layer].difference)
        lines = [
            f"F1 {self.parent_f1:.2f} in PyTorch, on {len(self.examples)} questions",
            "in fp32        F1  logits differ by       MB",
        ]
        for layer, scored in [("none", whole), *((layer, by_layer[layer]) for layer in ordered)]:
            lines.append(f"{layer:10}  {scored.f1:5.2f}  {scored.difference:15.4f}  {scored.megabytes:7.2f}")
        return "\n".join(lines), ordered

    def layers_to_leave(self, ordered: Sequence[str], max_drop: float) -> list[str]:
        """Return the first of the `ordered` layers with which F1 falls by at most `max_drop` points.

        ParityError when F1 falls by more with all of them in fp32.
        """
        for n_left in range(len(ordered) + 1):
            drop = self.parent_f1 - self.scored(ordered[:n_left]).f1
            if drop <= max_drop:
                left = list(ordered[:n_left])
                print(f"F1 falls by {drop:.2f} points with {', '.join(left) or 'no layer'} in fp32")
                return left
        raise ParityError(
            f"--max-drop {max_drop:g}: F1 falls by {drop:.2f} points even with all layers in fp32; allow "
            "more, or store a smaller embedding table than int8 with --embeddings int8; no file was kept"
        )
