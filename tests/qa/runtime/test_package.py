"""A phone's file alone is a model: its package holds all that answering needs."""

import io
import json
import shutil
import struct
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from qa import load
from qa.base.commands import run_command
from qa.base.errors import BundleError, OptionError
from qa.base.shipped import ASKED, FOLDER
from qa.bundles.bundle import open_bundle
from qa.evaluate import EvaluateOptions, evaluate
from qa.runtime.package import open_packaged, read_zip

FILE = FOLDER / ASKED / "model.tflite"
TEXT = "In spring she lived in Paris, Zu\u0308rich and 東京. [SEP] Naïve CAFÉ\u200b, 1,900 €."


@pytest.fixture
def lone(tmp_path, monkeypatch):
    """The file alone in a folder, with an empty cache."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return shutil.copy(FILE, tmp_path / "phone.tflite")


def test_the_file_alone_answers_as_its_bundle(lone, tmp_path, capsys):
    alone = load(lone, threads=1)
    whole = load(threads=1)
    for question in ("Where did she live in spring?", "How much is it?"):
        assert alone.answer(question, TEXT) == whole.answer(question, TEXT)
    assert alone.tokenizer.encode(TEXT).ids == whole.tokenizer.encode(TEXT).ids
    assert alone.settings == whole.settings
    before = [path.stat().st_ino for path in (tmp_path / "home").rglob("manifest.json")]
    (tmp_path / "p.txt").write_text(TEXT)
    words = ["--model", str(lone), str(tmp_path / "p.txt"), "Where did she live in spring?", "--json"]
    run_command("ask", words)
    assert json.loads(capsys.readouterr().out)["answer"].startswith("Paris")
    assert [path.stat().st_ino for path in (tmp_path / "home").rglob("manifest.json")] == before != []


def test_without_a_folder_to_unpack_it_in_the_way_out_is_said(lone, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "/proc/nobody")
    with pytest.raises(OptionError, match=r"^/proc/nobody/.*; set XDG_CACHE_HOME to a folder"):
        load(lone)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert load(lone).bundle.path.is_relative_to(tmp_path / "cache" / "pocketqa")


def test_the_file_alone_is_scored_as_its_bundle(lone, small_squad_v2, monkeypatch):
    upper = lone.rename(lone.with_suffix(".TFLITE"))
    alone, whole = (
        evaluate(EvaluateOptions(data=str(small_squad_v2), model=path)) for path in (upper, FILE.parent)
    )
    assert (alone["f1"], alone["null_threshold"]) == (whole["f1"], whole["null_threshold"])


@pytest.mark.parametrize("stem", ["..", "\u6a21" * 78])
def test_the_name_of_the_file_is_no_path_of_the_cache(lone, tmp_path, stem):
    other = load(lone, threads=1).bundle.path
    odd = shutil.copy(FILE, tmp_path / f"{stem}.tflite")
    for _ in range(2):
        assert load(odd, threads=1).answer("How much is it?", TEXT).text
    assert (other / "manifest.json").is_file()


def test_a_manifest_of_something_else_beside_it_is_none_of_its_own(lone, tmp_path):
    (tmp_path / "manifest.json").write_text('{"name": "My site", "icons": []}')
    assert load(lone, threads=1).answer("How much is it?", TEXT).text


def test_in_its_folder_it_is_the_bundle(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert open_packaged(FILE) == open_bundle(FOLDER / ASKED)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_and_one_without_a_package_are_refused(lone, tmp_path):
    data = FILE.read_bytes()
    for content, says in (
        (data[:-1], "phone.tflite: "),
        (data[:5000] + b"x" + data[5001:], "phone.tflite: the model changed since it was packaged"),
        (data[:9000], "phone.tflite: has no package"),
        (b"no model", "phone.tflite: not a TFLite model"),
    ):
        (tmp_path / "phone.tflite").write_bytes(content)
        with pytest.raises(BundleError, match=says):
            load(lone)
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_a_member_that_unpacks_to_more_than_it_claims_takes_no_memory(lone, method):
    """A stranger's package of 200 kB that would fill 200 MB; tracemalloc sees what zlib and bz2 take."""
    data = FILE.read_bytes()
    _, texts = read_zip(FILE, data)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in texts.items():
            is_bomb = name == "vocab.txt"
            archive.writestr(name, b"a" * 200_000_000 if is_bomb else text, method if is_bomb else 8)
        claimed = archive.getinfo("vocab.txt")
        size, claimed.file_size = claimed.file_size, 1_000_000
    content = packed.getvalue().replace(struct.pack("<I", size), struct.pack("<I", 1_000_000))
    why = "Bad CRC-32" if method == zipfile.ZIP_DEFLATED else "packed in another way"
    tracemalloc.start()
    try:
        with pytest.raises(BundleError, match=why):
            read_zip(Path(lone), content)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()
