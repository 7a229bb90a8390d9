"""Exact match, F1 and the no-answer threshold, equal to the official SQuAD 2.0 evaluation (Rajpurkar et al.
2018).

On SQuAD 1.1 files the same numbers equal those of the 1.1 script, except for gold answers of punctuation and
articles only, which the 2.0 script leaves out. Two departures from the 2.0 script: a question without a
prediction counts 0, as in the 1.1 script; the 2.0 script fails. A question with `is_impossible` true is
unanswerable even if it lists answers; the script reads only the list.
"""

import math
import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

from qa.data.squad import Example

_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)
_PUNCTUATION = str.maketrans("", "", string.punctuation)


@lru_cache(maxsize=100_000)  # a gold answer is compared with every model's
def normalize_answer(text: str) -> str:
    """Lower-case, and remove ASCII punctuation, English articles and extra white space."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def token_f1(gold: str, predicted: str) -> float:
    """Return F1 over normalized tokens; two empty sides give 1.0, one gives 0.0."""
    gold_tokens = normalize_answer(gold).split()
    predicted_tokens = normalize_answer(predicted).split()
    if not gold_tokens or not predicted_tokens:
        return float(gold_tokens == predicted_tokens)
    n_same = sum((Counter(gold_tokens) & Counter(predicted_tokens)).values())
    if n_same == 0:
        return 0.0
    precision = n_same / len(predicted_tokens)
    recall = n_same / len(gold_tokens)
    return 2 * precision * recall / (precision + recall)


def gold_texts(example: Example) -> list[str]:
    """Return the answers to compare with: those with words, or the empty answer if there are none."""
    return [a.text for a in example.answers if normalize_answer(a.text)] or [""]


def has_answer(example: Example) -> bool:
    """Return True for an answerable question, as the official script decides it (answers present)."""
    return bool(example.answers)


def question_scores(example: Example, predicted: str) -> tuple[float, float]:
    """Return the best exact match and best F1 (each 0 to 1) of one prediction over the gold answers."""
    golds = gold_texts(example)
    is_exact = normalize_answer(predicted) in map(normalize_answer, golds)
    return float(is_exact), max(token_f1(g, predicted) for g in golds)


def scores_by_question(
    examples: Sequence[Example], predictions: Mapping[str, str]
) -> list[tuple[float, float]]:
    """Return exact match and F1 (each 0 to 1) of every question; 0 without a prediction."""
    return [question_scores(e, predictions[e.id]) if e.id in predictions else (0.0, 0.0) for e in examples]


def evaluate_predictions(examples: Sequence[Example], predictions: Mapping[str, str]) -> dict[str, float]:
    """Return the official script's result, in percent: exact, f1, total, and HasAns_* and NoAns_* if any.

    Questions of the data without a prediction count 0; their number is added as `missing`.
    """
    scores = scores_by_question(examples, predictions)
    rows = [(has_answer(e), *pair) for e, pair in zip(examples, scores, strict=True)]
    result: dict[str, float] = _summary(rows, "")
    for prefix, wanted in (("HasAns_", True), ("NoAns_", False)):
        part = [row for row in rows if row[0] == wanted]
        if part:
            result |= _summary(part, prefix)
    n_missing = sum(example.id not in predictions for example in examples)
    return result | ({"missing": n_missing} if n_missing else {})


def _summary(rows: list[tuple[bool, float, float]], prefix: str) -> dict[str, float]:
    n = len(rows)
    return {
        f"{prefix}exact": 100.0 * sum(row[1] for row in rows) / n,
        f"{prefix}f1": 100.0 * sum(row[2] for row in rows) / n,
        f"{prefix}total": n,
    }


def best_f1_threshold(
    examples: Sequence[Example], answers: Mapping[str, str], null_differences: Mapping[str, float]
) -> tuple[float, float]:
    """Return (best F1 in percent, its threshold on null score - best answer's score).

    `answers` are the best non-empty answers. A question is left unanswered when its difference exceeds the
    threshold. Questions are swept from surely answerable to surely not, as in the official script. Where it
    is best never to answer, the threshold is below all differences. The script has 0 there, which may answer.
    """
    current = best = float(sum(not has_answer(e) for e in examples))
    threshold = min(0.0, math.nextafter(min(null_differences[e.id] for e in examples), -math.inf))
    for example in sorted(examples, key=lambda e: null_differences[e.id]):
        current += gain_of_answering(example, answers[example.id])
        if current > best:
            best = current
            threshold = null_differences[example.id]
    return 100.0 * best / len(examples), threshold


def gain_of_answering(example: Example, answer: str) -> float:
    """Return the gain of F1 (0 to 1) when `answer` is given instead of none."""
    return question_scores(example, answer)[1] if has_answer(example) else -float(bool(answer))
