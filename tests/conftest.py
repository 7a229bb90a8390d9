"""Fixtures that several test files share: small data, and tiny random models with a real tokenizer as bundles.

What needs torch is imported where it is used, so that a test of text starts at once.
"""

import os
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

os.environ.pop("XDG_CACHE_HOME", None)  # tests that need a cache of their own set HOME
os.environ["HF_HUB_OFFLINE"] = "1"  # before its client is imported: no test asks the network
# Before torch is imported: threads of tiny models only wait for each other, eight times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from places import shared_folder

from qa.data.datasets import resolve
from qa.data.squad import read_squad


@pytest.fixture(scope="session")
def make_bundle(tmp_path_factory):
    """A function that makes (once) the bundle of a tiny random model, and returns its path."""
    from made_once import bundle_maker

    return bundle_maker(shared_folder(tmp_path_factory) / "bundles")


@pytest.fixture(scope="session")
def make_whole(make_bundle):
    """A function that makes a fresh small whole model, by name, with the words of a tiny BERT."""
    from made_once import whole_maker

    return whole_maker(make_bundle())


@pytest.fixture(scope="session")
def make_whole_bundle(make_whole, tmp_path_factory):
    """A function that makes (once) the bundle of a small whole model: windows of at most 128 tokens."""
    from made_once import save_bundle

    return cache(lambda name: save_bundle(make_whole(name), tmp_path_factory.mktemp("whole") / name))


@pytest.fixture(autouse=True, scope="session")
def converted_once(tmp_path_factory):
    """The converter to TFLite, which converts each model once in a run; None where no test imports torch.

    Two more slow functions compute only once (made_once.work_kept).
    """
    if "torch" not in sys.modules:
        yield None
        return
    from made_once import work_kept

    with work_kept(shared_folder(tmp_path_factory) / "converted") as convert_once:
        yield convert_once


@pytest.fixture(scope="session")
def export_once(make_bundle, tmp_path_factory):
    """A function that exports a tiny model, by the arguments of make_bundle, once: (parent, export)."""
    from made_once import export_maker

    return export_maker(make_bundle, shared_folder(tmp_path_factory) / "exports")


@pytest.fixture(scope="session")
def exported_tflite(export_once):
    """A function: (parent, export) of a model of MODELS in a precision, with signatures of LENGTHS."""
    from tflite_exports import LENGTHS, MODELS

    return lambda name, flag="fp32": export_once("tflite", flag, LENGTHS, **MODELS[name])


@pytest.fixture(scope="session")
def tiny_export(export_once):
    """A function: the fp32 export (tflite with lengths 96 and 128, any-length, or onnx) of the tiny BERT."""
    from tflite_exports import LENGTHS

    arguments = {"tflite": ("tflite", "fp32", LENGTHS), "any-length": ("tflite",), "onnx": ("onnx",)}
    return lambda kind: export_once(*arguments[kind])[1]


@pytest.fixture(scope="session")
def bare_tflite(make_bundle, converted_once):
    """The tiny BERT's fp32 .tflite as the converter wrote it."""
    from tflite_exports import LENGTHS

    from qa.formats.package import fixed_signatures
    from qa.models.model import QAModel

    return converted_once(QAModel.from_pretrained(make_bundle()), fixed_signatures(LENGTHS))


@pytest.fixture(scope="session")
def windows(make_bundle):
    """The first 16 windows of the shipped training questions, as the tiny BERT cuts them."""
    from qa.bundles.bundle import open_bundle
    from qa.text.features import make_windows

    bundle = open_bundle(make_bundle())
    return make_windows(read_squad(resolve("embedded", "train"))[:16], bundle.tokenizer, bundle.settings)[:16]


@pytest.fixture(scope="session")
def coded(make_bundle, small_squad, tmp_path_factory):
    """The tiny BERT with an embedding table in pq4."""
    from made_once import shared_bundle

    from compress.embeddings import EmbeddingsOptions, quantize_embeddings
    from qa.bundles.bundle import open_bundle

    def make(path):
        quantize_embeddings(EmbeddingsOptions(make_bundle(), path, "pq4", data=str(small_squad)))

    return open_bundle(shared_bundle(shared_folder(tmp_path_factory) / "coded", "coded", make))


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory):
    """The folder of a small BERT encoder with MiniLM's tokenizer."""
    from tiny_models import write_encoder

    path = tmp_path_factory.mktemp("encoder") / "tiny-encoder"
    write_encoder(path)
    return path


@pytest.fixture
def few(small_squad):
    """Options of a short training."""
    return {"data": str(small_squad), "epochs": 0.1, "batch_size": 4, "precision": "fp32"}


@pytest.fixture
def fresh_accelerate():
    """Accelerate keeps its precision for the life of a process; a command has one, tests have several."""
    yield
    from accelerate.state import AcceleratorState

    AcceleratorState._reset_state(reset_partial_state=True)


@pytest.fixture(scope="session")
def small_squad(tmp_path_factory):
    """24 real questions of the shipped excerpt as a file."""
    from comparisons import write_examples

    path = tmp_path_factory.mktemp("data") / "small.json"
    return write_examples(path, read_squad(resolve("embedded", "train"))[:24])


@pytest.fixture(scope="session")
def small_squad_v2(tmp_path_factory):
    """40 real questions of several articles, every third moved to a passage of another article, so without an
    answer."""
    from comparisons import write_examples

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
    import numpy as np

    site = tmp_path_factory.mktemp("site")
    installed = Path(np.__file__).parents[1]
    for name in ("numpy", "ai_edge_litert", "onnxruntime"):
        for path in (*installed.glob(name), *installed.glob(f"{name}[.-]*")):
            (site / path.name).symlink_to(path)
    return site


@pytest.fixture
def make_export(make_bundle, tmp_path):
    """A function: a TFLite bundle of that name with a weights file of that many bytes."""
    from sealed import seal

    from qa.bundles.bundle import open_bundle

    def make(name, n_bytes):
        settings = open_bundle(make_bundle()).settings
        kept = {"kind": "tflite", "precision": "int8", "stage": "export"}
        return seal(tmp_path / "run" / name, settings, bytes(n_bytes), **kept).path

    return make
