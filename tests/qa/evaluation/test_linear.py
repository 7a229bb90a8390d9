"""qa.evaluate takes long passages and many questions: its memory and its work against the characters of their texts."""

import json
import os
import pstats
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from places import ROOT

from qa.data.datasets import resolve
from qa.data.squad import read_squad, write_squad

pytestmark = pytest.mark.system
KB_PER_QUESTION = 10  # the data and the answers; windows and logits take the same few MB at any size


def questions(n, n_passages=1):
    """Return `n` questions, each on its own passage with those that follow it in the file."""
    examples = read_squad(resolve("embedded", "train"))
    contexts = list(dict.fromkeys(e.context for e in examples))
    places = {context: at for at, context in enumerate(contexts)}
    questions = []
    for number in range(n):
        e = examples[number % len(examples)]
        at = places[e.context]
        text = "\n".join((contexts[at:] + contexts[:at])[:n_passages])
        questions.append(replace(e, id=str(number), context=text))
    return questions


def evaluated(model, data, examples):
    """Characters, function calls and peak MB of one `qa.evaluate`: calls, not seconds, since a busy machine adds none."""
    write_squad(data, examples)
    calls = data.with_suffix(".calls")
    words = [sys.executable, "-m", "cProfile", "-o", str(calls), "-m"]
    words += ["qa.evaluate", "--model", str(model), "--data", str(data), "--json"]
    process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    peak_kb = 0
    pid = 0
    while pid == 0:  # its few lines of output fit in the pipe
        # The peak that wait4 tells starts at that of the process that started it.
        peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
        peak_kb = max(peak_kb, int(peak[1]) if peak else 0)
        time.sleep(0.05)
        pid, status = os.waitpid(process.pid, os.WNOHANG)
    with process.stdout as stream:
        result = json.loads(stream.read())
    assert os.waitstatus_to_exitcode(status) == 0
    assert result["total"] == len(examples)
    return sum(len(e.context) for e in examples), pstats.Stats(str(calls)).total_calls, peak_kb * 1024 / 1e6


@pytest.mark.parametrize(
    ("sizes", "more"), [([(100, 1), (400, 1), (1600, 1)], 1200), ([(25, 4), (25, 16), (25, 64)], 0)]
)
def test_work_and_memory_are_linear(tiny_export, tmp_path, sizes, more):
    """The last characters of three sizes, each four times the one before, take at most a fifth more calls each."""
    model = tiny_export("onnx").path
    points = [evaluated(model, tmp_path / "data.json", questions(*size)) for size in sizes]
    characters, calls, peaks = zip(*points, strict=True)
    assert characters[2] > 3 * characters[1] > 9 * characters[0]
    first = (calls[1] - calls[0]) / (characters[1] - characters[0])
    last = (calls[2] - calls[1]) / (characters[2] - characters[1])
    assert last < 1.2 * first, (characters, calls)
    assert peaks[2] - peaks[1] < 40 + KB_PER_QUESTION * more / 1000
