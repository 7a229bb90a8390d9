"""The phone's own table: each phone's newest rows, apart from those of the CPU."""

import json

import pytest
from phone_logs import PIXEL, phone_row, write
from test_benchmarks_table import row as cpu_row

from benchmarks.report.page import Page
from benchmarks.report.tables import MODEL_COLUMNS, model_lines, sortable
from benchmarks.rows import KEYS, RowsError, append_row, make_row, read_rows
from benchmarks.table import TableConfig, main
from benchmarks.views.cells import UNKNOWN
from benchmarks.views.groups import collect, newest_order
from benchmarks.views.latency import newest_on_phone
from benchmarks.views.tables import view_tables
from qa.errors import OptionError


@pytest.fixture
def rows_path(tmp_path):
    return tmp_path / "rows.jsonl"


NO_FIGURES = dict.fromkeys(("latency_ms_p50", "latency_ms_p95", "latency_ms_mean", "n_runs"))


def lines(rows):
    (table,) = view_tables(collect(rows), "latency")
    return [dict(zip(table.headings, line, strict=True)) for line in table.cells]


def test_rows_of_a_phone_do_not_change_the_tables_of_the_cpu():
    cpu = [cpu_row(ms=(100, 110, 120, 102)), cpu_row("int8", ms=(20, 22, 24, 20.4), lengths="real", bundle_sha256="sha of int8")]
    cpu.append(cpu_row("student", ms=(9, 9, 9, 9), bundle_sha256="sha of student"))
    mixed = [phone_row(), cpu[0], phone_row("teacher", lengths=128), *cpu[1:], phone_row()]
    for view in ("summary", "latency", "accuracy"):
        mixed_groups, cpu_groups = (collect(rows, newest_order(rows)) for rows in (mixed, cpu))
        assert view_tables(mixed_groups, view)[0] == view_tables(cpu_groups, view)[0]
    assert [table.title for table in view_tables(collect(mixed), "latency")] == ["dev.json, 1,000 questions", PIXEL]
    assert len(view_tables(collect(mixed), "summary")) == 1
    of_mixed, of_cpu = (sortable(model_lines(collect(r)[:1], [{}]), MODEL_COLUMNS, None, "") for r in (mixed, cpu))
    assert of_mixed == of_cpu


def test_each_phone_has_a_table_with_what_is_known():
    of_old_tool = phone_row("old", latency_ms_p50=None, latency_ms_p95=None, threads=None)
    rows = [phone_row(), phone_row(machine="Galaxy S24"), of_old_tool]
    first, second = view_tables(collect(rows), "latency")
    assert (first.title, second.title) == (PIXEL, "Galaxy S24")
    assert [len(table.cells) for table in (first, second)] == [2, 1]
    old = dict(zip(first.headings, first.cells[1], strict=True))
    assert (old["model"], old["mean ms"]) == ("old", "18.5")
    assert {old[heading] for heading in ("p50 ms", "p95 ms", "threads", "load ms", "peak MB")} == {UNKNOWN}


def test_the_newest_row_of_a_setting_counts_and_runtimes_stand_side_by_side():
    slow = phone_row(ms=90.0, runtime="LiteRT benchmark_model + built-in kernels")
    seen = lines([phone_row(), phone_row(ms=17.0), slow, phone_row(ms=9.0, threads=4), phone_row(ms=4.0, lengths=128)])
    assert [(line["runtime"], line["lengths"], line["threads"], line["p50 ms"]) for line in seen] == [
        ("LiteRT + XNNPACK", "128", "1", "4.0"),
        ("LiteRT + XNNPACK", "384", "1", "17.0"),
        ("LiteRT + built-in kernels", "384", "1", "90.0"),
        ("LiteRT + XNNPACK", "384", "4", "9.0"),
    ]
    exported_again = phone_row(ms=5.0, lengths=128, bundle_sha256="another")
    assert [line["p50 ms"] for line in lines([phone_row(), exported_again])] == ["5.0"]


def test_a_failure_is_listed_until_a_run_of_that_setting_succeeds():
    failed = phone_row(status="out of memory", runtime="LiteRT benchmark_model", threads=4, **NO_FIGURES)
    rows = [phone_row(), failed]
    (table,) = view_tables(collect(rows), "latency")
    assert [line[5] for line in table.cells] == ["18.0", UNKNOWN]
    assert "int8 (lengths 384, threads 4) failed: out of memory" in table.notes
    assert "int8 failed: out of memory" in Page(collect(rows)).render()
    later = collect([*rows, phone_row(threads=4)])
    assert [row["status"] for row in newest_on_phone(later[0])] == ["ok", "ok"]
    without_signature = [phone_row(status="no signature", lengths=None, **NO_FIGURES), phone_row()]
    assert [row["status"] for row in newest_on_phone(collect(without_signature)[0])] == ["ok"]
    assert [row["status"] for row in newest_on_phone(collect(without_signature[::-1])[0])] == ["no signature", "ok"]


def test_table_shows_phones_in_the_latency_view_only(rows_path, capsys):
    append_row(rows_path, phone_row("student-tflite-int8-weights", load_ms=41.3, peak_memory_mb=151.2, memory_growth_mb=44.1))
    with pytest.raises(OptionError, match="nothing to show as summary; rows of a phone are in --view latency"):
        main(TableConfig(rows_path))
    text = main(TableConfig(rows_path, view="latency"))
    assert text in capsys.readouterr().out
    assert max(len(line) for line in text.splitlines()) <= 140
    append_row(rows_path, cpu_row(ms=(1, 1, 1, 1)))
    assert PIXEL not in main(TableConfig(rows_path, view="latency", data="dev.json"))
    with pytest.raises(OptionError, match="--plot"):
        main(TableConfig(rows_path, plot=rows_path.with_suffix(".svg")))


def test_only_rows_of_a_phone_may_lack_the_data(tmp_path):
    assert list(make_row(phone_row())) == [key for key in KEYS if key in phone_row()]
    with pytest.raises(ValueError, match="data"):
        make_row(phone_row(target="cpu"))
    path = write(tmp_path / "rows.jsonl", json.dumps(phone_row(target="cpu")) + "\n")
    with pytest.raises(RowsError, match="line 1 is not a result row, it lacks data"):
        read_rows(path)
