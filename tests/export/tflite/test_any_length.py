"""One graph for all window lengths: it computes what PyTorch and the graphs of one length compute."""

import re
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from comparisons import UNTRAINED_SPANS
from places import ROOT
from quick import quick
from tflite_exports import LENGTHS, MODELS
from tiny_models import one_layer

from export.android.package import read_package
from export.options import TFLiteOptions
from export.parity import real_windows
from export.tflite.convert import convert
from export.tflite.exporter import export
from export.tflite.file import TFLiteFile
from export.tflite.passes.any_length import OneLength, merge_lengths
from qa.formats.package import any_length_signature
from qa.models.heads import HEADS
from qa.runtime.engines import LiteRTRuntime
from qa.runtime.runtimes import TorchRuntime, load_runtime
from qa.text.features import collate

COUNTS = (128, 31, 97, 96, 33, 128, 32)  # tokens, growing and shrinking


@pytest.fixture(scope="module")
def any_length(export_once):
    """A function: (parent, export of any length) of a model of MODELS in a precision."""
    return lambda name, flag: export_once("tflite", flag, **MODELS[name])


def window_of(parent, n):
    """A real window of at least `n` tokens, cut to `n`."""
    window = next(w for w in real_windows(parent) if len(w.input_ids) >= n)
    inputs = collate([window])
    return {name: array[:, :n] for name, array in inputs.items()}


@pytest.mark.parametrize("xnnpack", [True, False])
@pytest.mark.parametrize("name", quick("bert", rest=["pruned", "distilbert"]))
def test_any_length_equals_pytorch(any_length, name, xnnpack):
    parent, bundle = any_length(name, "fp32")
    reference = TorchRuntime(parent.weights, 1)
    runtime = LiteRTRuntime(bundle.weights, 1, xnnpack=xnnpack)
    assert runtime.lengths is None
    for n in COUNTS:
        inputs = window_of(parent, n)
        for expected, actual in zip(reference(inputs), runtime(inputs), strict=True):
            assert actual.shape == (1, n)
            assert np.abs(expected - actual).max() < 1e-4


@pytest.mark.parametrize(("name", "flag"), quick(("bert", "int8"), rest=[("bert", "int4")]))
def test_any_length_equals_a_graph_of_that_length(any_length, exported_tflite, name, flag):
    parent, bundle = any_length(name, flag)
    fixed = load_runtime(exported_tflite(name, flag)[1], 1)
    runtime = load_runtime(bundle, 1)
    for n in LENGTHS:
        inputs = window_of(parent, n)
        for expected, actual in zip(fixed(inputs), runtime(inputs), strict=True):
            np.testing.assert_allclose(actual, expected, atol=2e-6)


def test_padding_is_masked(any_length):
    parent, bundle = any_length("bert", "fp32")
    runtime = load_runtime(bundle, 1)
    inputs = window_of(parent, 40)
    padded = {name: np.pad(array, ((0, 0), (0, 23))) for name, array in inputs.items()}
    for expected, actual in zip(runtime(inputs), runtime(padded), strict=True):
        assert np.abs(expected - actual[:, :40]).max() < 1e-4


def test_the_package_says_that_any_length_is_taken(any_length):
    info = read_package(any_length("bert", "int8")[1].weights).info
    assert info["signatures"] == [{"name": "qa", "length": 128, "any_length": True}]


def test_a_file_of_any_length_is_smaller(any_length, exported_tflite):
    sizes = [made("bert", "int8")[1].weights.stat().st_size for made in (any_length, exported_tflite)]
    assert sizes[0] < sizes[1]


@pytest.mark.parametrize("n_heads", quick(9, rest=[1, 7, 16]))
def test_heads_are_split_without_a_length(n_heads):
    """9 heads are three groups of three, so that query, key and value are split into nine parts."""
    model = one_layer(n_heads, n_positions=64)
    file = TFLiteFile(convert(model, [any_length_signature(64)]))
    assert not [o for o in file.graphs[0].operators if file.graphs[0].name(o) == "SLICE"]
    from ai_edge_litert.interpreter import Interpreter

    runner = Interpreter(model_content=file.to_bytes(), num_threads=1).get_signature_runner("qa")
    for n in (64, 21, 50):
        ids = torch.randint(0, 64, (1, n), dtype=torch.int32)
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": 0 * ids}
        with torch.no_grad():
            expected = model(**inputs)
        actual = runner(**{name: tensor.numpy() for name, tensor in inputs.items()})
        for name, logits in expected.items():
            assert np.abs(logits.numpy() - actual[name]).max() < 1e-4


# At the lengths of the two traces, 70 and 140, the first 66 tokens are there.
CUT = "SLICE takes tokens 0 to 66"
REFUSED = {
    "pointer": "",
    "qermit-maxpool": "",
    **dict.fromkeys(("qermit-cnn", "qermit-cnn-multi", "qermit-cnn-multi-highway", "qermit-concat"), CUT),
}


@pytest.mark.parametrize("head", quick("qermit-cnn", rest=[head for head in HEADS if head != "qermit-cnn"]))
def test_some_heads_are_refused(head):
    model = one_layer(n_heads=2, n_positions=140, head=head)
    refused = pytest.raises(OneLength, match=REFUSED[head]) if head in REFUSED else nullcontext()
    with refused:
        convert(model, [any_length_signature(140)])
    is_fixed = any(getattr(module, "fixed_lengths", False) for module in model.modules())
    assert is_fixed == (head in REFUSED), "--target-mb counts a graph for each length"


def test_the_docs_name_the_heads_that_are_refused():
    """Exports of the encoders and of QANet show that they are."""
    page = (ROOT / "docs" / "export.md").read_text(encoding="utf-8")
    (named,) = re.findall(
        r"MPNet, MobileBERT,\s+QANet and the heads ([^.]*) get a signature for each of four lengths", page
    )
    names = re.findall("`(.*?)`", named.replace("the three `qermit-cnn`", ""))
    names += [head for head in HEADS if head.startswith("qermit-cnn")]
    assert sorted(names) == sorted(REFUSED)


def test_a_constant_of_one_length_is_refused(bare_tflite):
    """The fixed signatures have their positions as constants."""
    with pytest.raises(OneLength, match="ADD has a constant of"):
        merge_lengths(TFLiteFile(bare_tflite), "qa")


def test_where_one_graph_cannot_take_all_lengths_signatures_are_exported(
    make_bundle, converted_once, tmp_path, monkeypatch, capsys
):
    def refuse(model, signatures):
        if signatures[0].any_length:
            raise OneLength("PAD has a constant of (4, 2) for one length only")
        return converted_once(model, signatures)

    monkeypatch.setattr("export.tflite.convert.convert", refuse)
    options = {"quantize": "int8", "min_equal_spans": UNTRAINED_SPANS["int8"]}
    bundle = export(TFLiteOptions(make_bundle("albert", "linear"), tmp_path / "out", **options))
    assert "one graph cannot take all lengths (PAD has" in capsys.readouterr().err
    assert read_package(bundle.weights).info["signatures"] == [{"name": "qa128", "length": 128}]
    assert load_runtime(bundle, 1).lengths == (128,)
