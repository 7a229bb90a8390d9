"""Tiny exports that several test files share, how to run one by hand, and how to spoil one of its
signatures."""

import hashlib
import shutil
from functools import cache

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter
from comparisons import UNTRAINED_SPANS, record_of
from places import alone, shared_folder

from export import exporter
from export.android.package import append_package, read_package
from export.onnx import exporter as onnx
from export.options import OnnxOptions, TFLiteOptions
from export.tflite import convert
from export.tflite import exporter as tflite
from export.tflite.compact import compact
from export.tflite.file import TFLiteFile
from qa.base.files import write_whole
from qa.bundles.bundle import PROBE, new_bundle, open_bundle
from qa.formats.tflite import fixed_signatures
from qa.models.model import QAModel
from qa.runtime.probe import write_probe

LENGTHS = (96, 128)
ROW_SCALES = ("EMBEDDING_LOOKUP", "FLOAT32", False)  # of an int8 word table, among a Structure's weight_types
MODELS = {"bert": {}, "distilbert": {"encoder": "distilbert", "head": "linear"}, "pruned": {"pruned": True}}


@pytest.fixture(autouse=True, scope="session")
def converted_once(tmp_path_factory):
    """The converter to TFLite, remembering what it has converted: it takes seconds, and several precisions
    start from the same file in fp32."""
    folder = shared_folder(tmp_path_factory) / "converted"
    folder.mkdir(exist_ok=True)
    convert_now = convert.convert

    def convert_once(model, signatures):
        key = hashlib.sha256(f"{model.config()} {signatures}".encode())
        for name, tensor in model.state_dict().items():
            key.update(name.encode() + tensor.numpy().tobytes())
        file = folder / f"{key.hexdigest()}.tflite"
        with alone(file.with_suffix(".lock")):
            if not file.exists():
                write_whole(file, convert_now(model, signatures))
        return file.read_bytes()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(convert, "convert", convert_once)
        # Threads only wait for each other on models this small.
        patch.setattr(exporter, "available_cores", lambda: 1)
        yield convert_once


@pytest.fixture(scope="session")
def export_once(make_bundle, tmp_path_factory):
    """A function that exports a tiny model, by the arguments of make_bundle, once: (parent, export)."""

    @cache
    def export(kind, quantize, lengths, parent):
        out = tmp_path_factory.mktemp("exports") / f"tiny-{kind}"
        options = {"model": parent, "out": out, "quantize": quantize}
        options["min_equal_spans"] = UNTRAINED_SPANS.get(quantize)
        if kind == "onnx":
            return open_bundle(parent), onnx.export(OnnxOptions(**options))
        return open_bundle(parent), tflite.export(TFLiteOptions(**options, lengths=lengths))

    return lambda kind, quantize="fp32", lengths=None, **model: export(
        kind, quantize, lengths, make_bundle(**model)
    )


@pytest.fixture(scope="session")
def exported_tflite(export_once):
    """A function: (parent, export) of a model of MODELS in a precision, with signatures of LENGTHS."""
    return lambda name, flag="fp32": export_once("tflite", flag, LENGTHS, **MODELS[name])


@pytest.fixture(scope="session")
def tiny_export(export_once):
    """A function: the fp32 export (tflite with lengths 96 and 128, any-length, or onnx) of the tiny BERT."""
    arguments = {"tflite": ("tflite", "fp32", LENGTHS), "any-length": ("tflite",), "onnx": ("onnx",)}
    return lambda kind: export_once(*arguments[kind])[1]


@pytest.fixture(scope="session")
def bare_tflite(make_bundle, converted_once):
    """The tiny BERT's fp32 .tflite as the converter wrote it."""
    return converted_once(QAModel.from_pretrained(make_bundle()), fixed_signatures(LENGTHS))


def bare_model(bundle):
    """The flatbuffer of a bundle's packaged file."""
    return bundle.weights.read_bytes()[: read_package(bundle.weights).info["model"]["bytes"]]


def spoiled(model, length):
    """A bare .tflite whose signature of `length` tokens adds something else to its first sum; all the others
    are untouched."""

    def change(graph, added):
        added[0].inputs = [added[0].inputs[0]] * 2

    return _with_changed(model, length, "ADD", change)


def rescaled(model, length, factor):
    """A bare .tflite whose signature of `length` tokens has the scales of its fourth Linear's weights times
    `factor`."""

    def change(graph, linears):
        stored = graph.tensors[linears[3].inputs[1]].quantization
        stored.scale = [factor * scale for scale in stored.scale]

    return _with_changed(model, length, "FULLY_CONNECTED", change)


def _with_changed(model, length, kind, change):
    """The .tflite after `change(subgraph, its operators of a kind)` in one signature."""
    file = TFLiteFile(model)
    tree = file.tree
    (definition,) = (d for d in tree.signatureDefs if d.signatureKey == f"qa{length}".encode())
    graph = tree.subgraphs[definition.subgraphIndex]
    codes = [code.builtinCode for code in tree.operatorCodes]
    change(
        graph,
        [one for one in graph.operators if codes[one.opcodeIndex] == getattr(schema.BuiltinOperator, kind)],
    )
    compact(file)
    return file.to_bytes()


def sealed_again(bundle, out, model, probe=None):
    """A whole bundle, all hashes right, with another bare model or probe (other windows, or the text of
    one).
    """
    package = read_package(bundle.weights)
    text = (
        probe
        if isinstance(probe, str)
        else write_probe(probe or package.probe.windows, package.probe.tolerance)
    )
    with new_bundle(out, record_of(bundle)) as draft:
        for name in bundle.manifest.files:
            shutil.copy(bundle.path / name, draft.path / name)
        (draft.path / PROBE).write_text(text, encoding="utf-8")
        (draft.path / bundle.weights.name).write_bytes(model)
        append_package(draft.path / bundle.weights.name, package.info, package.vocabulary, text)
    return open_bundle(out)


def compute(model, length=96):
    """Logits of a bare or packaged .tflite, given as bytes, for fixed random inputs."""
    ids = np.random.default_rng(0).integers(1000, 30000, (1, length), np.int32)
    mask = np.ones_like(ids)
    mask[:, length // 2 :] = 0
    runner = Interpreter(model_content=model, num_threads=1).get_signature_runner(f"qa{length}")
    return runner(input_ids=ids, attention_mask=mask, token_type_ids=mask.copy())
