"""Whole files or none, and full disks said before work begins."""

import errno
import os
from pathlib import Path

import pytest

from qa.base.errors import OptionError, SquadFormatError
from qa.base.files import check_free_space, check_new_file, machine_mark, write_whole
from qa.data import datasets
from qa.data.datasets import resolve
from qa.data.records import read_records
from qa.data.squad import read_squad


def test_file_is_replaced_whole(tmp_path):
    path = tmp_path / "f"
    path.write_text("old")
    write_whole(path, "nëw")
    assert path.read_text(encoding="utf-8") == "nëw"
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


def test_old_file_survives_a_full_disk(tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_text("old")

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_whole(path, "new")
    assert caught.value.filename == str(path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


def test_a_link_stays_one_and_its_file_is_written(tmp_path):
    (tmp_path / "large disk").mkdir()
    link = tmp_path / "f"
    link.symlink_to("large disk/f")
    check_new_file(link, "--out")
    for text in ("first", "second"):
        write_whole(link, text)
        assert link.is_symlink()
        assert (tmp_path / "large disk" / "f").read_text() == text


def test_two_writers_with_one_process_number_do_not_meet(tmp_path):
    """Writers in two containers: while the first checks what it wrote, the second writes all of its own."""
    partials = []

    def meanwhile(partial):
        partials.append(partial)
        if len(partials) == 1:
            write_whole(tmp_path / "f", "second", meanwhile)
            assert partial.read_text() == "first"

    write_whole(tmp_path / "f", "first", meanwhile)
    assert len(set(partials)) == 2
    assert (tmp_path / "f").read_text() == "first"


def test_what_a_killed_process_left_is_cleared_and_a_running_ones_is_not(tmp_path):
    dead, alive, of_another = (
        f"f.partial-0-{machine_mark()}-999999999",
        f"f.partial-0-{machine_mark()}-{os.getppid()}",
        "g.partial-9",
    )
    elsewhere, old, mine = "f.partial-0-01234567-999999999", "f.partial-1-01234567-1", "f.partial-mine.txt"
    for name in (dead, alive, of_another, elsewhere, old, mine):
        (tmp_path / name).write_text("half")
    os.utime(tmp_path / old, (0, 0))
    write_whole(tmp_path / "f", "new")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["f", alive, of_another, elsewhere, mine])


def test_what_is_no_file_is_not_replaced_by_one(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OptionError, match=r"--out .*pipe: is a device or a pipe; give a file"):
        check_new_file(tmp_path / "pipe", "--out")
    with pytest.raises(OptionError, match=r"--out .*: is a folder; give a file"):
        check_new_file(tmp_path, "--out")
    with pytest.raises(OptionError, match="--out -: give a file"):
        check_new_file(Path("-"), "--out")
    for read in (read_records, lambda name: resolve(name, "dev")):
        with pytest.raises(OptionError, match="pipe: is a device or a pipe; give a file"):
            read(str(tmp_path / "pipe"))


def test_a_file_is_written_into_a_new_folder_where_one_can_be_made(tmp_path, monkeypatch):
    path = tmp_path / "new" / "folder" / "f"
    check_new_file(path, "--out")
    write_whole(path, "text")
    assert path.read_text() == "text"
    with pytest.raises(OptionError, match=r"--out .*f: .*f is no folder"):
        check_new_file(path / "g", "--out")
    (tmp_path / "link").symlink_to("gone")
    with pytest.raises(OptionError, match=r"--out .*link: .*link is no folder"):
        check_new_file(tmp_path / "link" / "f", "--out")
    monkeypatch.setattr(os, "access", lambda folder, mode: False)
    with pytest.raises(OptionError, match=rf"--out .*other: {tmp_path} cannot be written to"):
        check_new_file(tmp_path / "other" / "f", "--out")


def test_free_space_is_that_of_the_nearest_folder(tmp_path):
    check_free_space(tmp_path / "not" / "yet", 1, "a test")
    with pytest.raises(OptionError, match="the disk is full: a test needs"):
        check_free_space(tmp_path / "not" / "yet", 10**18, "a test")


def test_download_with_another_hash_is_not_kept(tmp_path, monkeypatch):
    (tmp_path / "remote").mkdir()
    (tmp_path / "remote" / "dev-v2.0.json").write_text("{}")
    monkeypatch.setattr(datasets, "SQUAD_URL", (tmp_path / "remote").as_uri() + "/")
    monkeypatch.setattr(datasets, "cache_folder", lambda: tmp_path / "cache")
    with pytest.raises(Exception, match="has SHA-256"):
        datasets.resolve("squad_v2", "dev")
    assert not (tmp_path / "cache").exists()


def test_unknown_data_lists_the_known_names():
    with pytest.raises(SquadFormatError, match="embedded, everyday, squad, squad_v2"):
        datasets.resolve("squad_v3", "dev")


def test_shipped_excerpt_is_what_its_notice_says():
    train, dev = (read_squad(datasets.resolve("embedded", split)) for split in ("train", "dev"))
    assert (len(train), len({e.title for e in train})) == (1500, 40)
    assert (len(dev), len({e.title for e in dev})) == (503, 16)
    assert not {e.title for e in train} & {e.title for e in dev}
    assert sum(p.stat().st_size for p in Path(datasets.SHIPPED["embedded"]).parent.glob("*.gz")) < 500_000
