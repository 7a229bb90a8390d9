"""The package on the end of a TFLite file: what it holds, how it changes, and what is refused."""

import json
import shutil
import zipfile
from dataclasses import replace

import msgspec
import pytest
from comparisons import UNTRAINED_SPANS
from package_faults import MODEL, faulty_copies, rewritten
from tflite_exports import LENGTHS, compute
from tokenizers import AddedToken, Tokenizer

from export.android.characters import character_tables
from export.android.package import (
    MEMBERS,
    append_package,
    describe,
    package_again,
    read_package,
    vocabulary_lines,
)
from export.options import TFLiteOptions
from export.tflite.exporter import export
from qa.base.errors import BundleError, UnsupportedExport
from qa.base.shipped import shipped
from qa.bundles.bundle import open_bundle
from qa.formats.package import Normalizer, Signature
from qa.text.tokenization import load_tokenizer, normalizer_settings

INT8 = {"quantize": "int8", "lengths": LENGTHS, "min_equal_spans": UNTRAINED_SPANS["int8"]}


def test_the_package_holds_all_a_phone_needs(exported_tflite):
    parent, bundle = exported_tflite("bert", "int8")
    with zipfile.ZipFile(bundle.weights) as archive:
        assert archive.namelist() == list(MEMBERS)
        assert archive.testzip() is None
        info = json.loads(archive.read("qa.json"))
        assert archive.read("probe.json") == (bundle.path / "probe.json").read_bytes()
        tokens = archive.read("vocab.txt").decode().split("\n")
        characters = json.loads(archive.read("characters.json"))
        assert archive.getinfo("characters.json").compress_size < 30_000
    tokenizer = parent.tokenizer
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
    assert characters == character_tables()


def test_a_packaged_file_computes_what_the_bare_one_does(bare_tflite, tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(bare_tflite)
    append_package(path, {}, ["[PAD]"], "{}")
    assert path.read_bytes().startswith(bare_tflite)
    before = compute(bare_tflite)
    after = compute(path.read_bytes())
    assert all((before[name] == after[name]).all() for name in before)
    with pytest.raises(BundleError, match="not a bare"):
        append_package(path, {}, ["[PAD]"], "{}")


def test_the_same_parent_gives_the_same_bytes(exported_tflite, tmp_path):
    parent, bundle = exported_tflite("bert", "int8")
    again = export(TFLiteOptions(parent.path, tmp_path / "again", **INT8))
    assert again.weights.read_bytes() == bundle.weights.read_bytes()


def test_a_threshold_tuned_at_export_is_in_the_package(make_bundle, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "export.exporter.tune_for_bundle",
        lambda _, parent: (replace(parent.settings, null_threshold=-1.25), None),
    )
    bundle = export(TFLiteOptions(make_bundle(), tmp_path / "out", **INT8))
    assert read_package(bundle.weights).settings == bundle.settings
    assert bundle.settings.null_threshold == -1.25


def test_a_package_that_no_reader_takes_is_not_sealed(make_bundle, tmp_path, monkeypatch):
    monkeypatch.setattr("export.tflite.exporter.describe", lambda *_: {"format": 2, "precision": "int9"})
    with pytest.raises(BundleError, match=r"qa\.json"):
        export(TFLiteOptions(model=make_bundle(), out=tmp_path / "out", lengths=LENGTHS))
    assert list(tmp_path.iterdir()) == []


def test_settings_that_no_reader_takes_are_not_packaged(exported_tflite, tmp_path):
    source = exported_tflite("bert", "int8")[1]
    again = tmp_path / "again.tflite"
    package_again(source.weights, again, replace(source.settings, max_answer_length=8192))
    with pytest.raises(BundleError, match=r"again\.tflite: .*8192.*max_answer_length"):
        package_again(source.weights, again, replace(source.settings, max_answer_length=8193))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[]", "characters.json: Expected `object`, got `array`"),
        ('{"removed": ', "characters.json: Input data was truncated"),
        ("[" * 100_000, "characters.json: "),
        ({"spaces": [[13, 9]]}, "characters.json: ranges of spaces are out of order"),
        ({"lowercase": None}, r"characters.json: Expected `array`, got `null` - at `\$.lowercase`"),
    ],
    ids=["no object", "cut", "deep", "descending", "no table"],
)
def test_broken_character_tables_are_refused(exported_tflite, tmp_path, text, wanted):
    source = exported_tflite("bert", "int8")[1].weights
    text = json.dumps({**character_tables(), **text}) if isinstance(text, dict) else text
    path = rewritten(source, tmp_path / "model.tflite", {"characters.json": text})
    with pytest.raises(BundleError, match=rf"model\.tflite: .*{wanted}.*export the model again"):
        read_package(path)


class OtherTokenizer:
    """A bundle with its tokenizer changed."""

    def __init__(self, parent, change):
        self.path = parent.path
        self.manifest = parent.manifest
        self.settings = parent.settings
        self.reference = parent.reference
        self.tokenizer = change(load_tokenizer(parent.path))


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
        words = parts["model"]["vocab"]
        parts["model"]["vocab"] = {new if token == old else token: words[token] for token in words}
        return Tokenizer.from_str(json.dumps(parts))

    return change


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (with_added(AddedToken("New York")), "'New York' was added"),
        # Known, but found inside of words too.
        (with_added(AddedToken("the", normalized=False)), "'the' was added"),
        # The vocabulary would have it, WordPiece has not.
        (with_added(AddedToken("qqq", special=True)), "'qqq' was added"),
        (with_model(unk_token="[MASK]"), r"unknown words become '\[MASK\]'"),
        (with_model(max_input_chars_per_word=1001), "max_input_chars_per_word is 1001.* may have 1000"),
        (renamed("the", " the"), "' the' has a space"),
        (renamed("the", "the\u3000"), "has a space"),
        (renamed("the", "t\nhe"), "has a space or line break"),
    ],
)
def test_tokenizers_that_a_vocabulary_cannot_describe_are_refused(exported_tflite, change, wanted):
    parent = OtherTokenizer(exported_tflite("bert")[0], change)
    with pytest.raises(UnsupportedExport, match=wanted):
        (describe(parent, "int8"), vocabulary_lines(parent))


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("own/student", "own-student"),
        ("own/student-pruned", "own-student-pruned"),
        ("a/fitted", "a-fitted"),
        ("own/mine", "mine"),
    ],
)
def test_bundles_of_different_runs_have_different_names(exported_tflite, tmp_path, folder, name):
    shutil.copytree(exported_tflite("bert")[0].path, tmp_path / folder)
    assert describe(open_bundle(tmp_path / folder), "int8")["name"] == name


def test_a_shipped_model_keeps_its_name():
    assert describe(open_bundle(shipped("student")), "int8")["name"] == "student"


@pytest.mark.parametrize("name", ["qa384;id", "qa 384", "$(id)", ""])
def test_the_name_of_a_signature_is_no_command_of_a_shell(name):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"name": name, "length": 384}, Signature)


def test_an_unknown_switch_of_the_tokenizer_is_refused():
    switches = {"clean_text": True, "handle_chinese_chars": True, "lowercase": True, "strip_accents": None}
    assert msgspec.convert(switches, Normalizer)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(switches | {"future": True}, Normalizer)


def test_faulty_files_are_refused(exported_tflite, tmp_path):
    refusals = {}
    for path in faulty_copies(exported_tflite("bert", "int8")[1].weights, tmp_path):
        with pytest.raises(BundleError, match=rf"{path.name}: .*again") as refusal:
            read_package(path)
        refusals[path.stem] = str(refusal.value)
    assert "not ('qa.json', 'vocab.txt', 'characters.json'" in refusals["faulty-no-characters.json"]
    assert "`$.settings.n_best`" in refusals["faulty-settings"]


def test_a_package_that_claims_huge_members_is_refused_unread(tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(MODEL)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        for name in MEMBERS:
            archive.writestr(name, bytes(9_000_000))
    with pytest.raises(BundleError, match="claims 9000000 bytes"):
        read_package(path)
