"""Encoders through the real exporters, in fp32 and int8: ALBERT's layer is stored once, and a TFLite file of
a tokenizer that a phone does not know has no package."""

import re
import zipfile

import onnx
import pytest
from quick import quick
from tflite_exports import ROW_SCALES

from export.android.check import AndroidOptions, check_or_push
from export.options import TFLiteOptions
from export.tflite.exporter import TFLiteExporter
from export.tflite.file import TFLiteFile
from export.tflite.structure import read_structure
from export.tune import TuneOptions, tune
from qa import load
from qa.base.errors import BundleError
from qa.data.datasets import EVERYDAY_HELD_OUT
from qa.data.sample import SampleOptions, write_sample
from qa.reader import Reader
from qa.runtime.runtimes import load_runtime

LENGTH = 128


@pytest.fixture(scope="module")
def exported(export_once):
    """A function: (parent, export) of an encoder. The exporters check parity on 40 real windows themselves."""

    def export(name, *how):
        encoder = name.removesuffix("-pruned")
        return export_once(*how, encoder=encoder, head="linear", pruned=encoder != name)

    return export


@pytest.mark.parametrize(
    ("encoder", "form", "precision"),
    [
        *((name, "onnx", "fp32") for name in ("albert", "bert-1-type", "roberta", "mobilebert", "mpnet")),
        *quick(
            *(("albert", "onnx", "int8"), ("mpnet", "onnx", "int8"), ("albert", "tflite", "fp32")),
            rest=[
                ("mpnet", "onnx", "fp16"),
                *((name, "onnx", "int8") for name in ("mobilebert", "roberta")),
                *((name, "onnx", "int8-weights") for name in ("albert", "mpnet", "mobilebert", "roberta")),
                *(
                    (name, "tflite", "fp32")
                    for name in ("bert-1-type", "mobilebert", "mpnet-pruned", "roberta")
                ),
            ],
        ),
    ],
)
def test_every_encoder_is_exported(exported, encoder, form, precision):
    bundle = exported(encoder, form, precision)[1]
    if form == "tflite":
        takes_any_length = load_runtime(bundle, 1).lengths is None
        assert takes_any_length == (encoder not in ("mobilebert", "mpnet-pruned"))


@pytest.mark.parametrize("encoder", quick("albert", rest=["bert-1-type", "mobilebert", "mpnet", "roberta"]))
def test_tflite_int8_stores_every_matrix_as_int8(exported, encoder):
    bundle = exported(encoder, "tflite", "int8", (LENGTH,))[1]
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
