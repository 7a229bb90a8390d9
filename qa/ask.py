"""Ask a bundle one question about a passage of any length.

    python -m qa.ask --model runs/demo/student --question "Who wrote it?" --context passage.txt
"""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from qa.answers import decode
from qa.bundle import open_bundle
from qa.cli import check_option, run_command
from qa.errors import OptionError
from qa.features import make_windows
from qa.runtimes import available_cores, load_runtime, run_windows
from qa.squad import Example


@dataclass(frozen=True)
class AskConfig:
    """Ask a model one question about a passage of any length."""

    model: Path
    """Bundle to ask: PyTorch, ONNX or TFLite, of any precision."""
    question: str
    """The question."""
    context: Path
    """UTF-8 text file with the passage."""
    threads: int | None = None
    """Threads; all cores when not given."""

    def __post_init__(self) -> None:
        encodes = self.question == self.question.encode(errors="replace").decode()
        check_option(encodes, "--question", ascii(self.question), "UTF-8 text")
        check_option(self.threads is None or self.threads >= 1, "--threads", self.threads, "at least 1")


def read_text(path: Path) -> str:
    """A passage from a file, as it stands (line ends kept, so that offsets fit the file)."""
    if not path.is_file():
        raise OptionError(f"--context {path}: no such file; give a UTF-8 text file")
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise OptionError(f"--context {path}: not UTF-8 text (byte {error.start}); convert it to UTF-8") from None


def main(config: AskConfig) -> dict[str, Any]:
    """Answer and print one JSON object: answer, offsets, n-best with scores and probabilities, and milliseconds."""
    passage = read_text(config.context)
    bundle = open_bundle(config.model)
    began = time.perf_counter()
    runtime = load_runtime(bundle, config.threads)
    tokenizer = bundle.tokenizer()
    loaded = time.perf_counter()
    example = Example("question", "", passage, config.question, (), False)
    windows = make_windows([example], tokenizer, bundle.settings)
    tokenized = time.perf_counter()
    logits = run_windows(runtime, windows)
    computed = time.perf_counter()
    prediction = decode(windows, logits, bundle.settings)
    decoded = time.perf_counter()
    best = prediction.best(bundle.settings.null_threshold)
    scores = np.array([c.score for c in prediction.candidates])
    weights = np.exp(scores - scores.max()) if len(scores) else scores
    result = {
        "answer": passage[best.start : best.end] if best else "",
        "start": best.start if best else None,
        "end": best.end if best else None,
        "score": best.score if best else None,
        "null_score": prediction.null_score,
        "n_best": [
            {"text": passage[c.start : c.end], "start": c.start, "end": c.end, "score": c.score, "probability": float(p)}
            for c, p in zip(prediction.candidates, weights / weights.sum() if len(weights) else weights, strict=True)
        ],
        "n_windows": len(windows),
        "runtime": runtime.name,
        "precision": bundle.precision,
        "threads": config.threads or available_cores(),
        "load_ms": 1e3 * (loaded - began),
        "tokenize_ms": 1e3 * (tokenized - loaded),
        "inference_ms": 1e3 * (computed - tokenized),
        "decode_ms": 1e3 * (decoded - computed),
    }
    print(json.dumps(result, indent=1, ensure_ascii=False))
    return result


if __name__ == "__main__":
    run_command(AskConfig, main)
