"""The report stands alone, says what was found, and shows every model; its plots' fronts and axes on hand-made values."""

import re
import tomllib
from pathlib import Path

import pytest
from report_material import write_material
from test_benchmarks_table import NO_BASELINE, NOT_MEASURED, STUDENT, row

from benchmarks.report.headline import best_entry, headline, why_best
from benchmarks.report.page import Page, write_report
from benchmarks.report.plots import Point, linear_axis, log_or_zero_axis, pareto_front, short
from benchmarks.report.settings import shown_setting
from benchmarks.rows import read_rows
from benchmarks.views.groups import Entry, collect


def comparison():
    small = {**STUDENT, "size_bytes": 23_500_000}
    rapid = {**small, "f1": 60.0, "f1_retained": 0.75}
    return [
        row(ms=(100, 110, 120, 100)),
        row("slow", ms=(50, 55, 60, 50), lengths="real", **small),
        row("good", ms=(20, 22, 24, 20), lengths=384, **small),
        row("good", ms=(8, 12, 14, 10), lengths="real", **small),
        row("rapid", ms=(1, 2, 3, 2), lengths="real", **rapid),
        row("<b>broken</b>", status="onnxruntime computes this model wrongly", **NOT_MEASURED),
    ]


def test_page_loads_nothing_and_names_no_absolute_path():
    page = Page(collect(comparison())).render()
    assert not re.search(r"<(img|iframe|object|embed|base)\b|<script[^>]", page, re.IGNORECASE)
    assert re.findall(r"<link\b[^>]*>", page) == ['<link rel="icon" href="data:,">']
    assert not re.search(r"\bsrc\s*=|@import|url\(", page)
    assert "http" not in page.replace("http-equiv", "")
    assert not re.search(r"/(home|root|tmp|work|Users)/", page)


def test_style_and_script_are_installed_with_the_package():
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
    assert {"*.css", "*.js"} <= set(project["tool"]["setuptools"]["package-data"]["benchmarks.report"])


def test_plots_and_tables_show_every_model_and_text_is_escaped():
    page = Page(collect(comparison())).render()
    figures = re.findall(r"<figure>.*?</figure>", page, re.DOTALL)
    assert [len(re.findall(r'class="mark', figure)) for figure in figures] == [4, 3]  # the teacher was not timed at real lengths
    assert all(f"<strong>{name}</strong>" in figures[1] for name in ("rapid", "good"))
    assert "<strong>slow</strong>" not in figures[1]  # good is as good in less time
    assert "<b>broken</b>" not in page
    assert "&lt;b&gt;broken&lt;/b&gt; failed: onnxruntime computes this model wrongly" in page


def test_headline_takes_the_fastest_that_keeps_its_f1():
    group = collect(comparison())[0]
    assert best_entry(group).facts["model"] == "good"
    sentence, cards = headline(group)
    assert sentence == "good keeps 97.5% of teacher's F1: 4.0 times smaller, 5.0 times faster, 10.0 times with real lengths"
    assert [figure for figure, _ in cards] == ["78.00", "97.5%", "23.5 MB", "5.0x", "10.0x"]


def test_what_was_not_timed_is_no_headline_where_others_were():
    more = row("untimed", f1=79.9, f1_retained=0.999)
    group = collect([*comparison(), more])[0]
    best = best_entry(group)
    assert best.facts["model"] == "good"
    assert why_best(group, best) == "the fastest that retains at least 97% of F1"
    alone = collect([row(), more])[0]
    assert best_entry(alone).facts["model"] == "untimed"
    assert why_best(alone, best_entry(alone)) == "keeps the most of F1; none was timed"


def test_of_models_that_keep_97_percent_the_fastest_is_taken_even_where_one_below_is_faster():
    near = {**STUDENT, "f1": 77.0, "f1_retained": 0.9625, "size_bytes": 1_000_000}
    group = collect([*comparison(), row("near", ms=(2, 2, 2, 2), lengths="real", **near)])[0]
    assert best_entry(group).facts["model"] == "good"
    alone = [one for one in comparison() if one["model"] not in ("good", "slow")]
    group = collect([*alone, row("near", ms=(2, 2, 2, 2), lengths="real", **near)])[0]
    why = "the fastest that retains F1 within 2 points of the most (none timed retains 97%)"
    assert why_best(group, best_entry(group)) == why


def test_a_headline_of_padded_times_alone():
    rows = [one for one in comparison() if one.get("lengths") != "real"] + [row("exact", f1=79.9, f1_retained=0.999)]
    group = collect(rows)[0]
    assert best_entry(group).facts["model"] == "good"
    assert headline(group)[0] == "good keeps 97.5% of teacher's F1: 4.0 times smaller, 5.0 times faster"
    assert headline(group)[1][-1][1].startswith("faster, both padded to 384")


def test_a_baseline_that_failed_later_leaves_a_page_without_a_headline():
    group = collect([*comparison(), row(status="cannot load it", **NOT_MEASURED)])[0]
    assert headline(group) == ("5 models on dev.json", [])
    assert "teacher failed: cannot load it" in Page([group]).render()


def test_the_models_of_all_targets_share_a_table_and_only_one_line_is_the_best():
    there = [one | {"target": "ssh:pi", "machine": "Pi, 4 cores", "quick": True} for one in comparison()]
    page = Page(collect([*comparison(), *there])).render()
    models = page[page.index("<h2>Models") :].split("</section>")[0]
    assert models.count('<tr class="best"') == 1
    assert [note in models for note in ("Pi, 4 cores", "Z80, 1 core", "† quick", "F1 on cpu</li>")] == [True] * 4


def test_report_without_latency_or_baseline_or_any_success(tmp_path):
    alone, failed = row(**NO_BASELINE), row(status="broken", **(NOT_MEASURED | NO_BASELINE))
    for name, rows in (("alone", [alone]), ("failed", [failed])):
        path = tmp_path / "reports" / f"{name}.html"
        write_report(path, Page(collect(rows)))
        text = path.read_text()
        assert "1 model on dev.json" in text
        assert "No F1 by question or passage" in text
    assert list(path.parent.glob("*.partial")) == []


def points(*places):
    return [Point(Entry({"model": str(number)}), {}, x, "", f1, None) for number, (x, f1) in enumerate(places)]


@pytest.mark.parametrize(
    ("places", "front"),
    [
        ([(3, 70), (1, 60), (2, 65), (2, 64), (4, 69)], ["1", "2", "0"]),
        ([(1, 60), (1, 61), (2, 61)], ["1"]),  # as good in more is beaten
        ([(5, 50)], ["0"]),
    ],
)
def test_the_front_holds_what_nothing_beats_in_both(places, front):
    assert [point.entry.facts["model"] for point in pareto_front(points(*places))] == front


def test_axes_end_in_round_values_and_hold_all_points():
    assert linear_axis(74.2, 80.9).ticks == (76.0, 78.0, 80.0)
    assert linear_axis(0, 1).ticks == pytest.approx((0, 0.2, 0.4, 0.6, 0.8, 1))
    near, far = log_or_zero_axis([10, 25]), log_or_zero_axis([4, 40])
    assert (near.log, near.low, far.log) == (False, 0, True)
    assert far.ticks == (5, 10, 20)
    assert 0 < far.place(4) < far.place(40) < 100
    assert far.place(4) + far.place(40) == pytest.approx(100)  # as much room on both sides
    assert log_or_zero_axis([1, 10_000]).ticks == (1, 10, 100, 1000, 10_000)
    assert [short(v) for v in (0.5, 20, 2e4, 5e6, 1e9)] == ["0.5", "20", "20k", "5M", "1G"]


def test_a_plot_shows_single_windows_of_real_lengths_on_the_fewest_threads():
    base = row(ms=(9, 9, 9, 9))
    rows = [base | {"threads": t, "lengths": n, "batch": b} for t in (2, 1) for n in (384, "real") for b in (1, 32)]
    group = collect(rows)[0]
    setting = shown_setting(group, "latency_ms_mean")
    assert (setting.lengths, setting.threads, setting.batch) == ("real", 1, 1)
    assert setting.row_of(group.entries[0], "latency_ms_mean") is group.rows[-2]
    assert shown_setting(group, "instructions_per_window") is None
    assert set(group.entries[0].latency) == {(384, 1), ("real", 1), (384, 2), ("real", 2)}
    assert all(found["batch"] == 1 for found in group.entries[0].latency.values())


def test_targets_and_machines_are_groups_of_their_own(tmp_path):
    groups = collect(read_rows(write_material(tmp_path)[0]))
    assert [(group.target, len(group.entries)) for group in groups] == [("cpu", 5), ("qemu:neoverse-n1", 2), ("phone", 0)]
    assert [group.target for group in collect([row(), row(target="gpu"), row()])] == ["cpu", "gpu"]  # of one machine
