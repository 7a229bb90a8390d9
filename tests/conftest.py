"""Fixtures that several test files share: tiny random models with a real tokenizer, as bundles."""

import os
from dataclasses import replace
from functools import cache
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # before its client is imported: no test asks the network

import numpy as np
import pytest
from accelerate.state import AcceleratorState
from comparisons import write_examples
from tflite_exports import bare_tflite, converted_once, export_once, exported_tflite, tiny_export  # noqa: F401, fixtures
from tiny_models import WRITE_TOKENIZER, tiny_model

from distill.student import standalone_student
from qa.bundles.bundle import SETTINGS, new_bundle, open_bundle
from qa.bundles.manifest import StageRecord
from qa.data.datasets import resolve
from qa.data.squad import read_squad
from qa.models.model import QAModel
from qa.models.pretrained import copy_tokenizer, embedded_folder
from qa.text.features import make_windows
from qa.text.settings import QASettings
from qa.text.tokenization import load_tokenizer


def save_bundle(model, path, write_tokenizer=None):
    """Save a model for windows of at most 128 tokens, with MiniLM's tokenizer or the one written."""
    parameters = model.count_parameters()
    record = StageRecord(format="pytorch", precision="fp32", stage="distill", parameters=parameters)
    with new_bundle(path, record) as draft:
        model.save_pretrained(draft.path)
        settings = QASettings(max_length=128, doc_stride=48, max_question_length=32)
        settings.save(draft.path / SETTINGS)
        if write_tokenizer is not None:
            write_tokenizer(draft.path)
        tokenizer = draft.path if write_tokenizer else embedded_folder()
        copy_tokenizer(tokenizer, draft.path, settings.max_length, model.encoder.architecture.inputs)
    return draft.bundle


@pytest.fixture(scope="session")
def make_bundle(tmp_path_factory):
    """A function that makes (once) the bundle of a tiny random model, and returns its path."""

    @cache
    def make(encoder, head, pruned, seed):
        name = "-".join(["tiny", encoder, head, *(["pruned"] if pruned else []), str(seed)])
        path = tmp_path_factory.mktemp("bundles") / name
        return save_bundle(tiny_model(encoder, head, pruned, seed), path, WRITE_TOKENIZER.get(encoder)).path

    return lambda encoder="bert", head="4l-gelu-skip", pruned=False, seed=0: make(encoder, head, pruned, seed)


WHOLE_SIZES = {"qanet": {"width": 32, "n_heads": 4, "n_blocks": 1}, "bidaf": {"width": 24}}


@pytest.fixture(scope="session")
def make_whole(make_bundle):
    """A function that makes a fresh small whole model, by name, with the words of a tiny BERT."""
    teacher = QAModel.from_pretrained(make_bundle())
    tokenizer = load_tokenizer(embedded_folder())
    return lambda name: standalone_student(name, teacher, tokenizer, 0, **WHOLE_SIZES[name]).eval()


@pytest.fixture(scope="session")
def make_whole_bundle(make_whole, tmp_path_factory):
    """A function that makes (once) the bundle of a small whole model: windows of at most 128 tokens."""
    return cache(lambda name: save_bundle(make_whole(name), tmp_path_factory.mktemp("whole") / name))


@pytest.fixture(scope="session")
def windows(make_bundle):
    """The first 16 windows of the shipped training questions, as the tiny BERT cuts them."""
    bundle = open_bundle(make_bundle())
    return make_windows(read_squad(resolve("embedded", "train"))[:16], bundle.tokenizer, bundle.settings)[:16]


@pytest.fixture
def few(small_squad):
    """Options of a short training."""
    return {"data": str(small_squad), "epochs": 0.1, "batch_size": 4, "precision": "fp32"}


@pytest.fixture
def fresh_accelerate():
    """Accelerate keeps its precision for the life of a process; a command has one, tests have several."""
    yield
    AcceleratorState._reset_state(reset_partial_state=True)


@pytest.fixture(scope="session")
def small_squad(tmp_path_factory):
    """24 real questions of the shipped excerpt as a file."""
    path = tmp_path_factory.mktemp("data") / "small.json"
    return write_examples(path, read_squad(resolve("embedded", "train"))[:24])


@pytest.fixture(scope="session")
def small_squad_v2(tmp_path_factory):
    """40 real questions of several articles, every third moved to a passage of another article, so without an
    answer."""
    examples = read_squad(resolve("embedded", "train"))
    by_title = {e.title: e for e in examples}
    chosen = [e for title in list(by_title)[:8] for e in [x for x in examples if x.title == title][:5]]
    moved = [
        replace(e, title=other.title, context=other.context, answers=(), is_impossible=True)
        if i % 3 == 0
        else e
        for i, (e, other) in enumerate(zip(chosen, chosen[5:] + chosen[:5], strict=True))
    ]
    return write_examples(tmp_path_factory.mktemp("data") / "small2.json", moved)


@pytest.fixture(scope="session")
def bare_site(tmp_path_factory):
    """A folder with numpy, LiteRT and ONNX Runtime and nothing else: PYTHONPATH of a Python started with -S."""
    site = tmp_path_factory.mktemp("site")
    installed = Path(np.__file__).parents[1]
    for name in ("numpy", "ai_edge_litert", "onnxruntime"):
        for path in (*installed.glob(name), *installed.glob(f"{name}[.-]*")):
            (site / path.name).symlink_to(path)
    return site


@pytest.fixture
def make_export(make_bundle, tmp_path):
    """A function: a TFLite bundle of that name with a weights file of that many bytes."""

    def make(name, n_bytes):
        parent = open_bundle(make_bundle())
        parameters = parent.manifest.parameters
        record = StageRecord(format="tflite", precision="int8", stage="export", parameters=parameters)
        with new_bundle(tmp_path / "run" / name, record) as draft:
            (draft.path / "qa.json").write_bytes((parent.path / "qa.json").read_bytes())
            (draft.path / "model.tflite").write_bytes(bytes(n_bytes))
        return tmp_path / "run" / name

    return make
