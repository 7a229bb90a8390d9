"""The page from rows that exist: what is left out is named in one line, the rest is shown, and nothing is
measured."""

import json
import shlex
import shutil

import pytest
from benchmark_results import scored
from compare_cli import run_cli
from json_files import change_json
from msgspec.structs import replace
from report_material import STUDENT, write_material

from benchmarks import measure_and_show
from benchmarks.measure import accuracy
from benchmarks.measure.accuracy import answers_path
from benchmarks.measure_and_show import results_of_bundles
from benchmarks.results.files import ResultFile, append_result
from qa.base.files import file_sha256
from qa.bundles.bundle import MANIFEST, open_bundle


@pytest.fixture(autouse=True)
def nothing_is_measured(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("measured")

    for name in ("evaluate", "load_runtime", "Worker"):
        monkeypatch.setattr(accuracy, name, refuse)
    monkeypatch.setattr(measure_and_show, "measure_latency", refuse)
    monkeypatch.setattr(ResultFile, "append", refuse)


@pytest.fixture
def material(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(accuracy, "MIN_QUESTIONS", 1)
    return write_material(tmp_path)


def test_the_page_is_written_beside_the_rows_and_they_stay(material, monkeypatch, capsys):
    rows_path, data, _ = material
    before = rows_path.read_bytes()
    assert run_cli(monkeypatch, "--report", "--rows", rows_path, "--data", data) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[-3:-1] == [
        f"rows: {rows_path}",
        f"report: {rows_path.with_name('report.html')}",
    ]
    assert captured.err == ""
    hint = captured.out.splitlines()[-1]
    assert ["agreement" in captured.out, "peak MB" in captured.out] == [False, False]
    assert run_cli(monkeypatch, *shlex.split(hint.partition("-m benchmarks.compare ")[2])) == 0
    details = capsys.readouterr().out
    assert ["agreement" in details, "peak MB" in details] == [True, True]
    assert "student-int8" in rows_path.with_name("report.html").read_text()
    assert rows_path.read_bytes() == before


def test_a_line_that_is_no_result_is_left_out_by_name(material, monkeypatch, capsys):
    rows_path, data, _ = material
    lines = rows_path.read_text(encoding="utf-8").split("\n")[:-1]  # names may hold what else ends a line
    lines[5] = json.dumps(json.loads(lines[5]) | {"latency_ms_p90": [1]})
    rows_path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert run_cli(monkeypatch, "--report", "--rows", rows_path, "--data", data) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("left out: rows.jsonl: line 6 is not a result")
    assert "latency_ms_p90" in line
    page = rows_path.with_name("report.html").read_text()
    assert page.count("left out: rows.jsonl: line 6") == 1
    assert str(rows_path.parent) not in page


def test_without_a_sound_row_nothing_is_written(material, monkeypatch, capsys):
    rows_path, data, _ = material
    for content, message in ((b"", "has no result (it is empty)"), (b"{}\n", "line 1 is not a result")):
        rows_path.write_bytes(content)
        assert run_cli(monkeypatch, "--report", "--rows", rows_path, "--data", data) == 2
        assert message in capsys.readouterr().err
    assert not rows_path.with_name("report.html").exists()


def test_another_data_file_is_refused_and_an_old_page_stays(material, tmp_path, monkeypatch, capsys):
    rows_path, data, _ = material
    page = rows_path.with_name("report.html")
    page.write_text("old")
    other, broken = tmp_path / "other.json", tmp_path / "broken.json"
    other.write_text(data.read_text() + " ")
    broken.write_text("{")
    for words, message in (
        (("--data", other), "but the rows were measured on data.json"),
        (("--data", broken), "measured on"),
        (("--data", tmp_path / "no"), "no such"),
    ):
        assert run_cli(monkeypatch, "--report", "--rows", rows_path, *words) == 2
        (error,) = capsys.readouterr().err.splitlines()
        assert error.startswith("error: ")
        assert message in error
    assert page.read_text() == "old"
    # The default data is another file, which is said and no fault.
    assert run_cli(monkeypatch, "--report", "--rows", rows_path) == 0
    assert "give it: --data data.json" in capsys.readouterr().err
    assert "give it: --data data.json" in page.read_text()


def test_a_bundle_changed_since_its_row_is_left_out(material, make_bundle, tmp_path, monkeypatch, capsys):
    rows_path, data, rows = material
    bundle = make_bundle()
    rows_path.unlink()
    for result in rows:
        if result.model == "student":
            result.model = bundle.name
            result.bundle_sha256 = open_bundle(bundle).sha256
        append_result(rows_path, result)
    words = ("--report", "--rows", rows_path, "--data", data)
    assert run_cli(monkeypatch, bundle, *words) == 0
    page = rows_path.with_name("report.html")
    assert page.read_text().count('data-target="cpu"') == 1 + 2
    assert f"{bundle.name} --data" in page.read_text()  # the command repeats this page
    capsys.readouterr()

    changed = tmp_path / "changed" / bundle.name
    shutil.copytree(bundle, changed)
    change_json(changed / MANIFEST, made="again")
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    assert run_cli(monkeypatch, changed, damaged, bundle, *words) == 1
    first, second = capsys.readouterr().err.splitlines()
    has_changed = (
        f"left out: {changed.relative_to(tmp_path)}: has changed since it was measured (its hash is "
    )
    assert first.startswith(has_changed)
    assert first.endswith("compare it again, without --report")
    assert second.startswith("left out: damaged: no manifest.json")
    assert page.read_text().count('data-target="cpu"') == 1 + 2
    assert run_cli(monkeypatch, changed, *words) == 2
    assert "has changed since it was measured" in capsys.readouterr().err
    never = make_bundle(seed=1)
    assert run_cli(monkeypatch, never, *words) == 2
    assert "was not measured; compare it first" in capsys.readouterr().err


def test_another_baseline_needs_no_measurement(material, make_bundle, monkeypatch, capsys):
    """The student is the baseline of the others: F1 of 600, 500 and 466.7 of 700."""
    rows_path, data, results = material
    student = open_bundle(make_bundle())
    rows_path.unlink()
    for result in results:
        if result.bundle_sha256 == STUDENT:
            result.bundle_sha256 = student.sha256
        append_result(rows_path, result)
    kept = answers_path(rows_path, STUDENT, file_sha256(data))
    kept.rename(answers_path(rows_path, student.sha256, file_sha256(data)))
    pages = []
    monkeypatch.setattr(measure_and_show, "write_report", lambda path, page: pages.append(page))
    words = ("--report", "--rows", rows_path, "--data", data)
    assert run_cli(monkeypatch, *words, "--baseline", student.path) == 0
    (page,) = pages
    entries = {e.model: e for e in page.groups[0].entries}
    assert page.groups[0].baseline_name == "student"
    assert entries["teacher"].retained.mean == pytest.approx(6 / 5)
    assert entries["student-int8"].retained.mean == pytest.approx(14 / 15)
    assert entries["teacher"].retained.low < 6 / 5 < entries["teacher"].retained.high
    assert page.groups[0].speedup(entries["teacher"].unpadded) == pytest.approx(20.25 / 40.5)
    assert "--baseline" in page.command
    assert run_cli(monkeypatch, *words, "--baseline", make_bundle(seed=1)) == 2
    assert "was not measured" in capsys.readouterr().err


def test_intervals_of_another_baseline_are_dropped():
    ends = {"low": 0.9, "high": 1.1}
    kept = {f"{name}_retained_{end}": at for name in ("exact", "f1") for end, at in ends.items()}
    results = [scored(), scored("small", 60.0), scored("int8", 50.0, **kept)]
    (group,) = measure_and_show.compared(results, [], results[1].bundle_sha256)
    (int8,) = [e for e in group.entries if e.model == "int8"]
    assert group.baseline_name == "small"
    assert (int8.exact_retained, int8.retained) == (1.0, 50 / 60)


def test_a_bundle_brings_what_other_tools_made_of_it(material, make_bundle):
    results = material[2]
    sha256 = open_bundle(make_bundle()).sha256
    own = replace(results[1], bundle_sha256=sha256)
    built = replace(results[2], model="student-openvino", toolchain="openvino-int8", bundle_sha256="9" * 64)
    of_it = replace(built, parent_sha256=sha256)
    of_another = replace(built, parent_sha256="8" * 64)
    assert results_of_bundles([*results, own, of_it], [make_bundle()]) == ([own, of_it], [])
    assert results_of_bundles([*results, own, of_another], [make_bundle()]) == ([own], [])
