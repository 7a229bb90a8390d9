"""Tables out of hand-made rows: what is compared with what, newest first, unknown as a dash, and README markers."""

import re

import pytest

from benchmarks.rows import append_row
from benchmarks.table import TableConfig, as_markdown, as_text, main, replace_marked
from benchmarks.views.cells import UNKNOWN, Table
from benchmarks.views.groups import collect, newest_order
from benchmarks.views.names import RUNTIME_NAMES
from benchmarks.views.plots import Point, scatter
from benchmarks.views.tables import view_tables
from qa.errors import OptionError


def row(model="teacher", ms=None, **more):
    """A row of the baseline unless said otherwise; None takes a key away."""
    values = {
        "model": model, "bundle_sha256": f"sha of {model}", "stage": "teacher", "precision": "fp32",
        "runtime": "torch 2.13.0+cpu", "target": "cpu", "machine": "Z80, 1 core",
        "params": 23_501_826, "params_without_embeddings": 11_584_002, "size_bytes": 94_000_000,
        "data": {"name": "dev.json", "sha256": "data"}, "n": 1000, "n_windows": 1200, "exact": 70.0, "f1": 80.0,
        "baseline": "teacher", "baseline_sha256": "sha of teacher", "f1_retained": 1.0,
        "command": "python benchmarks/compare.py", "date": "2025-01-01T00:00:00Z", "status": "ok",
    }  # fmt: skip
    if ms is not None:
        names = ("p50", "p90", "p99", "mean")
        values |= {"threads": 1, "batch": 1, "lengths": 384, "n_warmup": 9, "n_runs": 6}
        values |= {f"latency_ms_{name}": value for name, value in zip(names, ms, strict=True)}
    return {key: value for key, value in (values | more).items() if value is not None}


NOT_MEASURED = dict.fromkeys(("f1", "exact", "n", "n_windows", "f1_retained", "runtime"))
NO_BASELINE = dict.fromkeys(("baseline", "baseline_sha256", "f1_retained"))
STUDENT = {
    "f1": 78.0,
    "exact": 68.0,
    "f1_retained": 0.975,
    "stage": "export",
    "precision": "int8",
    "runtime": "ai-edge-litert 2.3.0",
}


def cells(rows, view="summary"):
    table = view_tables(collect(rows), view)[0]
    return [dict(zip(table.headings, line, strict=True)) for line in table.cells]


def test_summary_shows_size_accuracy_and_speed_against_the_padded_baseline():
    rows = [
        row(ms=(100, 110, 120, 102)),
        row("int8", ms=(20, 22, 24, 20.4), size_bytes=20_900_000, same_answers=0.968, **STUDENT),
        row("int8", ms=(8, 12, 14, 8.5), lengths="real", size_bytes=20_900_000, same_answers=0.968, **STUDENT),
    ]
    teacher, student = cells(rows)
    assert student == {
        "model": "int8", "runtime": "LiteRT", "precision": "int8", "params": "23.5M", "no emb.": "11.6M", "MB": "20.9",
        "EM": "68.00", "F1": "78.00", "retained": "97.5%", "same": "96.8%",
        "ms@384": "20.0", "x@384": "5.00x", "ms@real": "8.0", "x@real": "12.00x",
    }  # fmt: skip
    assert (teacher["x@384"], teacher["ms@real"], teacher["same"]) == ("1.00x", UNKNOWN, UNKNOWN)


def test_latency_has_a_line_for_each_setting_with_both_ratios():
    rows = [row(ms=(100, 110, 120, 102)), row(ms=(40, 70, 80, 51), lengths="real"), row(ms=(50, 60, 70, 51), threads=2)]
    lines = cells(rows, "latency")
    assert [(line["lengths"], line["threads"]) for line in lines] == [("384", "1"), ("real", "1"), ("384", "2")]
    assert [line["x p50"] for line in lines] == ["1.00x", "2.50x", "2.00x"]
    assert [line["x mean"] for line in lines] == ["1.00x", "2.00x", "2.00x"]
    assert lines[0]["p90 ms"] == "110.0"
    assert lines[0]["load ms"] == UNKNOWN


def test_speed_is_not_compared_across_runs():
    rows = [row(ms=(100, 110, 120, 102)), row("int8", ms=(20, 22, 24, 20), date="2025-01-02T00:00:00Z", **STUDENT)]
    assert [line["x@384"] for line in cells(rows)] == ["1.00x", UNKNOWN]


def test_newer_rows_replace_older_and_a_changed_model_starts_afresh():
    rows = [row(ms=(100, 110, 120, 102)), row("s", ms=(50, 55, 60, 51)), row("s", ms=(40, 55, 60, 34))]
    assert cells(rows)[1]["ms@384"] == "40.0"
    changed = cells([*rows, row("s", bundle_sha256="another", f1=10.0)])
    assert (changed[1]["F1"], changed[1]["ms@384"]) == ("10.00", UNKNOWN)
    assert len(changed) == 2


def test_without_a_baseline_nothing_is_retained_and_the_table_says_so():
    rows = [row(ms=(9, 9, 9, 9), **NO_BASELINE)]
    table = view_tables(collect(rows), "summary")[0]
    assert cells(rows)[0]["retained"] == cells(rows)[0]["x@384"] == UNKNOWN
    assert any("no baseline" in note for note in table.notes)


def test_a_failed_model_is_listed_with_its_error_and_without_older_figures():
    rows = [row(), row("s", ms=(1, 1, 1, 1)), row("s", status="cannot load it", **NOT_MEASURED)]
    table = view_tables(collect(rows), "summary")[0]
    assert [line[0] for line in table.cells] == ["teacher", "s"]
    assert UNKNOWN in table.cells[1]
    assert "s failed: cannot load it" in table.notes


def test_answers_compared_with_the_baseline_for_want_of_the_parents_are_not_those_of_the_parent():
    made = STUDENT | {"parent_sha256": "sha of pruned", "same_answers": 0.672}
    rows = [row(), row("a", same_answers_as="teacher", **made), row("b", same_answers_as="pruned", **made)]
    rows.append(row("c", same_answers_as="teacher", **(made | {"parent_sha256": "sha of teacher"})))
    shown = {line["model"]: line["same"] for line in cells(rows)}
    assert shown == {"teacher": UNKNOWN, "a": UNKNOWN, "b": "67.2%", "c": "67.2%"}
    (table,) = view_tables(collect(rows), "summary")
    assert any("(– where the parent's were not kept)" in note for note in table.notes)
    assert not any("not kept" in note for note in view_tables(collect(rows[::2]), "summary")[0].notes)
    assert {line["model"]: line["as"] for line in cells(rows, "accuracy")} == {
        "teacher": UNKNOWN, "a": "teacher", "b": "pruned", "c": "teacher",
    }  # fmt: skip


def test_an_interval_against_another_baseline_does_not_stay():
    ends = {"f1_retained_low": 0.96, "f1_retained_high": 0.99}
    of_teacher = row("s", **STUDENT, **ends)
    of_other = row("s", **(STUDENT | {"baseline": "t", "baseline_sha256": "sha of t", "f1_retained": 1.02}))
    assert cells([of_teacher, row("s", **STUDENT)])[0]["retained"] == "97.5% (96.0–99.0)"
    assert cells([of_teacher, of_other])[0]["retained"] == "102.0%"


def test_data_sets_and_machines_are_not_mixed():
    groups = collect([row(), row(data={"name": "other.json", "sha256": "other"}), row(machine="6502, 1 core")])
    assert [(group.data, group.machine) for group in groups] == [
        ("dev.json", "Z80, 1 core"), ("other.json", "Z80, 1 core"), ("dev.json", "6502, 1 core"),
    ]  # fmt: skip


def test_models_stand_in_families_whatever_commands_measured_them():
    made = {"stage": "export", "parent_sha256": "sha of student"}
    rows = [
        row("student", stage="student"),
        row("student-onnx-int8", precision="int8", runtime="onnxruntime 1.31.1", **made),
        row("student-peer", bundle_sha256="sha of student", stage="student", peer="torch-compile"),
        row("teacher-onnx", stage="export", parent_sha256="sha of teacher", runtime="onnxruntime 1.31.1"),
        row("student-onnx-fp32", runtime="onnxruntime 1.31.1", **made),
        row("student-tflite-int8", precision="int8", runtime="ai-edge-litert 2.3.0", **made),
        row(),
    ]
    student = ["student", "student-tflite-int8", "student-onnx-fp32", "student-onnx-int8", "student-peer"]
    assert [line["model"] for line in cells(rows)] == ["teacher", "teacher-onnx", *student]


def test_a_family_stands_behind_its_parents_whatever_was_measured_last():
    student = row("student", stage="student", parent_sha256="sha of teacher")
    pruned = row("pruned", stage="prune", parent_sha256="sha of student")
    export = row("pruned-int8", stage="export", parent_sha256="sha of pruned")
    rows = [pruned, export, row(), student]
    (table,) = view_tables(collect(rows, newest_order(rows)), "summary")
    assert [line[0] for line in table.cells] == ["teacher", "student", "pruned", "pruned-int8"]


def test_the_family_is_all_models_but_peers(tmp_path):
    path, peer = tmp_path / "rows.jsonl", {"peer": "openvino-int8", "parent_sha256": "sha of teacher", "ms": (9, 9, 9, 9)}
    for one in (row(ms=(40, 70, 80, 51), lengths="real"), row("teacher-openvino-int8", lengths="real", **peer)):
        append_row(path, one)
    svg = tmp_path / "family.svg"
    for view, shown in (("family", False), ("summary", True)):
        assert ("teacher-openvino-int8" in main(TableConfig(path, view=view, plot=svg))) == shown
        assert (">teacher-openvino-int8<" in svg.read_text()) == shown


def test_a_plot_keeps_its_width_however_many_runtimes_it_names():
    runtimes = [*RUNTIME_NAMES, "tensorrt"]
    svg = scatter([Point(name, 10.0 + n, 70.0, name, "fp32") for n, name in enumerate(runtimes)], "ms", "test")
    assert all(f">{label}<" in svg for label in (*RUNTIME_NAMES.values(), "tensorrt"))
    figure = float(re.search(r'viewBox="0 0 ([\d.]+) ', svg)[1])
    ends = re.findall(r'd="M ([\d.]+) [\d.]+ \nL ([\d.]+) ', svg)
    axes = max(float(right) - float(left) for left, right in ends if float(right) < figure)
    assert axes > 0.8 * figure


def test_no_answer_columns_appear_where_there_are_such_questions():
    squad2 = row(HasAns_exact=60.0, HasAns_f1=66.0, HasAns_total=500, NoAns_exact=81.5, NoAns_f1=81.5, NoAns_total=500)
    assert cells([squad2], "accuracy")[0]["NoAns"] == "81.50"
    assert "NoAns" not in cells([row()], "accuracy")[0]


def test_a_busy_machine_is_mentioned():
    notes = view_tables(collect([row(ms=(1, 1, 1, 1), other_load=1.84)]), "latency")[0].notes
    assert any("1.8 cores busy" in note for note in notes)
    assert not any("busy" in note for note in view_tables(collect([row(ms=(1, 1, 1, 1), other_load=0.02)]), "latency")[0].notes)


def test_a_machine_that_was_not_idle_at_the_start_is_mentioned():
    """More than half a process waits or runs for each of two cores."""
    for load, said in ((1.0, False), (1.01, True)):
        rows = [row(ms=(1, 1, 1, 1), load_average=load, machine="Z80, 2 cores")]
        for view in ("summary", "latency"):
            notes = view_tables(collect(rows), view)[0].notes
            assert any("load average 1.0 on 2 cores" in note for note in notes) == said
        assert "load average" not in " ".join(view_tables(collect(rows), "accuracy")[0].notes)


def test_intervals_stand_beside_what_they_are_of():
    known = {"f1_low": 77.04, "f1_high": 78.96, "f1_retained_low": 0.968, "f1_retained_high": 0.981, "null_threshold": -1.25}
    rows = [row(f1_low=79.1, f1_high=80.9, f1_retained_low=1.0, f1_retained_high=1.0), row("s", **(STUDENT | known))]
    teacher, student = cells(rows)
    assert (teacher["retained"], student["retained"]) == ("100.0%", "97.5% (96.8–98.1)")
    student = cells(rows, "accuracy")[1]
    assert (student["F1"], student["own threshold"]) == ("78.00 (77.04–78.96)", "-1.25")
    assert any("intervals: 95%" in note for note in view_tables(collect(rows), "accuracy")[0].notes)
    compared_with_another = row("s", **(STUDENT | known | {"baseline_sha256": "another"}))
    assert cells([compared_with_another, row()])[1]["retained"] == UNKNOWN


def test_padded_is_the_greatest_length():
    rows = [row(ms=(100, 100, 100, 100)), row(ms=(30, 30, 30, 30), lengths=128), row(ms=(50, 50, 50, 50), lengths="real")]
    for order in (rows, rows[::-1]):
        (teacher,) = cells(order)
        assert (teacher["ms@384"], teacher["x@384"], teacher["x@real"]) == ("100.0", "1.00x", "2.00x")
        assert [line["lengths"] for line in cells(order, "latency")] == ["128", "384", "real"]
    assert any("teacher padded to 384 at 1 thread" in note for note in view_tables(collect(rows), "summary")[0].notes)


def test_quick_figures_are_marked_and_named():
    sure, quick = row(ms=(100, 100, 100, 100)), row("s", ms=(20, 20, 20, 20), quick=True, **STUDENT)
    teacher, student = cells([sure, quick])
    assert (teacher["ms@384"], student["ms@384"], student["x@384"], student["F1"]) == ("100.0", "20.0†", "5.00x†", "78.00")
    for view in ("summary", "latency"):
        (note,) = [n for n in view_tables(collect([sure, quick]), view)[0].notes if "quick" in n]
        assert note.endswith("were timed: s")
    (note,) = [n for n in view_tables(collect([sure | {"quick": True}, quick]), "summary")[0].notes if "quick" in n]
    assert note.endswith("were timed: all models")
    assert not any("quick" in n for n in view_tables(collect([sure]), "summary")[0].notes)


def test_batches_have_a_column_and_lines_of_their_own():
    batches = [
        row(threads=threads, batch=32, lengths=lengths, windows_per_s=windows_per_s, round_ms=[10.0] * 8, timed_s=60.4, n_runs=99)
        for threads, lengths, windows_per_s in ((2, "real", 190.0), (1, 384, 20.0), (1, "real", 101.4))
    ]
    rows = [row(ms=(100, 100, 100, 100)), *batches, row("s", ms=(20, 20, 20, 20), timed_s=61.0, latency_ms_first=33.3, **STUDENT)]
    teacher, student = cells(rows)
    assert (teacher["win/s, 32"], student["win/s, 32"], teacher["ms@384"]) == ("101", UNKNOWN, "100.0")
    assert any("32 are given at once, real lengths, threads: 1" in n for n in view_tables(collect(rows), "summary")[0].notes)
    lines = cells(rows, "latency")
    headings = ("batch", "threads", "lengths", "windows/s", "mean ms", "x mean")
    assert [tuple(line[heading] for heading in headings) for line in lines] == [
        ("1", "1", "384", UNKNOWN, "100.0", "1.00x"), ("32", "1", "384", "20.0", UNKNOWN, UNKNOWN),
        ("32", "1", "real", "101.4", UNKNOWN, UNKNOWN), ("32", "2", "real", "190.0", UNKNOWN, UNKNOWN),
        ("1", "1", "384", UNKNOWN, "20.0", "5.00x"),
    ]  # fmt: skip
    assert (lines[-1]["timed s"], lines[-1]["first ms"], lines[0]["first ms"]) == ("61", "33.3", UNKNOWN)


def test_rows_without_the_newer_keys_have_the_columns_they_had():
    rows = [row(ms=(100, 110, 120, 102)), row("int8", ms=(20, 22, 24, 20), **STUDENT)]
    assert {"batch", "windows/s", "x, 95 %", "first ms", "timed s"}.isdisjoint(cells(rows, "latency")[0])
    assert "win/s, 32" not in cells(rows)[0]
    assert not any("interval" in note or "peer" in note for note in view_tables(collect(rows), "summary")[0].notes)


def test_conditions_of_the_processes_stand_under_the_latency():
    one = {"governor": "performance", "affinity": [1], "load_average": 0.1}
    rows = [row(ms=(9, 9, 9, 9), **one), row(ms=(5, 5, 5, 5), threads=2, **(one | {"affinity": [0, 1], "load_average": 0.25}))]
    notes = view_tables(collect(rows), "latency")[0].notes
    for wanted in ("governor: performance", "pinned to cores: 1 (threads: 1); 0, 1 (threads: 2)", "start: 0.10 to 0.25"):
        assert any(wanted in note for note in notes)


def test_text_fits_a_terminal_and_is_aligned():
    names = ["teacher", "student-tflite-int8-weights"]
    long = {"precision": "int8-weights", "same_answers": 1.0}
    rows = [row(n, ms=(123.4, 1, 1, 123.4), lengths=lengths, **long) for n in names for lengths in (384, "real")]
    for view in ("summary", "latency"):
        lines = as_text(view_tables(collect(rows), view)[0]).splitlines()
        assert max(len(line) for line in lines) <= 140
        assert len(lines[1]) == len(lines[2]) == len(lines[3])


def test_markdown_escapes_html():
    table = Table("<b>dev</b>", ("model",), (("<img src=x>",),), ("A & B",))
    text = as_markdown(table)
    assert "<b>" not in text
    assert "| &lt;img src=x&gt; |" in text
    assert "<sub>A &amp; B</sub><br>" in text


def test_markdown_escapes_bars():
    lines = as_markdown(view_tables(collect([row("a|b")]), "summary")[0]).splitlines()
    assert lines[2].count("|") == lines[3].count("|") == lines[4].count("|") - 1
    assert "a\\|b" in lines[4]


def test_markers_are_replaced_and_nothing_else():
    text = "# Title\n<!-- results:begin dev -->\nold\n<!-- results:end dev -->\ntail <!-- results:begin other -->\n"
    new = replace_marked(text, "dev", "\nnew\n", "README.md")
    assert new == text.replace("old", "new")
    assert replace_marked(new, "dev", "new", "README.md") == new


@pytest.mark.parametrize(
    "text",
    [
        "nothing",
        "<!-- results:begin dev -->",
        "<!-- results:end dev --><!-- results:begin dev -->",
        "<!-- results:begin dev --><!-- results:begin dev --><!-- results:end dev -->",
    ],
)
def test_missing_or_wrong_markers_are_refused(text):
    with pytest.raises(OptionError, match=r"README\.md: needs one line <!-- results:begin dev -->"):
        replace_marked(text, "dev", "new", "README.md")


def test_write_puts_the_table_between_the_markers_of_a_file(tmp_path, capsys):
    rows, readme = tmp_path / "rows.jsonl", tmp_path / "README.md"
    append_row(rows, row())
    readme.write_text("a\n<!-- results:begin dev -->\n<!-- results:end dev -->\nb\n")
    main(TableConfig(rows, write=readme, name="dev"))
    assert "| teacher | PyTorch | fp32 |" in readme.read_text()
    assert readme.read_text().startswith("a\n")
    assert readme.read_text().endswith("\nb\n")
    assert capsys.readouterr().out == ""
    main(TableConfig(rows))
    assert "teacher" in capsys.readouterr().out
    with pytest.raises(OptionError, match=r"nothing to show as summary for other\.json"):
        main(TableConfig(rows, data="other.json"))
    with pytest.raises(OptionError, match="--view"):
        TableConfig(rows, view="speed")
