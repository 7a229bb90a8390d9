"""TFLite export of tiny random models: parity, precision, structure, and the stage."""

import importlib.util
import os
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter
from ai_edge_litert.tools import flatbuffer_utils
from quick import quick
from tflite_exports import LENGTHS, compute
from torch import nn

from export.android.package import read_package
from export.embeddings import IntegerRows
from export.options import TFLiteOptions, window_lengths
from export.tflite.convert import convert
from export.tflite.exporter import export
from export.tflite.file import TFLiteFile
from export.tflite.passes.compact import compact
from export.tflite.quantize import quantize
from export.tflite.quiet import quietly
from export.tflite.structure import check_structure, read_structure
from qa.base.errors import OptionError, ParityError, UnsupportedExport
from qa.formats.package import fixed_signatures
from qa.models.model import QAModel
from qa.runtime.runtimes import TorchRuntime

SIGNATURES = [f"qa{length}" for length in LENGTHS]


def structure_of(bundle):
    return read_structure(TFLiteFile(bundle.weights.read_bytes()))


# What is computed; that a file computes what PyTorch does, padded or not, is checked by every export


@pytest.mark.parametrize("name", quick("bert", "pruned", rest=["distilbert"]))
def test_every_signature_has_all_inputs_and_outputs_by_name(exported_tflite, name):
    signatures = Interpreter(model_path=str(exported_tflite(name)[1].weights)).get_signature_list()
    inputs = {"input_ids", "attention_mask", "token_type_ids"}
    outputs = {"start_logits", "end_logits"}
    seen = {
        key: (set(signature["inputs"]), set(signature["outputs"])) for key, signature in signatures.items()
    }
    assert seen == {f"qa{length}": (inputs, outputs) for length in LENGTHS}


@pytest.mark.system
def test_an_encoder_without_token_types_ignores_them(exported_tflite):
    model = exported_tflite("distilbert")[1].weights.read_bytes()
    runner = Interpreter(model_content=model, num_threads=1).get_signature_runner("qa96")
    ids = np.arange(2000, 2096, dtype=np.int32)[None]
    same = [
        runner(input_ids=ids, attention_mask=np.ones_like(ids), token_type_ids=np.full_like(ids, t))
        for t in (0, 1)
    ]
    assert all((same[0][name] == same[1][name]).all() for name in same[0])


# What is stored


@pytest.mark.parametrize("name", quick("bert", rest=["pruned", "distilbert"]))
def test_int8_is_int8(exported_tflite, name):
    parent, bundle = exported_tflite(name, "int8")
    structure = structure_of(bundle)
    model = TorchRuntime(parent.weights, 1).model
    # One gives query, key and value.
    n_linear = sum(isinstance(m, nn.Linear) for m in model.modules()) - 2 * len(model.encoder.layers)
    assert structure.weight_types == {
        ("FULLY_CONNECTED", "INT8", False): n_linear * len(LENGTHS),
        ("EMBEDDING_LOOKUP", "INT8", False): 2 * len(LENGTHS),  # words and positions
        ("EMBEDDING_LOOKUP", "FLOAT32", False): 2 * len(LENGTHS),  # the scales of their rows
    }
    fp32 = exported_tflite(name)[1]
    model_bytes = [read_package(b.weights).info["model"]["bytes"] for b in (fp32, bundle)]
    assert model_bytes[1] < 0.35 * model_bytes[0]


def test_int4_is_int4_but_for_the_small_tables(exported_tflite):
    parent, bundle = exported_tflite("bert", "int4")
    structure = structure_of(bundle)
    modules = TorchRuntime(parent.weights, 1).model.modules()
    n_linear = sum(isinstance(m, nn.Linear) for m in modules) - 4  # one gives query, key and value
    assert structure.weight_types["FULLY_CONNECTED", "INT4", False] == n_linear * len(LENGTHS)
    # Two values in each byte of the first, and their scales.
    shapes = {(30522, 32): "INT8", (30522, 1): "FLOAT32", (512, 64): "INT8", (512, 1): "FLOAT32"}
    assert sorted(structure.tables) == sorted(
        (shape, type_name, False) for shape, type_name in shapes.items()
    )
    assert bundle.manifest.embeddings == "int4"
    assert bundle.manifest.structure.quantized_share_of_bytes > 0.85
    assert structure.constant_bytes["INT4"] < 0.5 * (2_211_266 - 30_522 * 64), "each matrix once"


@pytest.mark.parametrize(("flag", "stored"), [("fp16", "FLOAT16"), ("int8-weights", "INT8")])
def test_weights_for_float_arithmetic_are_stored_small_and_dequantized(exported_tflite, flag, stored):
    structure = structure_of(exported_tflite("bert", flag)[1])
    assert {key[1:] for key in structure.weight_types} == {(stored, True)}


def test_signatures_share_every_parameter(bare_tflite):
    file = TFLiteFile(bare_tflite)
    compact(file)
    for model in (bare_tflite, file.to_bytes()):
        n_bytes = read_structure(TFLiteFile(model)).constant_bytes["FLOAT32"]
        assert 4 * 2_211_266 <= n_bytes < 4 * 2_211_266 + 100, "each parameter once, and a few scalars"


@pytest.mark.parametrize("precision", ["fp16", "int8", "int4"])
def test_compact_changes_no_logit(bare_tflite, precision):
    file = quantize(TFLiteFile(bare_tflite), precision)
    quantized = file.to_bytes()
    compact(file)
    small = file.to_bytes()
    assert len(small) < len(quantized)
    for length in LENGTHS:
        before = compute(quantized, length)
        after = compute(small, length)
        assert all((before[name] == after[name]).all() for name in before)


def test_a_schema_that_cannot_be_written_is_refused(bare_tflite, monkeypatch):
    class NewBuffer(schema.BufferT):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.checksum = 0

    tree = flatbuffer_utils.read_model_from_bytearray(bytearray(bare_tflite))
    tree.version = 4
    with pytest.raises(OptionError, match="schema version 4 "):
        TFLiteFile(bytes(flatbuffer_utils.convert_object_to_bytearray(tree)))
    monkeypatch.setattr(schema, "BufferT", NewBuffer)
    with pytest.raises(OptionError, match="buffer fields data, offset, size, checksum cannot"):
        TFLiteFile(bare_tflite)


def test_a_file_that_is_not_what_it_should_be_is_refused(bare_tflite):
    structure = read_structure(TFLiteFile(bare_tflite))
    words = nn.Embedding(30522, 64)
    check_structure(structure, "fp32", SIGNATURES, words)
    with pytest.raises(ParityError, match="not a int8 model"):
        check_structure(structure, "int8", SIGNATURES, words)
    int8 = read_structure(quantize(TFLiteFile(bare_tflite), "int8"))
    check_structure(int8, "int8", SIGNATURES, words)
    linears_int4 = Counter(
        {(name, "INT4", restored): n for (name, _, restored), n in int8.weight_types.items()}
    )
    words_int4 = IntegerRows(words.weight.detach().numpy(), 4)
    others = [table for table in int8.tables if table[0] != (30522, 64)]
    stored = [((30522, 32), "INT8", False), ((30522, 1), "FLOAT32", False)]
    for types, tables, says in (
        (int8.weight_types, stored + others, r"'FULLY_CONNECTED', 'INT8', False"),
        (linears_int4, int8.tables, r"its tables are .* wanted \[.*30522, 32.*for the words"),
        (
            linears_int4,
            [*stored, *others, ((9, 9), "FLOAT32", False)],
            r"its tables are .*no others but INT8",
        ),
        (linears_int4, [*stored, *others, stored[0]], r"its tables are .*30522, 32.*30522, 32"),
    ):
        with pytest.raises(ParityError, match=f"not a int4 model: .*{says}"):
            check_structure(replace(int8, weight_types=types, tables=tables), "int4", SIGNATURES, words_int4)
    with pytest.raises(ParityError, match="signatures"):
        check_structure(structure, "fp32", ["qa96", "qa112", "qa128"], words)
    for operator in ("CUSTOM", "GATHER_ND", "STABLEHLO_SORT"):
        new = replace(structure, all_operators=structure.all_operators | {operator})
        with pytest.raises(UnsupportedExport, match=operator):
            check_structure(new, "fp32", SIGNATURES, words)


# The stage


@pytest.mark.parametrize("lengths", [(), (128, 96), (96, 96), (0, 128), (-1, 128)])
def test_bad_lengths_are_refused_at_once(lengths):
    with pytest.raises(OptionError, match="--lengths"):
        TFLiteOptions(lengths=lengths)


@pytest.mark.parametrize(
    ("lengths", "wanted"), [((30, 128), "at least 36"), ((96,), "ending in 128"), ((96, 384), "in 128")]
)
def test_lengths_must_suit_the_model(exported_tflite, tmp_path, lengths, wanted):
    with pytest.raises(OptionError, match=wanted):
        export(TFLiteOptions(model=exported_tflite("bert")[0].path, out=tmp_path / "out", lengths=lengths))
    assert list(tmp_path.iterdir()) == []


def test_default_lengths_end_with_the_models_longest(exported_tflite):
    settings = exported_tflite("bert")[0].settings
    chosen = {n: window_lengths(None, replace(settings, max_length=n)) for n in (96, 128, 200, 384)}
    assert chosen == {96: (96,), 128: (128,), 200: (128, 192, 200), 384: (128, 192, 256, 384)}


def test_a_model_that_cannot_be_converted_gives_one_clear_line(make_bundle):
    model = QAModel.from_pretrained(make_bundle())
    model.head.forward = lambda states, *_: torch.full((1,), float(states.sum() > 0))
    with pytest.raises(UnsupportedExport, match="TFLite cannot express this model"):
        convert(model, fixed_signatures(LENGTHS))
    assert model.encoder.model.config._attn_implementation == "sdpa"


def test_a_converter_that_cannot_be_imported_does_not_blame_the_model(make_bundle, monkeypatch):
    monkeypatch.setitem(sys.modules, "litert_torch", None)
    with pytest.raises(ImportError):
        convert(QAModel.from_pretrained(make_bundle()), fixed_signatures(LENGTHS))


def test_chatter_is_hidden_unless_it_matters(capfd, monkeypatch):
    with quietly():
        os.write(1, b"chatter")
    assert capfd.readouterr() == ("", "")

    def fail():
        with quietly():
            os.write(1, b"the reason")
            print(" in Python", end="")  # waits in a buffer where stdout is a file
            raise RuntimeError

    with open(1, "w", closefd=False) as buffered:
        monkeypatch.setattr(sys, "stdout", buffered)
        with pytest.raises(RuntimeError):
            fail()
    assert capfd.readouterr() == ("", "the reason in Python")


def test_a_missing_converter_is_said_before_the_model_is_read(monkeypatch, tmp_path):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "litert_torch" else found(name)
    )
    with pytest.raises(OptionError, match=r"litert_torch: pip install 'pocketqa\[export\]'"):
        export(TFLiteOptions(model=tmp_path, out=tmp_path / "out"))
