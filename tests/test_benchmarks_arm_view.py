"""Rows of other targets in their own view, and the runtimes they are set up with."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from test_benchmarks_table import row as cpu_row

from benchmarks import compare
from benchmarks.accuracy import Conditions, known_accuracy
from benchmarks.report import page as report
from benchmarks.rows import append_row
from benchmarks.table import TableConfig, main
from benchmarks.views.groups import collect
from benchmarks.views.tables import view_tables
from qa.errors import OptionError

ROOT = Path(__file__).parent.parent


def arm_row(**more):
    figures = {"reference": "litert on Z80", "reference_f1": 80.5, "parity_max_abs": 0.0123, "same_spans": 0.95}
    figures |= {"instructions_per_window": 228_547_901, "target": "qemu:neoverse-n1", "machine": "neoverse-n1 under QEMU 7.2"}
    return cpu_row("student", **(figures | {"baseline": None, "baseline_sha256": None, "f1_retained": None, "n": 20} | more))


def test_the_view_of_other_targets(tmp_path, capsys):
    rows = tmp_path / "rows.jsonl"
    failed = arm_row(
        target="ssh:pi", status="ssh:pi: no", **dict.fromkeys(("parity_max_abs", "instructions_per_window", "runtime"))
    )
    for row in (cpu_row(), arm_row(parity_max_abs=9.0), arm_row(), failed):
        append_row(rows, row)
    main(TableConfig(rows, view="arm"))
    text = capsys.readouterr().out
    line = next(line for line in text.splitlines() if line.startswith("student  qemu:neoverse-n1"))
    assert line.endswith(" 1.00x")
    assert [cell in line for cell in ("0.012", "95.0%", "228.5", "80.50")] == [True] * 4
    assert "student on ssh:pi failed: ssh:pi: no" in text
    assert "reference: litert on Z80" in text
    alone = tmp_path / "cpu.jsonl"
    append_row(alone, cpu_row())
    with pytest.raises(OptionError, match=r"compare\.py --target writes such rows"):
        main(TableConfig(alone, view="arm"))


def test_the_view_of_other_targets_compares_with_the_fp32_file_of_the_same_model():
    own = {"parent_sha256": "p", "target": "ssh:pi", "machine": "Pi", "reference": "r", "parity_max_abs": 0.0, "runtime": "lrt"}
    fast, slow = [4.0, 5.0, 6.0, 4.0, 5.0, 6.0], [9.0, 10.0, 11.0, 9.0, 10.0, 11.0]

    def rows(name, precision, times, **more):
        first = cpu_row(name, precision=precision, bundle_sha256=name, **(own | more))
        return [first, first | {"lengths": "real", "threads": 1, "batch": 1, "latency_ms_p50": times[1], "round_ms": times}]

    both = rows("a-fp32", "fp32", slow) + rows("a-int8", "int8", fast)
    (table,) = view_tables(collect(both), "arm")
    assert [line[-1].split()[0] for line in table.cells] == ["1.00x", "2.00x"]
    low, high = map(float, re.findall(r"[\d.]+", table.cells[1][-1])[1:])
    assert low < 2 < high
    others = rows("b-int8", "int8", fast, parent_sha256="q") + rows("c-int8", "int8", fast, runtime="onnxruntime")
    assert [line[-1] for line in view_tables(collect(both + others), "arm")[0].cells[2:]] == ["–", "–"]
    counted = [row | {"target": "qemu:x", "instructions_per_window": n} for row, n in zip(both[::2], (300, 100), strict=True)]
    assert [line[-1] for line in view_tables(collect(counted), "arm")[0].cells] == ["1.00x", "3.00x"]
    on_others = [counted[0], counted[1] | {"n": 20}]  # of other questions, whose windows have other lengths
    assert [line[-1] for line in view_tables(collect(on_others), "arm")[0].cells] == ["1.00x", "–"]


def test_rows_of_another_target_stand_apart_even_on_the_same_machine():
    here, there = cpu_row("student", f1=80.0), arm_row(f1=50.0, machine="Z80, 1 core", target="ssh:localhost")
    groups = collect([there, here])
    assert [group.newest["target"] for group in groups] == ["cpu", "ssh:localhost"]
    assert [table.cells[0][7] for table in view_tables(groups, "summary")] == ["80.00", "50.00"]
    page = report.Page([*groups, *collect([arm_row()])]).render()
    assert [f"<dd>{machine}" in page for machine in ("Z80, 1 core", "neoverse-n1 under QEMU")] == [True, True]
    conditions = Conditions(here["bundle_sha256"], "data", here["runtime"], "cpu", "Z80, 1 core")
    assert known_accuracy([here, there], conditions) is here
    subjects = [SimpleNamespace(sha256=here["bundle_sha256"], facts=here)]
    run = compare.Comparison(Path(), [], "data", subjects, None, [here, there, here | {"machine": "6502"}])
    assert run.shown_rows() == [here, there]


def test_the_set_up_installs_the_runtimes_that_the_project_pins():
    script = (ROOT / "benchmarks" / "arm64_python.sh").read_text()
    project = (ROOT / "pyproject.toml").read_text()
    for package in ("ai-edge-litert", "onnxruntime"):
        assert set(re.findall(rf"{package}==([\d.]+)", script)) == set(re.findall(rf"{package}==([\d.]+)", project))
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}$", script, re.MULTILINE)) == 3
    assert re.findall(r"^cpu (\S+)", script, re.MULTILINE) == ["neoverse-n1", "cortex-a76", "cortex-a72"]
