"""Simulate a model's int8 or int4 TFLite file in PyTorch, with the integers that the file would store.

Attention is computed in fp32, as in the file.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from torch import nn
from torch.nn.utils import parametrize

from benchmarks.search.questions import Half
from compress.qat.fake_quant import FakeQuantizer, norms_before
from export.embeddings import stored_words
from qa.data.metrics import question_scores
from qa.evaluation.predict import answer_text, predict, score
from qa.formats.precision import TABLE_FORMS
from qa.models.model import QAModel
from qa.models.quantized_embedding import ProductQuantizedEmbedding
from qa.runtime.runtimes import TorchRuntime, available_cores, run_windows
from qa.text.answers import Prediction


def known_forms(model: QAModel) -> Sequence[str]:
    """Return the forms that the embedding table may be stored in; a quantized table has only its own."""
    words = model.encoder.words
    return (words.form,) if isinstance(words, ProductQuantizedEmbedding) else TABLE_FORMS


def word_forms(model: QAModel, counts: Callable[[], np.ndarray]) -> dict[str, nn.Module]:
    """Return the embedding table in all of these forms; `counts` counts tokens of the training text."""
    return {form: stored_words(model, "int8", form, counts)[0] for form in known_forms(model)}


def simulated(model: QAModel, precision: str, words: nn.Module) -> QAModel:
    """Return a copy whose Linears and their inputs are fake-quantized, with the stored embedding table."""
    copied = copy.deepcopy(model).eval()
    FakeQuantizer(copied, precision, norms_before(copied))
    copied.encoder.set_words(words)
    return copied


class _InMemory(TorchRuntime):
    """Runtime of a model that is in memory only."""

    def __init__(self, model: QAModel, threads: int) -> None:
        self.use(model, threads)


@dataclass(frozen=True, eq=False)
class Scores:
    """F1 of each question in percent, (Q,), and the threshold on null score - best score."""

    f1: np.ndarray
    threshold: float | None
    """The oracle threshold of these questions; None where all have an answer."""


def f1_scores(model: QAModel, half: Half) -> Scores:
    """Score a model on questions with their oracle threshold."""
    predictions = _predictions(model, half)
    threshold = None
    if not all(example.answers for example in half.examples):
        threshold = score(half.examples, predictions, None)["best_f1_thresh"]
    return Scores(_f1(half, predictions, threshold), threshold)


def f1_at(model: QAModel, half: Half, threshold: float | None) -> np.ndarray:
    """Return the F1 of each question in percent, (Q,), with a threshold of other questions."""
    return _f1(half, _predictions(model, half), threshold)


def _predictions(model: QAModel, half: Half) -> list[Prediction]:
    with parametrize.cached():  # weights are rounded once
        logits = run_windows(_InMemory(model, available_cores()), half.windows)
    return predict(half.examples, half.windows, logits, half.settings)


def _f1(half: Half, predictions: Sequence[Prediction], threshold: float | None) -> np.ndarray:
    pairs = zip(half.examples, predictions, strict=True)
    return 100 * np.array([question_scores(e, answer_text(e, p, threshold))[1] for e, p in pairs])
