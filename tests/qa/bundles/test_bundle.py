"""Bundles: sealed last, verified on opening, never overwritten, nothing half-written."""

import errno
import json
import os

import pytest

from qa.base.errors import BundleError, OptionError
from qa.bundles.bundle import MANIFEST, new_bundle, open_bundle
from qa.text.settings import QASettings

FACTS = {
    "kind": "pytorch",
    "precision": "fp32",
    "stage": "finetune",
    "parameters": {"total": 7, "without_embeddings": 7},
}


def fill(draft):
    (draft.path / "model.safetensors").write_bytes(b"weights")
    QASettings(n_best=7).save(draft.path / "qa.json")


@pytest.fixture
def bundle(tmp_path):
    with new_bundle(tmp_path / "b", FACTS) as draft:
        fill(draft)
    return tmp_path / "b"


@pytest.mark.parametrize("threshold", [float("nan"), float("inf"), True, "-2"])
def test_a_threshold_that_is_no_number_is_refused(threshold):
    with pytest.raises(OptionError, match="null_threshold must be a finite number or null"):
        QASettings(null_threshold=threshold)


def leftovers(folder):
    return sorted(p.name for p in folder.iterdir())


def test_written_bundle_opens_with_its_settings_and_a_hash(bundle):
    opened = open_bundle(bundle, format="pytorch")
    assert opened.settings.n_best == 7
    assert set(opened.manifest.files) == {"README.md", "model.safetensors", "qa.json"}
    assert len(opened.sha256) == 64
    assert leftovers(bundle.parent) == ["b"]


def test_a_manifest_does_not_tell_where_files_lay(tmp_path):
    config = {
        "out": tmp_path / "b",
        "data": str(tmp_path / "train.json"),
        "model": "runs/teacher",
        "seed": 3,
        "cache": None,
    }
    with new_bundle(tmp_path / "b", FACTS | {"config": config}) as draft:
        fill(draft)
    kept = {"out": "b", "data": "train.json", "model": "runs/teacher", "seed": 3, "cache": None}
    (told,) = open_bundle(tmp_path / "b").lineage()
    assert json.loads((tmp_path / "b" / MANIFEST).read_text())["config"] == told.config == kept


def test_any_changed_byte_is_found(bundle):
    weights = bundle / "model.safetensors"
    weights.write_bytes(b"weightz")
    with pytest.raises(BundleError, match=r"model\.safetensors: changed since it was made"):
        open_bundle(bundle)


def test_lost_file_is_named(bundle):
    (bundle / "qa.json").unlink()
    with pytest.raises(BundleError, match=r"qa\.json: the manifest lists this file, but it is missing"):
        open_bundle(bundle)


def test_folder_without_manifest_is_unfinished(bundle):
    (bundle / MANIFEST).unlink()
    with pytest.raises(BundleError, match="not a finished bundle"):
        open_bundle(bundle)


def test_what_a_killed_process_left_is_cleared_and_a_running_ones_is_not(tmp_path):
    dead = tmp_path / ".b.unfinished-999999999"
    alive = tmp_path / f".b.unfinished-{os.getppid()}"
    for draft in (dead, alive):
        draft.mkdir()
    with new_bundle(tmp_path / "b", FACTS) as draft:
        fill(draft)
    assert leftovers(tmp_path) == [alive.name, "b"]


def test_a_left_over_with_the_number_of_this_very_process_is_of_another_container(tmp_path):
    (tmp_path / f".b.unfinished-{os.getpid()}").mkdir()
    with new_bundle(tmp_path / "b", FACTS) as draft:
        fill(draft)
    assert leftovers(tmp_path) == ["b"]


def test_names_that_are_no_utf8_do_not_lose_a_bundle(tmp_path):
    odd = os.fsdecode(b"M\xfcller.json")
    with new_bundle(tmp_path / "b", FACTS | {"training_data": {"name": odd, "sha256": "0" * 64}}) as draft:
        fill(draft)
    assert open_bundle(tmp_path / "b").manifest.training_data.name == odd


BROKEN = [
    "{",
    "[]",
    "[" * 100_000,
    '{"files": {}}',
    '{"files": {}, "kind": "pickle"}',
    '{"files": 3, "kind": "onnx"}',
]


@pytest.mark.parametrize("content", BROKEN)
def test_broken_manifest_is_refused(bundle, content):
    (bundle / MANIFEST).write_text(content)
    with pytest.raises(BundleError, match="not a valid manifest"):
        open_bundle(bundle)


def test_manifest_of_another_format_is_refused(bundle):
    manifest = json.loads((bundle / MANIFEST).read_text())
    (bundle / MANIFEST).write_text(json.dumps(manifest | {"format": 99}))
    with pytest.raises(BundleError, match="format 99"):
        open_bundle(bundle)


@pytest.mark.parametrize(
    "wrong",
    [
        {"parameters": None},
        {"parameters": {"total": 7}},
        {"parent": "x"},
        {"config": "x"},
        {"scores": {"exact": 1.0}},
        {"stage": 3},
        {"precision": ["fp32"]},
        {"kind": {}},
        {"files": {"model.safetensors": "0" * 64}},
        {"files": {"model.safetensors": "0" * 64, "qa.json": 3}},
        {"files": {"model.safetensors": "0" * 64, "qa.json": "0" * 64, "../outside": "0" * 64}},
    ],
)
def test_a_manifest_without_what_stages_rely_on_is_refused(bundle, wrong):
    manifest = json.loads((bundle / MANIFEST).read_text())
    (bundle / MANIFEST).write_text(json.dumps(manifest | wrong))
    with pytest.raises(BundleError, match=r"manifest\.json: not a valid manifest"):
        open_bundle(bundle)


@pytest.mark.parametrize(
    "name", ["config.json", "tokenizer.json", "tokenizer_config.json", "probe.json", "held_out.json.gz"]
)
def test_a_file_that_the_manifest_does_not_list_is_not_read(bundle, name):
    (bundle / "notes.txt").write_text("of the user's own")
    open_bundle(bundle)
    (bundle / name).write_text("{}")
    with pytest.raises(BundleError, match=f"{name}: the manifest does not list this file"):
        open_bundle(bundle)


@pytest.mark.parametrize("text", ["[" * 100_000, b"\xff\xfe{}", "{}", "3"])
def test_settings_that_are_none_are_refused(text):
    with pytest.raises(BundleError, match="here: not valid QA settings"):
        QASettings.from_json(text, "here")


def test_wrong_kind_and_missing_folder(bundle, tmp_path):
    with pytest.raises(BundleError, match="is a bundle in pytorch; give one in onnx"):
        open_bundle(bundle, format="onnx")
    with pytest.raises(BundleError, match="no such bundle folder"):
        open_bundle(tmp_path / "absent")


def test_existing_folder_is_never_overwritten(bundle):
    before = {p.name: p.read_bytes() for p in bundle.iterdir()}
    with pytest.raises(BundleError, match="exists already"), new_bundle(bundle, FACTS):
        pytest.fail("the body must not run")
    assert {p.name: p.read_bytes() for p in bundle.iterdir()} == before


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), ValueError("x")]
)
def test_nothing_stays_behind_when_writing_fails(tmp_path, error):
    def fails():
        with new_bundle(tmp_path / "b", FACTS) as draft:
            fill(draft)
            raise error

    with pytest.raises(type(error)):
        fails()
    assert leftovers(tmp_path) == []
