"""TFLite export of tiny random models: parity, precision, structure, and the package on the end of the file."""

import hashlib
import importlib.util
import json
import os
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import torch
from ai_edge_litert.interpreter import Interpreter
from tokenizers import AddedToken, Tokenizer
from torch import nn

from compress.quantize_tflite import compact, quantize, quietly
from export import tflite
from export.characters import character_tables
from export.package import MEMBERS, append_package, describe, read_package, update_settings, vocabulary_lines
from export.parity import real_windows
from export.tflite import TFLiteConfig, check_structure, convert, main, read_structure
from qa.bundle import open_bundle
from qa.errors import BundleError, OptionError, ParityError, UnsupportedExport
from qa.features import collate
from qa.models.model import QAModel
from qa.runtimes import TorchRuntime, load_runtime, run_length
from qa.tokenization import normalizer_settings

LENGTHS = (96, 128)
MODELS = {"bert": {}, "distilbert": {"encoder": "distilbert", "head": "linear"}, "pruned": {"pruned": True}}


@pytest.fixture(scope="session")
def exported(make_bundle, tmp_path_factory, converted_once):
    """A function: (parent, export) of a model of MODELS in a precision."""
    made = {}

    def export(name, flag="none"):
        if (name, flag) not in made:
            parent, out = make_bundle(**MODELS[name]), tmp_path_factory.mktemp("exports") / f"{name}-{flag}"
            made[name, flag] = open_bundle(parent), main(TFLiteConfig(model=parent, out=out, quantize=flag, lengths=LENGTHS))
        return made[name, flag]

    return export


@pytest.fixture(scope="session")
def bare(make_bundle, converted_once):
    """The tiny BERT's fp32 .tflite as the converter wrote it."""
    return converted_once(QAModel.from_pretrained(make_bundle()), LENGTHS)


def compute(model, length=96):
    """Logits of a bare or packaged .tflite, given as bytes, for fixed random inputs."""
    ids = np.random.default_rng(0).integers(1000, 30000, (1, length), np.int32)
    mask = np.ones_like(ids)
    mask[:, length // 2 :] = 0
    runner = Interpreter(model_content=model, num_threads=1).get_signature_runner(f"qa{length}")
    return runner(input_ids=ids, attention_mask=mask, token_type_ids=mask.copy())


def folder_hash(path):
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in path.iterdir()}


# What is computed


@pytest.mark.parametrize("name", MODELS)
def test_fp32_equals_pytorch_padded_and_not(exported, name):
    parent, bundle = exported(name)
    reference, runtime = TorchRuntime(parent, 1), load_runtime(bundle, 1)
    windows = real_windows(parent)
    full = [w for w in windows if len(w.input_ids) == 128]
    assert full, "windows without padding"
    for window in (windows[0], full[0]):
        n = len(window.input_ids)
        for length in (length for length in LENGTHS if length >= n):
            for wanted, seen in zip(reference(collate([window])), runtime(collate([window], length)), strict=True):
                assert np.abs(wanted[0] - seen[0, :n]).max() < 1e-4


@pytest.mark.parametrize("name", MODELS)
def test_every_signature_has_all_inputs_and_outputs_by_name(exported, name):
    signatures = Interpreter(model_path=str(exported(name)[1].weights)).get_signature_list()
    inputs, outputs = {"input_ids", "attention_mask", "token_type_ids"}, {"start_logits", "end_logits"}
    seen = {key: (set(signature["inputs"]), set(signature["outputs"])) for key, signature in signatures.items()}
    assert seen == {f"qa{length}": (inputs, outputs) for length in LENGTHS}


def test_an_encoder_without_token_types_ignores_them(exported):
    model = exported("distilbert")[1].weights.read_bytes()
    runner = Interpreter(model_content=model, num_threads=1).get_signature_runner("qa96")
    ids = np.arange(2000, 2096, dtype=np.int32)[None]
    same = [runner(input_ids=ids, attention_mask=np.ones_like(ids), token_type_ids=np.full_like(ids, t)) for t in (0, 1)]
    assert all((same[0][name] == same[1][name]).all() for name in same[0])


def test_the_smallest_signature_that_fits_is_used(exported):
    runtime = load_runtime(exported("bert")[1], 1)
    assert [run_length(runtime, n) for n in (5, 96, 97, 128)] == [96, 96, 128, 128]
    with pytest.raises(BundleError, match="does not fit"):
        run_length(runtime, 129)


# What is stored


@pytest.mark.parametrize("name", MODELS)
def test_int8_is_int8(exported, name):
    parent, bundle = exported(name, "int8")
    structure = read_structure(bundle.weights.read_bytes())
    model = TorchRuntime(parent, 1).model
    n_linear, n_tables = (sum(isinstance(m, kind) for m in model.modules()) for kind in (nn.Linear, nn.Embedding))
    assert structure.weight_types == {
        ("FULLY_CONNECTED", "INT8", False): n_linear * len(LENGTHS),
        ("EMBEDDING_LOOKUP", "INT8", False): n_tables * len(LENGTHS),
    }
    fp32 = exported(name)[1]
    model_bytes = [read_package(b.weights).info["model"]["bytes"] for b in (fp32, bundle)]
    assert model_bytes[1] < 0.35 * model_bytes[0]


@pytest.mark.parametrize(("flag", "stored"), [("fp16", "FLOAT16"), ("int8-weights", "INT8")])
def test_weights_for_float_arithmetic_are_stored_small_and_dequantized(exported, flag, stored):
    structure = read_structure(exported("bert", flag)[1].weights.read_bytes())
    assert {key[1:] for key in structure.weight_types} == {(stored, True)}


def test_signatures_share_every_parameter(bare):
    for model in (bare, compact(bare)):
        n_bytes = read_structure(model).constant_bytes["FLOAT32"]
        assert 4 * 2_211_266 <= n_bytes < 4 * 2_211_266 + 100, "each parameter once, and a few scalars"


@pytest.mark.parametrize("precision", ["fp16", "int8"])
def test_compact_changes_no_logit(bare, precision):
    quantized = quantize(bare, precision)
    small = compact(quantized)
    assert len(small) < len(quantized)
    for length in LENGTHS:
        before, after = compute(quantized, length), compute(small, length)
        assert all((before[name] == after[name]).all() for name in before)


def test_no_operator_is_custom_or_new(exported):
    for name in MODELS:
        operators = read_structure(exported(name)[1].weights.read_bytes()).all_operators
        assert not operators & {"CUSTOM", "GATHER_ND"}
        assert not [operator for operator in operators if operator.startswith("STABLEHLO")]


def test_a_file_that_is_not_what_it_should_be_is_refused(bare):
    structure = read_structure(bare)
    check_structure(structure, structure, "fp32", LENGTHS)
    with pytest.raises(ParityError, match="not a int8 model"):
        check_structure(structure, structure, "int8", LENGTHS)
    with pytest.raises(ParityError, match="signatures"):
        check_structure(structure, structure, "fp32", (96, 112, 128))
    flex = replace(structure, all_operators=structure.all_operators | {"CUSTOM"})
    with pytest.raises(UnsupportedExport, match="CUSTOM"):
        check_structure(flex, structure, "fp32", LENGTHS)


# The package


def test_the_package_holds_all_a_phone_needs(exported):
    parent, bundle = exported("bert", "int8")
    with zipfile.ZipFile(bundle.weights) as archive:
        assert archive.namelist() == list(MEMBERS)
        assert archive.testzip() is None
        info = json.loads(archive.read("qa.json"))
        assert archive.read("probe.json") == (bundle.path / "probe.json").read_bytes()
        tokens = archive.read("vocab.txt").decode().split("\n")
        characters = json.loads(archive.read("characters.json"))
        assert archive.getinfo("characters.json").compress_size < 30_000
    tokenizer = parent.tokenizer()
    assert {token: index for index, token in enumerate(tokens[:-1])} == tokenizer.get_vocab()
    assert info["format"] == 2
    assert info["precision"] == "int8"
    assert info["settings"] == json.loads((parent.path / "qa.json").read_text())
    assert info["signatures"] == [{"name": "qa96", "length": 96}, {"name": "qa128", "length": 128}]
    assert info["special_tokens"] == {"[CLS]": 101, "[SEP]": 102, "[PAD]": 0, "[UNK]": 100}
    assert info["normalizer"] == normalizer_settings(tokenizer)
    assert info["wordpiece"] == {"continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    assert info["parameters"]["total"] == 2_211_266
    package = read_package(bundle.weights)
    assert (package.info, package.settings, package.vocabulary) == (info, parent.settings, tokens[:-1])
    assert package.characters == characters == character_tables()


def test_a_packaged_file_computes_what_the_bare_one_does(bare, tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(bare)
    append_package(path, {}, ["[PAD]"], "{}")
    assert path.read_bytes().startswith(bare)
    before, after = compute(bare), compute(path.read_bytes())
    assert all((before[name] == after[name]).all() for name in before)
    with pytest.raises(BundleError, match="not a bare"):
        append_package(path, {}, ["[PAD]"], "{}")


def test_the_same_parent_gives_the_same_bytes(exported, tmp_path):
    parent, bundle = exported("bert", "int8")
    again = main(TFLiteConfig(model=parent.path, out=tmp_path / "again", quantize="int8", lengths=LENGTHS))
    assert again.weights.read_bytes() == bundle.weights.read_bytes()


def test_settings_can_be_changed_after_packaging(exported, tmp_path):
    original = exported("bert", "int8")[1].weights.read_bytes()
    path = tmp_path / "model.tflite"
    path.write_bytes(original)
    settings = read_package(path).settings
    update_settings(path, replace(settings, null_threshold=-1.25))
    assert read_package(path).settings.null_threshold == -1.25
    update_settings(path, settings)
    assert path.read_bytes() == original


def repackaged(path, data, **members):
    """Write the packaged file `data` with other members; None leaves a member out."""
    path.write_bytes(data)
    package = read_package(path)
    with zipfile.ZipFile(path) as archive:
        texts = {name: archive.read(name) for name in MEMBERS}
    texts |= {name.replace("_", "."): text for name, text in members.items()}
    path.write_bytes(data[: package.info["model"]["bytes"]])
    with zipfile.ZipFile(path, "a") as archive:
        for name, text in texts.items():
            if text is not None:
                archive.writestr(name, text)
    return path


def test_changed_settings_leave_the_tables_as_the_model_was_made_with(exported, tmp_path):
    older = {**character_tables(), "tokenizers": "0.1.2", "punctuation": [[33, 47]]}
    data = exported("bert", "int8")[1].weights.read_bytes()
    path = repackaged(tmp_path / "model.tflite", data, characters_json=json.dumps(older))
    update_settings(path, replace(read_package(path).settings, n_best=7))
    package = read_package(path)
    assert (package.characters, package.settings.n_best) == (older, 7)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (None, "no characters.json"),
        ("[]", "characters.json: not a JSON object"),
        ('{"removed": ', "characters.json is not valid JSON"),
        ("[" * 100_000, "characters.json is not valid JSON"),
        ({"spaces": [[13, 9]]}, r"characters.json: spaces: \[13, 9\] is malformed"),
        ({"lowercase": None}, "characters.json: no list named lowercase"),
    ],
    ids=["missing", "no object", "cut", "deep", "descending", "no table"],
)
def test_broken_character_tables_are_refused(exported, tmp_path, text, wanted):
    data = exported("bert", "int8")[1].weights.read_bytes()
    text = json.dumps({**character_tables(), **text}) if isinstance(text, dict) else text
    path = repackaged(tmp_path / "model.tflite", data, characters_json=text)
    with pytest.raises(BundleError, match=rf"model\.tflite: .*{wanted}.*export the model again"):
        read_package(path)


def test_a_file_of_format_1_is_named_as_such(exported, tmp_path):
    bundle = exported("bert", "int8")[1]
    info = json.dumps({**read_package(bundle.weights).info, "format": 1})
    path = repackaged(tmp_path / "model.tflite", bundle.weights.read_bytes(), qa_json=info, characters_json=None)
    with pytest.raises(BundleError, match=r"model\.tflite: package format 1, this version reads 2; export the model again"):
        read_package(path)


class OtherTokenizer:
    """A bundle with its tokenizer changed."""

    def __init__(self, parent, change):
        self.path, self.manifest, self.settings, self.reference = parent.path, parent.manifest, parent.settings, parent.reference
        self._tokenizer = change(parent.tokenizer())

    def tokenizer(self):
        return self._tokenizer


def with_added(*tokens):
    def change(tokenizer):
        tokenizer.add_tokens(list(tokens))
        return tokenizer

    return change


def with_model(**changes):
    def change(tokenizer):
        parts = json.loads(tokenizer.to_str())
        parts["model"] |= changes
        return Tokenizer.from_str(json.dumps(parts))

    return change


def renamed(old, new):
    def change(tokenizer):
        parts = json.loads(tokenizer.to_str())
        parts["model"]["vocab"] = {new if token == old else token: index for token, index in parts["model"]["vocab"].items()}
        return Tokenizer.from_str(json.dumps(parts))

    return change


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (with_added(AddedToken("New York")), "'New York' was added"),
        (with_added(AddedToken("the", normalized=False)), "'the' was added"),  # known, but found inside of words too
        (with_added(AddedToken("qqq", special=True)), "'qqq' was added"),  # the vocabulary would have it, WordPiece has not
        (with_model(unk_token="[MASK]"), r"unknown words become '\[MASK\]'"),
        (renamed("the", " the"), "' the' has a space"),
        (renamed("the", "the\u3000"), "has a space"),
        (renamed("the", "t\nhe"), "has a space or line break"),
    ],
)
def test_tokenizers_that_a_vocabulary_cannot_describe_are_refused(exported, change, wanted):
    parent = OtherTokenizer(exported("bert")[0], change)
    with pytest.raises(UnsupportedExport, match=wanted):
        (describe(parent, "int8", LENGTHS), vocabulary_lines(parent))


def damaged(data, n_model, how):
    """A packaged file that was copied badly; `n_model` is where its zip begins."""
    cuts = {"empty": 0, "half": len(data) // 2, "no directory": len(data) - 30}
    flips = {"model": n_model // 2, "zip": n_model + 200, "vocabulary": n_model + (len(data) - n_model) // 2}
    if how in cuts:
        return data[: cuts[how]]
    flipped = bytearray(data)
    flipped[flips[how]] ^= 0x10
    return bytes(flipped)


@pytest.mark.parametrize("how", ["empty", "half", "no directory", "model", "zip", "vocabulary"])
def test_damaged_files_are_refused(exported, tmp_path, how):
    bundle = exported("bert", "int8")[1]
    data = bundle.weights.read_bytes()
    path = tmp_path / "model.tflite"
    path.write_bytes(damaged(data, read_package(bundle.weights).info["model"]["bytes"], how))
    with pytest.raises(BundleError, match=r"model\.tflite: .*again"):
        read_package(path)


def test_a_package_that_claims_huge_members_is_refused_unread(tmp_path):
    path = tmp_path / "model.tflite"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in MEMBERS:
            archive.writestr(name, bytes(9_000_000))
    with pytest.raises(BundleError, match="claims 9000000 bytes"):
        read_package(path)


def test_a_changed_file_in_the_bundle_is_refused(exported, tmp_path):
    bundle = exported("bert", "int8")[1]
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in bundle.path.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    data = bytearray(bundle.weights.read_bytes())
    data[len(data) // 2] ^= 1
    (copy / "model.tflite").write_bytes(data)
    with pytest.raises(BundleError, match="changed since it was made"):
        open_bundle(copy)


# The stage


def test_an_existing_out_is_refused_and_the_parent_untouched(exported, tmp_path):
    parent = exported("bert")[0]
    before = folder_hash(parent.path)
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(BundleError, match="never overwritten"):
        main(TFLiteConfig(model=parent.path, out=out, lengths=LENGTHS))
    assert folder_hash(parent.path) == before
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("lengths", [(), (128, 96), (96, 96), (0, 128), (-1, 128)])
def test_bad_lengths_are_refused_at_once(lengths):
    with pytest.raises(OptionError, match="--lengths"):
        TFLiteConfig(lengths=lengths)


@pytest.mark.parametrize(("lengths", "wanted"), [((30, 128), "at least 36"), ((96,), "ending in 128"), ((96, 384), "in 128")])
def test_lengths_must_suit_the_model(exported, tmp_path, lengths, wanted):
    with pytest.raises(OptionError, match=wanted):
        main(TFLiteConfig(model=exported("bert")[0].path, out=tmp_path / "out", lengths=lengths))
    assert list(tmp_path.iterdir()) == []


def test_default_lengths_end_with_the_models_longest(exported):
    settings = exported("bert")[0].settings
    chosen = {n: tflite.window_lengths(TFLiteConfig(), replace(settings, max_length=n)) for n in (96, 128, 200, 384)}
    assert chosen == {96: (96,), 128: (128,), 200: (128, 200), 384: (128, 256, 384)}


def test_a_model_that_cannot_be_converted_gives_one_clear_line(make_bundle, capfd):
    model = QAModel.from_pretrained(make_bundle())
    model.head.forward = lambda states, *_: torch.full((1,), float(states.sum() > 0))
    with pytest.raises(UnsupportedExport, match="TFLite cannot express this model"):
        convert(model, LENGTHS)
    assert model.encoder.model.config._attn_implementation == "sdpa"


def test_a_missing_converter_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(OptionError, match=r"pip install 'pocketqa\[export\]'"):
        main(TFLiteConfig(model=tmp_path, out=tmp_path / "out"))


def test_chatter_is_hidden_unless_it_matters(capfd):
    with quietly():
        os.write(1, b"chatter")
    assert capfd.readouterr() == ("", "")

    def fail():
        with quietly():
            os.write(1, b"the reason")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert capfd.readouterr() == ("", "the reason")
