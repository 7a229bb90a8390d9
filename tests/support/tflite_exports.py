"""How to run a tiny export by hand, and how to spoil one of its signatures."""

import shutil

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter
from comparisons import record_of

from export.android.package import append_package, read_package
from export.tflite.file import TFLiteFile
from export.tflite.passes.compact import compact
from qa.bundles.bundle import PROBE, new_bundle, open_bundle
from qa.runtime.probe import write_probe

LENGTHS = (96, 128)
MODELS = {"bert": {}, "distilbert": {"encoder": "distilbert", "head": "linear"}, "pruned": {"pruned": True}}
ROW_SCALES = ("EMBEDDING_LOOKUP", "FLOAT32", False)  # of an int8 word table, among a Structure's weight_types


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
