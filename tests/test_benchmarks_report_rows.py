"""The page from rows that exist: what is left out is named in one line, the rest is shown, and nothing is measured."""

import json

import pytest
from compare_cli import run_cli
from report_material import write_material

from benchmarks import compare, measure
from benchmarks.compare import CompareConfig, command_line
from benchmarks.report.sound_rows import rows_of_bundles, sound_rows
from benchmarks.rows import RowsError
from qa.bundle import MANIFEST, open_bundle
from qa.errors import OptionError


@pytest.fixture(autouse=True)
def nothing_is_measured(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("measured")

    for name in ("measure_accuracy", "load_runtime", "Worker"):
        monkeypatch.setattr(measure, name, refuse)
    monkeypatch.setattr(compare, "measure_latency", refuse)
    monkeypatch.setattr(compare, "append_row", refuse)


@pytest.fixture
def material(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_material(tmp_path)


def test_the_page_is_written_beside_the_rows_and_they_stay(material, monkeypatch, capsys):
    rows_path, data, _ = material
    before = rows_path.read_bytes()
    assert run_cli(monkeypatch, "--report", "--rows", rows_path, "--data", data) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines() == [f"rows: {rows_path}", f"report: {rows_path.with_name('report.html')}"]
    assert captured.err == ""
    assert "student-int8" in rows_path.with_name("report.html").read_text()
    assert rows_path.read_bytes() == before


OLDER = {
    "target": None,
    "data": None,
    "runtime": None,
    "latency_ms_p99": None,
    "lengths": None,
    "f1": "66.7",
    "size_bytes": float("nan"),
    "n_runs": True,
    "model": 3,
    "latency_ms_p90": [1],
    "latency_ms_mean": 0,
    "latency_ms_p50": -0.5,
    "params": 0,
    "params_without_embeddings": -1,
    "instructions_per_window": -5,
}


@pytest.mark.parametrize(("key", "value"), OLDER.items())
def test_a_row_of_an_older_form_is_left_out_by_name(material, key, value, monkeypatch, capsys):
    rows_path, data, rows = material
    changed = {k: v for k, v in (rows[5] | {key: value}).items() if v is not None}
    lines = [json.dumps(changed if number == 5 else row) for number, row in enumerate(rows)]
    rows_path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert run_cli(monkeypatch, "--report", "--rows", rows_path, "--data", data) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("left out: rows.jsonl: line 6")
    assert key in line
    assert len(line) < 200
    page = rows_path.with_name("report.html").read_text()
    assert page.count("left out: rows.jsonl: line 6") == 1
    assert str(rows_path.parent) not in page
    assert page.count('data-target="cpu"') == 5 + 8 - 1


def test_a_deviation_of_nothing_is_sound(material):
    rows_path, _, rows = material
    rows_path.write_text(json.dumps(rows[-2] | {"latency_ms_std": 0, "load_ms": 0}) + "\n", encoding="utf-8")
    assert sound_rows(rows_path)[1] == []


@pytest.mark.parametrize("line", [b"{", b"[]", b"\xff\xfe", b"", b'{"model": "m"}'])
def test_lines_that_are_no_rows_are_left_out(material, line):
    rows_path, _, rows = material
    content = rows_path.read_bytes()
    rows_path.write_bytes(line + b"\n" + content)
    found, faults = sound_rows(rows_path)
    assert found == rows
    assert len(faults) == 1
    assert f"{rows_path}: line 1 " in faults[0]


def test_without_a_sound_row_nothing_is_written(material, monkeypatch, capsys):
    rows_path, data, _ = material
    for content, message in ((b"", "holds no result row (it is empty)"), (b"{}\n", "line 1 is not a result row")):
        rows_path.write_bytes(content)
        assert run_cli(monkeypatch, "--report", "--rows", rows_path, "--data", data) == 2
        assert message in capsys.readouterr().err
    with pytest.raises(RowsError, match="no such file"):
        sound_rows(rows_path.with_name("none.jsonl"))
    assert not rows_path.with_name("report.html").exists()


def test_another_data_file_is_refused_and_an_old_page_stays(material, tmp_path, monkeypatch, capsys):
    rows_path, data, _ = material
    page = rows_path.with_name("report.html")
    page.write_text("old")
    other = tmp_path / "other.json"
    other.write_text(data.read_text() + " ")
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    for wrong, message in (
        (other, "but the rows were measured on data.json"),
        (broken, "measured on"),
        (tmp_path / "no", "no such"),
    ):
        assert run_cli(monkeypatch, "--report", "--rows", rows_path, "--data", wrong) == 2
        error = capsys.readouterr().err
        assert error.startswith("error: ")
        assert error.count("\n") == 1
        assert message in error
    assert run_cli(monkeypatch, "--report", "--rows", rows_path, "--data", data, "--page", data) == 2
    assert "is an input of this command" in capsys.readouterr().err
    assert page.read_text() == "old"
    assert run_cli(monkeypatch, "--report", "--rows", rows_path) == 0  # the default data is another file: said, and no fault
    assert "give it: --data data.json" in capsys.readouterr().err
    assert "give it: --data data.json" in page.read_text()


def test_a_bundle_changed_since_its_row_is_left_out(material, make_bundle, tmp_path, monkeypatch, capsys):
    rows_path, data, rows = material
    bundle = make_bundle()
    renamed = {"model": bundle.name, "bundle_sha256": open_bundle(bundle).sha256}
    lines = [json.dumps(row | (renamed if row["model"] == "student" else {})) for row in rows]
    rows_path.write_text("\n".join(lines), encoding="utf-8")
    words = ("--report", "--rows", rows_path, "--data", data)
    assert run_cli(monkeypatch, bundle, *words) == 0
    page = rows_path.with_name("report.html")
    assert page.read_text().count('data-target="cpu"') == 1 + 2
    assert f"{bundle.name} --data" in page.read_text()  # the command repeats this page
    capsys.readouterr()

    manifest = json.loads((bundle / MANIFEST).read_text())
    changed = tmp_path / "changed" / bundle.name
    changed.mkdir(parents=True)
    for file in bundle.iterdir():
        (changed / file.name).write_bytes(file.read_bytes())
    (changed / MANIFEST).write_text(json.dumps(manifest | {"made": "again"}))
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    assert run_cli(monkeypatch, changed, damaged, bundle, *words) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(f"left out: {changed.relative_to(tmp_path)}: has changed since its rows (it is ")
    assert first.endswith("compare it again, without --report")
    assert second.startswith("left out: damaged: no manifest.json")
    assert page.read_text().count('data-target="cpu"') == 1 + 2
    assert run_cli(monkeypatch, changed, *words) == 2
    assert "has changed since its rows" in capsys.readouterr().err
    never = make_bundle(seed=1)
    assert run_cli(monkeypatch, never, *words) == 2
    assert "was not measured; compare it first" in capsys.readouterr().err


def test_a_bundle_brings_what_other_tools_made_of_it(material, make_bundle):
    rows, bundle = material[2], make_bundle()
    peer = rows[2] | {"model": "student-peer", "peer": "openvino-int8", "bundle_sha256": "9" * 64}
    of_it, of_another = peer | {"parent_sha256": open_bundle(bundle).sha256}, peer | {"parent_sha256": "8" * 64}
    own = rows[1] | {"bundle_sha256": open_bundle(bundle).sha256}
    assert rows_of_bundles([*rows, own, of_it], [bundle]) == ([own, of_it], [])
    assert rows_of_bundles([*rows, own, of_another], [bundle]) == ([own], [])


def test_options_of_a_measurement_are_refused():
    for option, value in (("baseline", rows_path_of("x")), ("quick", True), ("lengths", ("128",)), ("skip_latency", True)):
        with pytest.raises(OptionError, match=rf"--{option.replace('_', '-')} must be left out with --report"):
            CompareConfig(report=True, **{option: value})
    with pytest.raises(OptionError, match="--report must be left out with --phone-log"):
        CompareConfig(report=True, phone_log=(rows_path_of("a.log"),), phone="Pixel 8")


def rows_path_of(name):
    return compare.Path(name)


def test_command_line_repeats_the_page():
    config = CompareConfig(rows=rows_path_of("a b.jsonl"), data="dev.json", report=True)
    assert command_line(config) == "python benchmarks/compare.py --data dev.json --rows 'a b.jsonl' --report"
