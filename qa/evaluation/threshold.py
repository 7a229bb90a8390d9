"""The no-answer threshold: searched on training articles held out for it, again for every artefact.

A model trained on answerable questions only has no threshold and always answers. The held-out questions
travel in the bundle, so that an export can search again with its own logits.
"""

import gzip
import json
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from qa.base.sampling import evenly
from qa.bundles.bundle import HELD_OUT
from qa.data.metrics import gain_of_answering, has_answer
from qa.data.squad import Example, read_squad
from qa.evaluation.predict import answer_text, predict
from qa.runtime.runtimes import Runtime, run_windows
from qa.text.answers import Prediction
from qa.text.features import make_windows
from qa.text.settings import QASettings

HELD_OUT_SHARE = 0.05
HELD_OUT_QUESTIONS = 1000
N_DRAWS = 200


def hold_out(examples: list[Example]) -> tuple[list[Example], list[Example]]:
    """Return the questions to train on and those held out, as `split_articles` does.

    Nothing is held out where every labelled question has an answer. Unlabelled questions are never held out;
    those made of a held-out question, or asked of its passage, are dropped.
    """
    labelled = [e for e in examples if not e.unlabelled]
    if all(e.answers for e in labelled):
        return examples, []
    held_out = split_articles(labelled)[1]
    ids = {e.id for e in held_out}
    contexts = {e.context for e in held_out}
    train = [
        e
        for e in examples
        if e.id not in ids
        and not (e.unlabelled and (e.id.rpartition("-")[0] in ids or e.context in contexts))
    ]
    return train, held_out


def split_articles(examples: list[Example]) -> tuple[list[Example], list[Example]]:
    """(to train on, held out): the last articles, about 5 % of the questions.

    Of a file with fewer articles than that takes, or without titles, the last passages. Those with far more
    questions are left to train on; where all have, the smallest is held out.
    """
    few_articles = len({e.title for e in examples}) < 1 / HELD_OUT_SHARE
    parts = [e.context if few_articles else e.title for e in examples]
    sizes = Counter(parts)  # in the order of the file
    last = list(sizes)[:0:-1]  # the first stays to train on
    wanted = HELD_OUT_SHARE * len(examples)
    held = set()
    n = 0
    for part in [p for p in last if sizes[p] <= 2 * wanted] or sorted(last, key=sizes.__getitem__)[:1]:
        if n >= wanted:
            break
        held.add(part)
        n += sizes[part]
    keep = [part not in held for part in parts]
    return list(compress(examples, keep)), [e for e, kept in zip(examples, keep, strict=True) if not kept]


def save_held_out(examples: Sequence[Example], folder: Path) -> None:
    """Write at most 1,000 of the held-out questions, evenly chosen, as a SQuAD file; nothing when there are
    none."""
    if not examples:
        return
    data: list[dict[str, Any]] = []
    for e in (examples[i] for i in evenly(len(examples), HELD_OUT_QUESTIONS)):
        answers = [{"text": a.text, "answer_start": a.start} for a in e.answers]
        question = {"id": e.id, "question": e.question, "answers": answers, "is_impossible": e.is_impossible}
        data.append({"title": e.title, "paragraphs": [{"context": e.context, "qas": [question]}]})
    raw = json.dumps({"version": "held out of training", "data": data}, ensure_ascii=False).encode()
    (folder / HELD_OUT).write_bytes(gzip.compress(raw, mtime=0))


def copy_held_out(source: Path, folder: Path) -> None:
    """Copy the held-out questions of a bundle's folder, if there are any, to that of a bundle made of it."""
    if (source / HELD_OUT).is_file():
        shutil.copy(source / HELD_OUT, folder)


def steady_threshold(examples: Sequence[Example], predictions: Sequence[Prediction]) -> float:
    """The threshold on (null score - best answer's score) that maximizes F1, averaged over N_DRAWS draws of
    the questions.

    F1 against the threshold is a jagged plateau, and its highest point moves far with the questions; the mean
    of the highest points of many draws (bagging, Breiman 1996) moves less. Questions with and without an
    answer count alike: a third of SQuAD 2.0's training questions have none, half of those it is measured on,
    and of a user's questions nobody knows. 0 stands where no answering at all would be best, as in the
    official script: a model that is never to answer is no use.
    """
    answerable = np.array([has_answer(e) for e in examples])
    gains = np.array(
        [gain_of_answering(e, answer_text(e, p, None)) for e, p in zip(examples, predictions, strict=True)]
    )
    differences = np.array([p.null_difference for p in predictions])
    rng = np.random.default_rng(0)
    weights = np.zeros((N_DRAWS, len(examples)))
    for kind in (True, False):
        (those,) = np.nonzero(answerable == kind)
        if n := len(those):
            weights[:, those] = rng.multinomial(n, np.full(n, 1 / n), N_DRAWS) / n
    order = np.argsort(differences, kind="stable")  # from surely answerable to surely not
    totals = (weights * gains)[:, order].cumsum(axis=1)  # (N_DRAWS, Q): answering up to each question
    best = differences[order][totals.argmax(axis=1)]
    return float(np.where(totals.max(axis=1) > 0, best, 0.0).mean())


def tune(
    runtime: Runtime, tokenizer: Tokenizer, settings: QASettings, examples: Sequence[Example]
) -> QASettings:
    """Settings with the `steady_threshold` of `examples`; unchanged when there are none."""
    if not examples:
        return settings
    windows = make_windows(examples, tokenizer, settings)
    predictions = predict(examples, windows, run_windows(runtime, windows), settings)
    return replace(settings, null_threshold=steady_threshold(examples, predictions))


def tune_for_bundle(runtime: Runtime, tokenizer: Tokenizer, settings: QASettings, folder: Path) -> QASettings:
    """`tune` on the held-out questions that lie in a bundle's folder, if any do."""
    path = folder / HELD_OUT
    return tune(runtime, tokenizer, settings, read_squad(path)) if path.is_file() else settings
