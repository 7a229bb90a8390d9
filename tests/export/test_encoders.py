"""Encoders through the real exporters, in fp32 and int8: ALBERT's layer is stored once, and a TFLite file of
a tokenizer that a phone does not know has no package."""

import re
import zipfile

import onnx
import pytest
from comparisons import largest_difference
from quick import quick
from tflite_exports import ROW_SCALES

from export.android.check import AndroidOptions, check_or_push
from export.options import TFLiteOptions
from export.parity import real_windows
from export.tflite.exporter import TFLiteExporter
from export.tflite.file import TFLiteFile
from export.tflite.structure import read_structure
from export.tune import TuneOptions, tune
from qa import load
from qa.base.errors import BundleError
from qa.data.datasets import EVERYDAY_HELD_OUT
from qa.data.sample import SampleOptions, write_sample
from qa.reader import Reader
from qa.runtime.runtimes import TorchRuntime, load_runtime

LENGTH = 128


@pytest.fixture(scope="module")
def exported(export_once):
    """A function: (parent, export) of an encoder. The exporters check parity on 40 real windows themselves."""
    return lambda encoder, *how: export_once(*how, encoder=encoder, head="linear")


def difference(parent, bundle, length=None):
    """The largest of two windows' logits from PyTorch's."""
    windows = real_windows(parent)
    runtimes = TorchRuntime(parent.weights, 1), load_runtime(bundle, 1)
    return max(largest_difference(*runtimes, [window], length) for window in (windows[0], windows[20]))


@pytest.mark.parametrize("encoder", ["albert", "bert-1-type", "roberta", "mobilebert", "mpnet"])
def test_onnx_fp32_equals_pytorch(exported, encoder):
    parent, bundle = exported(encoder, "onnx", "fp32")
    assert max(difference(parent, bundle), difference(parent, bundle, 140)) < 1e-4


@pytest.mark.parametrize("encoder", quick("albert", "mpnet", rest=["mobilebert", "roberta"]))
@pytest.mark.parametrize("flag", quick("int8", rest=["int8-weights"]))
def test_onnx_int8(exported, encoder, flag):
    parent, bundle = exported(encoder, "onnx", flag)
    assert difference(parent, bundle) < 1.0  # of logits with a deviation of 1


@pytest.mark.parametrize("encoder", quick("albert", rest=["bert-1-type", "mobilebert", "mpnet", "roberta"]))
def test_tflite_fp32_equals_pytorch(exported, encoder):
    parent, bundle = exported(encoder, "tflite", "fp32")
    assert difference(parent, bundle, LENGTH) < 1e-4


@pytest.mark.parametrize("encoder", quick("albert", rest=["bert-1-type", "mobilebert", "mpnet", "roberta"]))
def test_tflite_int8(exported, encoder):
    parent, bundle = exported(encoder, "tflite", "int8", (LENGTH,))
    assert difference(parent, bundle, LENGTH) < 1.0
    types = read_structure(TFLiteFile(bundle.weights.read_bytes())).weight_types
    assert {key[1:] for key in types if key != ROW_SCALES} == {("INT8", False)}


@pytest.mark.parametrize(("flag", "stored"), [("fp32", "FLOAT"), ("int8", "INT8"), ("int8-weights", "INT8")])
def test_onnx_stores_alberts_layer_once(exported, flag, stored):
    graph = onnx.load(exported("albert", "onnx", flag)[1].weights).graph
    shapes = [
        tuple(t.dims)
        for t in graph.initializer
        if t.data_type == getattr(onnx.TensorProto, stored) and len(t.dims) == 2
    ]
    assert [shapes.count(shape) for shape in ((64, 64), (64, 128), (128, 64))] == [4, 1, 1]


@pytest.mark.parametrize(
    ("how", "stored", "each"), [(("fp32",), "FLOAT32", 4), (("int8", (LENGTH,)), "INT8", 1)]
)
def test_tflite_stores_alberts_layer_once(exported, how, stored, each):
    parent, bundle = exported("albert", "tflite", *how)
    # The converter folds the LayerNorm before query, key and value into them, and the first step has none.
    n_stored = parent.manifest.parameters.total + 3 * 64 * 64
    seen = read_structure(TFLiteFile(bundle.weights.read_bytes())).constant_bytes[stored]
    assert 0.99 * each * n_stored < seen < 1.01 * each * n_stored


@pytest.mark.system
def test_without_a_package_python_answers_and_the_app_refuses(exported, tmp_path):
    """RoBERTa, which has no vocab.txt: its file and a retuned copy answer as PyTorch does."""
    parent, bundle = exported("roberta", "tflite", "fp32")
    assert not zipfile.is_zipfile(bundle.weights)
    asked = "Where are the keys?", "The keys are under the blue pot. The cat sleeps on the roof."
    expected = Reader(parent).answer(*asked)
    write_sample(SampleOptions(tmp_path / "everyday.json", 108, str(EVERYDAY_HELD_OUT)))
    tuned = tune(TuneOptions(bundle.path, tmp_path / "tuned", (tmp_path / "everyday.json",)))
    for path in (bundle.weights, tuned.path):
        answer = load(path, mode="answering").answer(*asked)
        assert (answer.start, answer.end) == (expected.start, expected.end)
    with pytest.raises(BundleError, match=r"model\.tflite: has no package.*WordPiece"):
        check_or_push(AndroidOptions(bundle.path))


def test_the_export_says_why_a_file_has_no_package(make_bundle, tmp_path, capsys):
    path = make_bundle(encoder="mpnet")
    exporter = TFLiteExporter(TFLiteOptions(model=path, out=tmp_path / "out"))
    exporter.check(load_runtime(exporter.parent).model)
    assert exporter.packaged is None
    assert re.search(rf"{path}: .*\[CLS\] and \[SEP\].*<s> and </s>.*no package", capsys.readouterr().err)
