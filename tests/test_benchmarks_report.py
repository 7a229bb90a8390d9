"""The report stands alone, says what was found, and shows every model."""

import re

import pytest
from test_benchmarks_table import NO_BASELINE, NOT_MEASURED, STUDENT, row

from benchmarks.report import best_entry, headline, render, write_report
from benchmarks.views import collect

pytest.importorskip("matplotlib")


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
    page = render(collect(comparison()))
    assert not re.search(r"<(script|link|img|iframe|object|embed|base)\b", page, re.IGNORECASE)
    assert not re.search(r"\bsrc\s*=|@import", page)
    assert all(target.startswith("#") for target in re.findall(r'href\s*=\s*["\']([^"\']*)', page))
    assert all(target.startswith("#") for target in re.findall(r"url\(['\"]?([^)]*)", page))
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", page)
    assert not re.search(r"/(home|root|tmp|work|Users)/", page)


def test_every_id_of_the_plots_is_unique():
    ids = re.findall(r'\bid="([^"]+)"', render(collect(comparison())))
    clashing = {name for name in ids if ids.count(name) > 1 and re.match(r"[mp][0-9a-f]{10}", name)}
    assert clashing == set()


def test_plots_and_tables_show_every_model_and_text_is_escaped():
    page = render(collect(comparison()))
    assert page.count("<svg") == 3
    svgs = "".join(re.findall(r"<svg.*?</svg>", page, re.DOTALL))
    assert all(name in svgs for name in ("teacher", "slow", "good", "rapid"))
    assert "<b>broken</b>" not in page
    assert "&lt;b&gt;broken&lt;/b&gt; failed: onnxruntime computes this model wrongly" in page


def test_headline_takes_the_fastest_that_keeps_its_f1():
    group = collect(comparison())[0]
    assert best_entry(group).facts["model"] == "good"
    sentence, cards = headline(group)
    assert sentence == "good keeps 97.5% of teacher's F1: 4.0 times smaller, 5.0 times faster, 10.0 times with real lengths"
    assert [figure for figure, _ in cards] == ["78.00", "97.5%", "23.5 MB", "5.0x", "10.0x"]


def test_report_without_latency_or_baseline_or_any_success(tmp_path):
    alone, failed = row(**NO_BASELINE), row(status="broken", **(NOT_MEASURED | NO_BASELINE))
    for name, rows in (("alone", [alone]), ("failed", [failed])):
        path = tmp_path / "reports" / f"{name}.html"
        write_report(path, collect(rows))
        assert "1 model on dev.json" in path.read_text()
    assert list(path.parent.glob("*.partial")) == []
