"""ONNX export of tiny random models: parity, precision, structure, and what happens when something is
wrong.
"""

import hashlib
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from comparisons import UNTRAINED_SPANS, largest_difference
from onnx import TensorProto, numpy_helper
from tflite_exports import MODELS

from export.onnx.exporter import export
from export.onnx.quantize import large_constants
from export.onnx.trace import clean, trace
from export.options import OnnxOptions
from export.parity import check_parity, real_windows
from qa.base.errors import BundleError, OptionError, ParityError, UnsupportedExport
from qa.formats.precision import PRECISIONS
from qa.models.model import QAModel
from qa.runtime.engines import OnnxRuntime
from qa.runtime.runtimes import TorchRuntime, load_runtime

FLAGS = ["fp32", "fp16", "int8", "int8-weights"]
# The tiny models have 4 projections and 2 feed-forward matrices in each of 2 layers; all but the last of the
# 4 in the head 4l-gelu-skip are large enough to quantize, the one of the linear head is not. DistilBERT has
# no token types.
N_LINEARS = {"bert": 15, "distilbert": 12, "pruned": 15}


@pytest.fixture(scope="module")
def exported(export_once):
    """A function: (parent, export) of a model of MODELS in a precision."""
    return lambda name, flag="fp32": export_once("onnx", flag, **MODELS[name])


def graph_of(bundle):
    return onnx.load(bundle.weights)


def operators(graph):
    return Counter(node.op_type for node in graph.graph.node)


def folder_hash(path):
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in path.iterdir()}


# What is computed; that a file computes what PyTorch does, padded or not, is checked by every export


@pytest.mark.parametrize(
    ("name", "flag"),
    [*(("bert", flag) for flag in FLAGS), ("distilbert", "int8"), ("pruned", "int8"), ("pruned", "fp32")],
)
def test_a_batch_of_three_works_and_stays_near_pytorch(exported, name, flag):
    parent, bundle = exported(name, flag)
    windows = real_windows(parent)
    batch = [windows[0], windows[20], windows[-1]]
    # Of logits with a deviation of 1.
    largest = {"fp32": 1e-4, "fp16": 0.05, "int8": 1.0, "int8-weights": 0.3}[flag]
    assert largest_difference(TorchRuntime(parent.weights, 1), load_runtime(bundle, 1), batch) < largest


def test_an_encoder_without_token_types_takes_and_ignores_them(exported):
    runtime = load_runtime(exported("distilbert")[1], 1)
    ids = np.arange(2000, 2050)[None]
    first, second = (
        runtime({"input_ids": ids, "attention_mask": ids * 0 + 1, "token_type_ids": ids * 0 + t})
        for t in (0, 1)
    )
    assert all((a == b).all() for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("flag", FLAGS)
def test_one_file_takes_any_batch_and_length_by_name(exported, flag):
    bundle = exported("bert", flag)[1]
    session = onnxruntime.InferenceSession(bundle.weights)
    assert [(i.name, i.type, i.shape) for i in session.get_inputs()] == [
        (name, "tensor(int64)", ["batch", "tokens"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    assert [(o.name, o.type, o.shape) for o in session.get_outputs()] == [
        (name, "tensor(float)", ["batch", "tokens"]) for name in ("start_logits", "end_logits")
    ]


# What is stored


@pytest.mark.parametrize("name", MODELS)
def test_int8_is_int8(exported, name):
    graph = graph_of(exported(name, "int8")[1])
    types = {t.name: t.data_type for t in graph.graph.initializer}
    counts = operators(graph)
    assert counts["MatMulInteger"] == N_LINEARS[name]
    assert counts["DequantizeLinear"] == 0
    # Of two layers: query, key and value share theirs.
    assert counts["DynamicQuantizeLinear"] == N_LINEARS[name] - 4
    assert [
        n for n in graph.graph.node if n.op_type == "MatMul" and types.get(n.input[1]) == TensorProto.FLOAT
    ] == [n for n in graph.graph.node if n.op_type == "MatMul" and n.input[1] in types]
    assert [list(t.dims) for t in graph.graph.initializer if t.name in float_matrices(graph)] in (
        [[384, 2]],
        [[64, 2]],
    )
    words = next(
        n
        for n in graph.graph.node
        if n.op_type == "Gather" and n.input[1] == "input_ids" and "table" in n.input[0]
    )
    assert types[words.input[0]] == TensorProto.INT8
    fp32_bytes, int8_bytes = (exported(name, flag)[1].weights.stat().st_size for flag in ("fp32", "int8"))
    assert int8_bytes < 0.3 * fp32_bytes


def float_matrices(graph):
    """Names of the float constants that are multiplied."""
    constants = {t.name for t in graph.graph.initializer if t.data_type == TensorProto.FLOAT}
    return {name for n in graph.graph.node if n.op_type == "MatMul" for name in n.input if name in constants}


def test_int8_weights_are_restored_by_column_and_gathered_by_row(exported):
    graph = graph_of(exported("bert", "int8-weights")[1])
    counts = operators(graph)
    constants = {t.name: t for t in graph.graph.initializer}
    assert counts["DequantizeLinear"] == N_LINEARS["bert"]
    assert counts["MatMulInteger"] == counts["DynamicQuantizeLinear"] == 0
    for node in graph.graph.node:
        if node.op_type == "DequantizeLinear":
            matrix, scale = (constants[name] for name in node.input)
            assert (matrix.data_type, list(scale.dims)) == (TensorProto.INT8, [matrix.dims[1]])
    tables = {t.name for t in constants.values() if t.data_type == TensorProto.INT8} - {
        n.input[0] for n in graph.graph.node if n.op_type == "DequantizeLinear"
    }
    assert {n.op_type for n in graph.graph.node if set(n.input) & tables} == {"Gather"}, (
        "no whole table becomes float"
    )


def test_fp16_is_half(exported):
    sizes = [exported("bert", flag)[1].weights.stat().st_size for flag in ("fp32", "fp16")]
    assert sizes[1] < 0.55 * sizes[0]
    assert not {t.data_type for t in graph_of(exported("bert", "fp16")[1]).graph.initializer} & {
        TensorProto.FLOAT
    }


@pytest.mark.parametrize(("flag", "stored"), [("fp32", TensorProto.FLOAT), ("int8", TensorProto.INT8)])
def test_a_pruned_graph_has_the_smaller_shapes(exported, flag, stored):
    graph = graph_of(exported("pruned", flag)[1])
    shapes = Counter(tuple(t.dims) for t in large_constants(graph).values() if t.data_type == stored)
    # Heads of 16: 3 are left in the first layer and 1 in the second; 100 and 61 neurons.
    wanted = {
        (64, 48): 3,
        (48, 64): 1,
        (64, 16): 3,
        (16, 64): 1,
        (64, 100): 1,
        (100, 64): 1,
        (64, 61): 1,
        (61, 64): 1,
    }
    assert {shape: n for shape, n in shapes.items() if shape in wanted} == wanted
    assert not shapes.keys() & {(64, 64), (64, 128), (128, 64)}


@pytest.mark.parametrize("flag", FLAGS)
def test_the_file_is_plain_onnx_and_tells_nothing_of_this_machine(exported, flag):
    bundle = exported("bert", flag)[1]
    graph = graph_of(bundle)
    assert [(o.domain, o.version) for o in graph.opset_import] == [("", 20)]
    assert {n.domain for n in graph.graph.node} <= {"", "ai.onnx"}
    assert {p.key: p.value for p in graph.metadata_props} == {"pocketqa.precision": bundle.precision}
    assert not re.search(
        rb"/(home|root|work|tmp|usr)/|\.py", bundle.weights.read_bytes().replace(b"tmp_", b"")
    )
    assert sorted(p.name for p in bundle.path.iterdir()) == [
        "README.md",
        "config.json",
        "manifest.json",
        "model.onnx",
        "probe.json",
        "qa.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    structure = bundle.manifest.structure
    assert structure.opset == {"ai.onnx": 20}
    assert structure.operators == dict(operators(graph))
    assert (structure.quantized_share_of_bytes > 0.8) == flag.startswith("int8")


def test_weights_in_a_file_that_no_manifest_lists_are_refused(exported, tmp_path):
    model = onnx.load(exported("bert")[1].weights)
    beside = {"save_as_external_data": True, "location": "weights.data", "size_threshold": 0}
    onnx.save_model(model, tmp_path / "model.onnx", **beside)
    with pytest.raises(BundleError, match=r"model\.onnx: ONNX Runtime cannot load it"):
        OnnxRuntime(tmp_path / "model.onnx", 1)


def test_descriptions_with_source_paths_are_dropped(make_bundle):
    traced = trace(QAModel.from_pretrained(make_bundle()))
    for described in (traced, traced.graph, traced.graph.node[0], traced.graph.initializer[0]):
        described.doc_string = "model.py(12): forward"
    assert b"model.py" not in clean(traced).SerializeToString()


def test_the_same_parent_gives_the_same_bytes(exported, tmp_path):
    parent, bundle = exported("bert", "int8")
    least = UNTRAINED_SPANS["int8"]
    again = export(OnnxOptions(parent.path, tmp_path / "again", quantize="int8", min_equal_spans=least))
    assert again.weights.read_bytes() == bundle.weights.read_bytes()


# The stage


def test_a_wrong_export_is_refused_and_leaves_nothing(make_bundle, tmp_path, monkeypatch):
    def trace_another(model):
        graph = trace(model)
        tensor = max(graph.graph.initializer, key=lambda t: np.prod(t.dims))
        tensor.CopyFrom(
            numpy_helper.from_array(np.roll(numpy_helper.to_array(tensor), 1, axis=0), tensor.name)
        )
        return graph

    monkeypatch.setattr("export.onnx.exporter.trace", trace_another)
    with pytest.raises(ParityError, match=r"logits differ by [\d.]+ at most"):
        export(OnnxOptions(model=make_bundle(), out=tmp_path / "out"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("precision", "form"), [("int8-weights", None), ("int8", "int4")])
def test_a_tolerance_that_is_not_met_is_an_error(make_bundle, tmp_path, monkeypatch, precision, form):
    """Where the embedding table has few bits, it is the probe's."""
    monkeypatch.setitem(PRECISIONS, precision, replace(PRECISIONS[precision], probe_tolerance=1e-4))
    with pytest.raises(ParityError, match=r"tolerance 0\.0001"):
        export(OnnxOptions(make_bundle(), tmp_path / "out", precision, embeddings=form, min_equal_spans=0))
    assert list(tmp_path.iterdir()) == []


class Disturbed:
    """A sound runtime whose logits of some windows are changed."""

    lengths = None
    max_batch = 1

    def __init__(self, sound, change):
        self.sound = sound
        self.change = change

    def __call__(self, inputs):
        n = int(inputs["attention_mask"].sum())
        length = inputs["input_ids"].shape[1]
        return [self.change(side.copy(), n, length) for side in self.sound(inputs)]


def test_parity_is_of_every_window_padded_or_not_and_of_its_best_span(exported):
    parent = exported("bert")[0]
    sound = TorchRuntime(parent.weights, 1)
    windows = real_windows(parent, 4)
    first = len(windows[0].input_ids)

    def check(change, tolerance=1e-4, least=0.999):
        return check_parity(
            sound,
            Disturbed(sound, change),
            windows,
            parent.settings,
            name="x",
            tolerance=tolerance,
            min_equal_spans=least,
        )

    def wrong_when_padded(side, n, length):
        return -side if length > n else side

    check(lambda side, n, length: side)
    with pytest.raises(ParityError, match=r"\d?\d\.\d% of the best spans .* --min-equal-spans 0\.999;"):
        check(lambda side, n, length: -side, 9)
    with pytest.raises(ParityError, match=r"[5-9]\d\.\d% of the best spans on 4 .* --min-equal-spans 0\.9;"):
        check(wrong_when_padded, 9, 0.9)
    assert 0.5 <= check(wrong_when_padded, 9, 0.5).equal_spans < 1
    with pytest.raises(ParityError, match=r"equal spans 100\.0%"):
        check(lambda side, n, length: side * (1.01 if n == first else 1))


def test_windows_that_take_all_positions_are_not_padded_beyond_them(make_bundle, tmp_path):
    export(OnnxOptions(model=make_bundle("bert-128-positions", "linear"), out=tmp_path / "out"))


def test_equal_spans_below_the_flag_leave_nothing(exported, tmp_path):
    """A random model in int8 keeps fewer than 99 % of its best spans."""
    parent, bundle = exported("pruned", "int8")
    parity = bundle.manifest.parity
    assert parity.equal_spans_wanted == UNTRAINED_SPANS["int8"] <= parity.equal_spans < 0.99
    config = OnnxOptions(parent.path, tmp_path / "out", quantize="int8", min_equal_spans=0.99)
    with pytest.raises(ParityError, match=r"below --min-equal-spans 0\.99; take a finer --quantize"):
        export(config)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OptionError, match="--min-equal-spans must be from 0 to 1, got 90"):
        replace(config, min_equal_spans=90)


def test_an_existing_out_is_refused_and_the_parent_untouched(exported, tmp_path):
    parent = exported("bert")[0]
    before = folder_hash(parent.path)
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(BundleError, match="never overwritten"):
        export(OnnxOptions(model=parent.path, out=out))
    assert folder_hash(parent.path) == before
    assert list(out.iterdir()) == []


def test_only_a_pytorch_bundle_can_be_exported(exported, tmp_path):
    with pytest.raises(BundleError, match=r"is a bundle in onnx; give one in pytorch$"):
        export(OnnxOptions(model=exported("bert")[1].path, out=tmp_path / "out"))


def test_a_model_that_cannot_be_traced_gives_one_clear_line(make_bundle, monkeypatch):
    def fail(*args, **kwargs):
        raise torch.onnx.errors.UnsupportedOperatorError("aten::strange", 20, None)

    model = QAModel.from_pretrained(make_bundle())
    monkeypatch.setattr(torch.onnx, "export", fail)
    with pytest.raises(UnsupportedExport, match=r"ONNX cannot express this model \(.*aten::strange.*\)"):
        trace(model)
    assert model.encoder.config._attn_implementation == "sdpa"


def test_tracing_leaves_the_model_as_it_was(make_bundle):
    model = QAModel.from_pretrained(make_bundle())
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    trace(model)
    assert model.encoder.config._attn_implementation == "sdpa"
    assert not model.training
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
