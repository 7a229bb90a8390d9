"""The no-answer threshold: searched on training articles held out for it, again for every artefact.

A model trained on answerable questions only has no threshold and always answers. The held-out questions travel in the bundle,
so that an export can search again with its own logits.
"""

import gzip
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from qa.answers import Prediction
from qa.evaluate import predict, score
from qa.features import make_windows
from qa.runtimes import Runtime, run_windows
from qa.settings import QASettings
from qa.squad import Example, read_squad

HELD_OUT = "held_out.json.gz"
HELD_OUT_SHARE = 0.05
HELD_OUT_QUESTIONS = 500


def hold_out(examples: list[Example]) -> tuple[list[Example], list[Example]]:
    """(to train on, held out): the last articles, up to 5 % of the questions; none where every question is answerable."""
    if not any(e.is_impossible for e in examples):
        return examples, []
    titles = list(dict.fromkeys(e.title for e in examples))
    wanted, held_titles, n = HELD_OUT_SHARE * len(examples), set(), 0
    for title in reversed(titles[1:]):  # one article at least stays to train on
        if n >= wanted:
            break
        held_titles.add(title)
        n += sum(e.title == title for e in examples)
    return [e for e in examples if e.title not in held_titles], [e for e in examples if e.title in held_titles]


def save_held_out(examples: Sequence[Example], folder: Path) -> None:
    """Write at most 500 of the held-out questions, evenly chosen, as a SQuAD file; nothing when there are none."""
    if not examples:
        return
    step = max(1, len(examples) // HELD_OUT_QUESTIONS)
    data: list[dict[str, Any]] = []
    for e in examples[::step][:HELD_OUT_QUESTIONS]:
        answers = [{"text": a.text, "answer_start": a.start} for a in e.answers]
        question = {"id": e.id, "question": e.question, "answers": answers, "is_impossible": e.is_impossible}
        data.append({"title": e.title, "paragraphs": [{"context": e.context, "qas": [question]}]})
    raw = json.dumps({"version": "held out of training", "data": data}, ensure_ascii=False).encode()
    (folder / HELD_OUT).write_bytes(gzip.compress(raw, mtime=0))


def tune(runtime: Runtime, tokenizer: Tokenizer, settings: QASettings, examples: Sequence[Example]) -> QASettings:
    """Settings with the threshold that maximizes F1 on `examples`; unchanged when there are none."""
    if not examples:
        return settings
    windows = make_windows(examples, tokenizer, settings)
    predictions: list[Prediction] = predict(examples, windows, run_windows(runtime, windows), settings)
    return replace(settings, null_threshold=score(examples, predictions, None)["best_f1_thresh"])


def tune_for_bundle(runtime: Runtime, tokenizer: Tokenizer, settings: QASettings, folder: Path) -> QASettings:
    """`tune` on the held-out questions that lie in a bundle's folder, if any do."""
    path = folder / HELD_OUT
    return tune(runtime, tokenizer, settings, read_squad(path)) if path.is_file() else settings
