"""Bundles: sealed last, verified on opening, never overwritten, nothing half-written."""

import errno
import json
import os
from dataclasses import make_dataclass

import pytest
from json_files import change_json
from sealed import RECORD, seal

from qa.base.errors import BundleError
from qa.base.files import machine_mark
from qa.bundles.bundle import MANIFEST, new_bundle, open_bundle, refuse_existing, restored_bundle
from qa.bundles.manifest import recorded_name, recorded_options
from qa.text.settings import QASettings


@pytest.fixture
def bundle(tmp_path):
    return seal(tmp_path / "b", QASettings(n_best=7)).path


def leftovers(folder):
    return sorted(p.name for p in folder.iterdir())


def test_written_bundle_opens_with_its_settings_and_a_hash(bundle):
    opened = open_bundle(bundle, format="pytorch")
    assert opened.settings.n_best == 7
    assert set(opened.manifest.files) == {"README.md", "model.safetensors", "qa.json"}
    assert len(opened.sha256) == 64
    assert leftovers(bundle.parent) == ["b"]


def test_a_manifest_does_not_tell_where_files_lay(tmp_path):
    given = {"model": "runs/teacher", "seed": 3, "cache": None}
    options = make_dataclass("Options", ["out", "data", *given])
    config = recorded_options(options(out=tmp_path / "b", data=str(tmp_path / "train.json"), **given))
    seal(tmp_path / "b", config=config)
    kept = {"out": "b", "data": "train.json", **given}
    (told,) = open_bundle(tmp_path / "b").lineage()
    assert json.loads((tmp_path / "b" / MANIFEST).read_text())["config"] == told.config == kept


@pytest.mark.parametrize(
    ("given", "recorded"),
    [("{}/made", "made"), ("made", "made"), ("sub/../made", "made"), ("of-nobody/bert", "of-nobody/bert")],
)
def test_a_manifest_names_a_folder_without_its_place(tmp_path, monkeypatch, given, recorded):
    monkeypatch.chdir(tmp_path)
    for name in ("made", "sub"):
        (tmp_path / name).mkdir()
    assert recorded_name(given.format(tmp_path)) == recorded


def test_any_changed_byte_is_found(bundle):
    weights = bundle / "model.safetensors"
    weights.write_bytes(b"weightz")
    with pytest.raises(BundleError, match=r"model\.safetensors: changed since it was made"):
        open_bundle(bundle)


def test_lost_files_and_an_unfinished_folder_are_named(bundle, tmp_path):
    (bundle / "qa.json").unlink()
    with pytest.raises(BundleError, match=r"qa\.json: the manifest lists this file, but it is missing"):
        open_bundle(bundle)
    (bundle / MANIFEST).unlink()
    with pytest.raises(BundleError, match="not a finished bundle"):
        open_bundle(bundle)
    (bundle / "student").mkdir()
    (bundle / "student" / MANIFEST).touch()
    with pytest.raises(BundleError, match="give one of the models in it: student"):
        open_bundle(bundle)
    with pytest.raises(BundleError, match="no such bundle folder"):
        open_bundle(tmp_path / "absent")


def test_a_restored_bundle_has_its_own_files_whatever_is_written(tmp_path):
    """Another version of transformers writes another config.json."""
    seal(tmp_path / "b", files={"config.json": "{}"})
    with restored_bundle(open_bundle(tmp_path / "b"), tmp_path / "again") as folder:
        (folder / "model.safetensors").write_bytes(b"weights")
        (folder / "config.json").write_text('{"later": 1}')
    assert open_bundle(tmp_path / "again").sha256 == open_bundle(tmp_path / "b").sha256

    def with_another_file():
        with restored_bundle(open_bundle(tmp_path / "b"), tmp_path / "wrong") as folder:
            (folder / "model.safetensors").write_bytes(b"weights")
            (folder / "probe.json").write_text("{}")

    with pytest.raises(BundleError, match=r"probe\.json"):
        with_another_file()
    assert leftovers(tmp_path) == ["again", "b"]


def test_what_a_killed_process_left_is_cleared_and_a_running_ones_is_not(tmp_path):
    """One with the number of this process may be of another thread, but not a day later."""
    numbers = {"dead": 999999999, "alive": os.getppid(), "ours": os.getpid(), "old": os.getpid()}
    drafts = {
        name: tmp_path / f".b.unfinished-{name}-{machine_mark()}-{number}" for name, number in numbers.items()
    }
    for draft in drafts.values():
        draft.mkdir()
    os.utime(drafts["old"], (0, 0))
    seal(tmp_path / "b")
    assert leftovers(tmp_path) == sorted([drafts["alive"].name, drafts["ours"].name, "b"])


def test_names_that_are_no_utf8_do_not_lose_a_bundle(tmp_path):
    odd = os.fsdecode(b"M\xfcller.json")
    seal(tmp_path / "b", training_data={"name": odd, "sha256": "0" * 64})
    assert open_bundle(tmp_path / "b").manifest.training_data.name == odd


def test_a_manifest_without_the_settings_is_refused(bundle):
    change_json(bundle / MANIFEST, files={"model.safetensors": "0" * 64})
    with pytest.raises(BundleError, match=r"manifest\.json: not a valid manifest \(files lacks qa\.json\)"):
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


def test_a_bundle_of_another_format_is_refused(bundle):
    with pytest.raises(BundleError, match=r"\(python -m export.onnx --model \S+ makes one\)$"):
        open_bundle(bundle, format="onnx")


def test_existing_folder_is_never_overwritten(bundle):
    before = {p.name: p.read_bytes() for p in bundle.iterdir()}
    with pytest.raises(BundleError, match="exists already"), new_bundle(bundle, RECORD):
        pytest.fail("the body must not run")
    assert {p.name: p.read_bytes() for p in bundle.iterdir()} == before


def test_a_broken_link_is_refused_as_a_folder_is(tmp_path):
    (tmp_path / "link").symlink_to("missing")
    with pytest.raises(BundleError, match="link: exists already"):
        refuse_existing(tmp_path / "link")


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), ValueError("x")]
)
def test_nothing_stays_behind_when_writing_fails(tmp_path, error):
    def fails():
        with new_bundle(tmp_path / "b", RECORD) as draft:
            (draft.path / "model.safetensors").write_bytes(b"weights")
            raise error

    with pytest.raises(type(error)):
        fails()
    assert leftovers(tmp_path) == []
