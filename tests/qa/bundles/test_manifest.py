"""Typed manifests: their JSON stays, and what is wrong is named."""

import json

import msgspec
import pytest
from sealed import FACTS, RECORD, seal

from qa.base import shipped
from qa.base.errors import BundleError
from qa.bundles import bundle as bundle_module
from qa.bundles.bundle import MANIFEST, new_bundle, open_bundle, read_manifest
from qa.bundles.manifest import Manifest
from qa.text.settings import QASettings

SHIPPED = sorted(shipped.FOLDER.glob(f"*/{MANIFEST}"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.parent.name)
def test_every_key_of_a_shipped_manifest_has_a_field_and_keeps_its_value(path):
    values = {key: value for key, value in json.loads(path.read_bytes()).items() if value not in (None, [])}
    manifest = read_manifest(path.parent)
    assert json.loads(json.dumps(msgspec.to_builtins(manifest))) == values
    for ancestor, given in zip(manifest.ancestors, values.get("ancestors", []), strict=True):
        assert json.loads(json.dumps(msgspec.to_builtins(ancestor))) == given, "what descendants copy"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"parameters": {"total": "7", "without_embeddings": 7}}, "parameters.total"),
        ({"parameters": {"total": 7}}, "without_embeddings"),
        ({"parameters": None}, "parameters"),
        ({"parent": "x"}, "parent"),
        ({"config": "x"}, "config"),
        ({"stage": 3}, "stage"),
        ({"precision": ["fp32"]}, "precision"),
        ({"kind": {}}, "kind"),
        ({"files": 3}, "files"),
        ({"files": {"qa.json": 3}}, "files"),
        ({"ancestors": [{"name": "x", "sha256": "0"}, {"name": "y"}]}, r"ancestors\[1"),
        ({"scores": {"exact": 1.0}}, "scores"),
        ({"precision": "int5"}, "precision 'int5'"),
        ({"kind": "pickle"}, "kind 'pickle'"),
        ({"files": {"../outside": "0"}}, r"'\.\./outside'"),
    ],
)
def test_an_error_names_the_file_and_the_field(changes, field):
    text = json.dumps({"format": 1, "files": {}, **FACTS, **changes})
    with pytest.raises(BundleError, match=rf"^here: not a valid manifest \(.*{field}") as error:
        Manifest.from_json(text, "here")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", ["{", "[]", "[" * 100_000, '{"files": {}}'])
def test_what_is_no_manifest_is_refused(content):
    with pytest.raises(BundleError, match="here: not a valid manifest"):
        Manifest.from_json(content, "here")


def test_keys_of_a_later_version_are_ignored_on_reading():
    values = {"files": {}, "later": 1, **FACTS}
    assert Manifest.from_json(json.dumps({"format": 1, **values}), "here").parent is None
    with pytest.raises(BundleError, match="here: format 99, this version reads 1"):
        Manifest.from_json(json.dumps({"format": 99, **values}), "here")


def test_a_draft_gives_back_the_opened_bundle_and_misspelt_fields_are_refused(tmp_path):
    with new_bundle(tmp_path / "b", RECORD) as draft:
        (draft.path / "model.safetensors").write_bytes(b"weights")
        QASettings().save(draft.path / "qa.json")
        draft.record(embeddings="pq3")
        with pytest.raises(TypeError, match="trainig_data"):
            draft.record(trainig_data=None)
    assert json.loads((tmp_path / "b" / MANIFEST).read_text())["embeddings"] == "pq3"
    assert draft.bundle == open_bundle(tmp_path / "b")


def test_a_manifest_is_read_without_a_look_at_the_weights(tmp_path, monkeypatch):
    bundle = seal(tmp_path / "b")
    monkeypatch.setattr(bundle_module, "file_sha256", None)
    assert read_manifest(tmp_path / "b") == bundle.manifest
    with pytest.raises(BundleError, match="not a finished bundle"):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    ("kind", "stages", "is_teacher", "is_student"),
    [
        ("pytorch", ["finetune"], True, False),
        ("pytorch", ["average", "finetune", "checkpoint"], True, False),
        ("pytorch", ["average", "distill", "finetune"], False, True),
        ("pytorch", ["quantize", "compress", "distill", "finetune"], False, True),
        ("onnx", ["export", "distill"], False, False),
    ],
)
def test_teachers_learnt_from_gold_answers_only(kind, stages, is_teacher, is_student):
    ancestors = [{"name": name, "sha256": "0", "stage": name} for name in stages[1:]]
    values = {"format": 1, "files": {}, **FACTS, "kind": kind, "stage": stages[0], "ancestors": ancestors}
    manifest = Manifest.from_json(json.dumps(values), "here")
    assert (manifest.is_teacher, manifest.is_student) == (is_teacher, is_student)


@pytest.mark.parametrize(
    ("stage", "ancestors", "averaged", "teachers"),
    [
        ("distill", ["distill a", "finetune t"], "", "at"),
        ("average", ["distill a", "finetune t", "distill b"], "ab", "t"),
        ("average", ["distill a", "distill b"], "ab", ""),
        ("export", ["average m", "distill a", "distill b"], "ab", ""),
    ],
)
def test_a_mean_is_not_taught_by_the_models_averaged(stage, ancestors, averaged, teachers):
    chain = [{"stage": stage}] + [
        dict(zip(("stage", "name"), entry.split(), strict=True)) for entry in ancestors
    ]
    mean = next((model for model in chain if model["stage"] == "average"), {})
    mean["averaged"] = [{"name": name, "sha256": name} for name in averaged]
    for ancestor in chain[1:]:
        ancestor["sha256"] = ancestor["name"]
    values = {"format": 1, "files": {}, **FACTS, **chain[0], "ancestors": chain[1:]}
    assert Manifest.from_json(json.dumps(values), "here").taught_by == set(teachers)
