"""Exported bundles opened by optimum and by transformers.js: the same logits as with our own runtime, and
their own tokens."""

import subprocess
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from open_elsewhere import COMMANDS, open_elsewhere
from places import ROOT

from export.parity import real_windows
from qa.data.datasets import resolve
from qa.data.squad import read_squad
from qa.runtime.probe import relative_difference
from qa.runtime.runtimes import load_runtime
from qa.text.features import collate, make_windows

pytestmark = pytest.mark.system

# (encoder, head, pruned, --quantize); `pointer` reads token types, which these two encoders ignore.
MODELS = {
    "bert-pruned-fp32": ("bert", "4l-gelu-skip", True, "fp32"),
    "bert-pruned-int8": ("bert", "4l-gelu-skip", True, "int8"),
    "distilbert": ("distilbert", "pointer", False, "fp32"),
    "roberta": ("roberta", "pointer", False, "fp32"),
    "electra": ("electra", "linear", False, "fp32"),
    "mobilebert": ("mobilebert", "linear", False, "fp32"),
}
# Another build of ONNX Runtime rounds otherwise in the last digit, and int8 may then fall on the next of its
# steps.
TOLERANCE = {"fp32": 1e-5, "int8": 0.02}


def task(bundle):
    """20 real windows, and a question whose passage, the beginning of a real one, is one window."""
    first = read_squad(resolve("embedded", "dev"))[0]
    example = replace(first, context=first.context[:120], answers=())
    (asked,) = make_windows([example], bundle.tokenizer, bundle.settings)
    return SimpleNamespace(bundle=bundle, windows=real_windows(bundle, 20), asked=asked, example=example)


def as_json(task):
    inputs = [collate([w]) for w in task.windows]
    names = ("input_ids", "token_type_ids")
    return {
        "bundle": str(task.bundle.path),
        "windows": [{name: arrays[name][0].tolist() for name in names} for arrays in inputs],
        "question": task.example.question,
        "passage": task.example.context,
    }


@pytest.fixture(scope="module")
def tasks(export_once):
    return {
        name: task(export_once("onnx", quantize, encoder=encoder, head=head, pruned=pruned)[1])
        for name, (encoder, head, pruned, quantize) in MODELS.items()
    }


@pytest.fixture(scope="module")
def opened(tasks):
    """By tool and model, what the tool computed."""
    found = {tool: open_elsewhere(tool, [as_json(t) for t in tasks.values()]) for tool in COMMANDS}
    return {
        (tool, name): result for tool in COMMANDS for name, result in zip(tasks, found[tool], strict=True)
    }


def differences(task, windows, logits):
    runtime = load_runtime(task.bundle, 1)
    for window, theirs in zip(windows, logits, strict=True):
        ours = runtime(collate([window]))
        yield from (relative_difference(a[0], np.array(b)) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("tool", COMMANDS)
def test_real_windows_get_the_same_logits(tasks, opened, tool, name):
    worst = max(differences(tasks[name], tasks[name].windows, opened[tool, name]["windows"]))
    print(f"{tool}, {name}: logits of 20 windows differ by {worst:.2g} of their deviation at most")
    assert worst <= TOLERANCE[tasks[name].bundle.precision]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("tool", COMMANDS)
def test_their_own_tokenizer_makes_our_window(tasks, opened, tool, name):
    task = tasks[name]
    found = opened[tool, name]
    ours = collate([task.asked])
    assert found["input_ids"] == ours["input_ids"][0].tolist()
    assert found["token_type_ids"] == ours["token_type_ids"][0].tolist()
    assert max(differences(task, [task.asked], [found["logits"]])) <= TOLERANCE[task.bundle.precision]


# Its tokenizer of byte pairs gives token types only when asked, and its pipeline does not ask; `pointer`
# reads them.
@pytest.mark.parametrize("name", [name for name in MODELS if name != "roberta"])
def test_the_pipeline_of_transformers_js_answers_with_the_best_span(tasks, opened, name):
    """By its own rule: the largest product of probabilities, of any length."""
    task = tasks[name]
    start, end = (
        logits[0].astype(np.float64) for logits in load_runtime(task.bundle, 1)(collate([task.asked]))
    )
    passage = slice(task.asked.context_begin, len(task.asked.input_ids) - 1)
    scores = np.triu(start[passage, None] + end[None, passage])
    scores[np.tril_indices(len(scores), -1)] = -np.inf
    first, last = np.unravel_index(scores.argmax(), scores.shape)
    ids = task.asked.input_ids[passage][first : last + 1].tolist()
    wanted = task.bundle.tokenizer.decode(ids)
    assert opened["transformers.js", name]["answer"].replace(" ", "") == wanted.replace(" ", "")


def test_our_models_are_built_with_the_transformers_of_optimum():
    """The toolchain's adapter, in whose environment transformers is older than ours, opens bundles."""
    python = COMMANDS["optimum"][0]
    code = "from pathlib import Path; from qa.models.model import QAModel; QAModel.from_pretrained(Path('models/student'))"
    done = subprocess.run([python, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
