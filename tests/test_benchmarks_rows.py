"""Result rows: what is written is what is read, nothing is lost, and a fault is named with its line."""

import json
import platform
import resource

import pytest

from benchmarks.rows import KEYS, REQUIRED, RowsError, append_row, machine, make_row, read_rows, rows_so_far
from qa.errors import OptionError

CPUINFO = """processor\t: 0
cpu family\t: 26
model\t\t: 2
model name\t: AMD EPYC
flags\t\t: fpu avx2 avx512_vnni avx512f bmi1

processor\t: 1
model name\t: AMD EPYC
"""


def minimal_row(**more):
    return {key: key for key in REQUIRED} | {"data": {"name": "dev.json", "sha256": "d"}} | more


def test_rows_come_back_as_written_in_order(tmp_path):
    path = tmp_path / "new" / "rows.jsonl"
    first, second = minimal_row(f1=80.25, lengths="real"), minimal_row(model="Ä", lengths=384, threads=2)
    append_row(path, first)
    once = path.read_bytes()
    append_row(path, second)
    assert read_rows(path) == [first, second]
    assert path.read_bytes().startswith(once)
    assert path.read_bytes().count(b"\n") == 2


def test_unknown_figures_are_absent_and_keys_stand_in_order():
    row = make_row(minimal_row(f1=None, exact=1.0, n=3))
    assert "f1" not in row
    assert list(row) == [key for key in KEYS if key in row]


def test_a_row_with_a_wrong_key_or_without_a_required_one_is_refused(tmp_path):
    with pytest.raises(ValueError, match="latencyms"):
        append_row(tmp_path / "rows.jsonl", minimal_row(latencyms=3))
    with pytest.raises(ValueError, match="command"):
        append_row(tmp_path / "rows.jsonl", minimal_row(command=None))
    assert not (tmp_path / "rows.jsonl").exists()


@pytest.mark.parametrize("line", ["{", "[]", "3", '{"model": "m"}'])
def test_a_line_that_is_no_row_is_named(tmp_path, line):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(minimal_row()) + "\n" + line + "\n")
    with pytest.raises(RowsError, match=r"rows\.jsonl: line 2"):
        read_rows(path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"data": "dev.json"},
        {"f1": "high"},
        {"lengths": "long"},
        {"lengths": 0},
        {"status": "ok"},
        {"latency_ms_p50": 1.0, "lengths": 384},
        {"windows_per_s": 0},
        {"round_ms": [1.0, None]},
    ],
)
def test_a_row_with_values_of_another_form_is_named_before_anything_is_measured(tmp_path, wrong):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(minimal_row()) + "\n" + json.dumps(minimal_row(**wrong)) + "\n")
    with pytest.raises(RowsError, match=r"rows\.jsonl: line 2.*; remove that line and measure again$"):
        rows_so_far(path)


@pytest.mark.parametrize("room", [0, 10, 200])
def test_a_full_disk_leaves_the_file_as_it_was(tmp_path, room):
    path = tmp_path / "rows.jsonl"
    append_row(path, minimal_row())
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + room, limits[1]))  # as on a full disk, a part is still written
    try:
        with pytest.raises(OSError, match="File too large"):
            append_row(path, minimal_row(f1=1.0))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    append_row(path, minimal_row(model="next"))
    assert [row["model"] for row in read_rows(path)] == ["model", "next"]


def test_machine_names_cpu_cores_and_useful_flags_only():
    text = machine(CPUINFO)
    assert text.startswith("AMD EPYC (family 26, model 2), ")
    assert text.endswith(" avx2 avx512f avx512_vnni")
    assert "core" in text
    assert not platform.node() or platform.node() not in machine()
    assert machine("") != ""


def test_a_torn_line_takes_no_other_row_with_it(tmp_path):
    path = tmp_path / "rows.jsonl"
    append_row(path, minimal_row())
    with open(path, "ab") as stream:
        stream.write(b'{"model": "x", "bund')
    append_row(path, minimal_row(model="next"))
    lines = path.read_text().splitlines()
    assert [json.loads(line)["model"] for line in (lines[0], lines[2])] == ["model", "next"]
    with pytest.raises(RowsError, match=r"line 2 is not a JSON object.*remove that line"):
        read_rows(path)


def test_rows_that_cannot_be_written_are_refused_before_anything_is_measured(tmp_path, monkeypatch):
    assert rows_so_far(tmp_path / "new" / "folder" / "rows.jsonl") == []
    with pytest.raises(OptionError, match=r"--rows .*: is a folder; give a file"):
        rows_so_far(tmp_path)
    append_row(tmp_path / "kept.jsonl", minimal_row())
    monkeypatch.setattr("os.access", lambda path, mode: path != tmp_path / "kept.jsonl")
    with pytest.raises(OptionError, match=r"--rows .*kept\.jsonl: cannot be written to; give another file"):
        rows_so_far(tmp_path / "kept.jsonl")
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match="file is no folder"):
        rows_so_far(tmp_path / "file" / "rows.jsonl")
