"""Uses of a bundle in a process of its own, which a damaged file may end."""

import msgspec
import numpy as np

import qa
from qa.bundles.bundle import PROBE
from qa.data.squad import read_squad
from qa.runtime.probe import read_probe
from qa.runtime.runtimes import run_length
from qa.text.features import collate


def turned(window):
    """A window that the probe has not seen, of words that it has: the context from its end to its beginning.

    A probe says nothing about words it has not seen: their rows of the embedding table enter none of its windows.
    """
    begin = window.context_begin
    ids = window.input_ids
    return msgspec.structs.replace(window, input_ids=[*ids[:begin], *ids[begin:-1][::-1], *ids[-1:]])


def save_logits(path, file):
    """Save the logits of a bundle's turned probe windows."""
    runtime = qa.load(path, threads=1).runtime
    logits = []
    for window in map(turned, read_probe((path / PROBE).read_bytes(), str(path)).windows):
        n = len(window.input_ids)
        start, end = runtime(collate([window], run_length(runtime, n)))
        logits += [start[0, :n], end[0, :n]]
    np.save(file, np.concatenate(logits))


def answer(path, questions, isolated):
    """Answer some questions."""
    examples = read_squad(questions)[:3]
    qa.load(path, threads=1, isolated=isolated).answer_all([(e.question, e.context) for e in examples])
