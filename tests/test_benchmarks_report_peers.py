"""The page of rows measured in rounds: who is the fastest in words, intervals, quick marks, batches, and hollow peers."""

import json
import re

import pytest
from chromium import chromium
from peer_material import UNEVEN, export, peer, run
from test_benchmarks_table import row

from benchmarks.report.headline import best_entry, headline
from benchmarks.report.page import Page
from benchmarks.report.plots import LAST_COLOUR, runtime_colours
from benchmarks.report.questions import group_intervals
from benchmarks.report.settings import current_rows
from benchmarks.report.sound_rows import sound_rows
from benchmarks.views.groups import collect

KNOWN = {"f1_low": 77.25, "f1_high": 78.75, "f1_retained_low": 0.968, "f1_retained_high": 0.981}
BATCH = {"batch": 32, "lengths": "real", "threads": 1, "windows_per_s": 123.4, "round_ms": [8.1] * 8, "affinity": [1]}


def rows():
    """Ours is quick and a little uneven; a peer of the same F1 is faster at real lengths, another much faster with less F1."""
    ours = export("student-onnx-int8", 10, 40, rounds=UNEVEN, quick=True, **KNOWN)
    batched = {key: value for key, value in ours[0].items() if not key.startswith("latency_ms")} | BATCH
    peers = [*peer("openvino-int8", 8, 44, **KNOWN), *peer("torchao-int8", 4, 20, f1=60.0, runtime="torch 2.13.0+cpu")]
    return run([*ours, batched], peers)


@pytest.fixture
def group():
    return collect(rows())[0]


def test_the_verdict_is_the_first_line_of_its_section(group):
    page = Page([group]).render()
    section = page[page.index("<h2>Against other tools") :].split("</section>")[0]
    verdict = re.search(r"<p><strong>(.*?)</strong></p>", section)[1]
    assert verdict.startswith("At real lengths, student-openvino-int8 is the fastest at equal F1: 1.25 times as fast")
    assert "Padded to 384, our student-onnx-int8 is the fastest at equal F1" in verdict
    assert section.index(verdict) < section.index("<table>")
    assert section.count("<table>") == 3  # real lengths, padded to 128 and to 384
    assert section.count("OpenVINO (openvino 2026.1.0, nncf 3.0.0)") == 1  # what all tables say stands once
    assert "student-torchao-int8 is 2.50 times as fast" in section
    assert "at 18.0 points less F1, which does not count" in section
    assert "Against other tools" not in Page(collect(run())).render()


def test_peers_are_neither_the_headline_nor_the_best_line(group):
    assert best_entry(group).facts["model"] == "student-onnx-int8"
    sentence, cards = headline(group)
    assert "10.0 times with real lengths" in sentence
    assert "95 %: 9." in cards[-1][1]
    assert cards[-1][1].endswith("1 thread, quick")


def test_intervals_of_the_rows_are_taken_where_no_answers_are_kept(group):
    found = group_intervals(None, group)
    assert set(found) == {"student-onnx-int8", "student-openvino-int8"}
    f1, retained = found["student-onnx-int8"]
    assert (f1.low, f1.mean, f1.high, retained.low, retained.high) == (77.25, 78, 78.75, 0.968, 0.981)
    assert Page([group]).render().count('class="whisker') == 2 * 2  # of two models in two plots


def test_settings_have_batches(group):
    assert [r["windows_per_s"] for r in current_rows(group) if r.get("batch") == 32] == [123.4]


def test_runtimes_without_a_name_of_their_own_share_the_last_colour():
    many = [row(f"m{n}", runtime=f"tool{n} 1.0") for n in range(6)]
    colours = runtime_colours(collect(many))
    assert [colours[name] for name in ("torch", "onnxruntime", "ai-edge-litert", "openvino")] == [0, 1, 2, 3]
    assert [colours[f"tool{n}"] for n in range(6)] == [6, 7, 8, LAST_COLOUR, LAST_COLOUR, LAST_COLOUR]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("round_ms", [1.0, 0.0]), ("round_ms", 3), ("round_ms", [None]), ("affinity", "0-1"), ("quick", "yes"),
        ("versions", ["openvino"]), ("timed_s", "60"), ("load_average", [0.1]), ("f1_low", None), ("peer", 3),
    ],
)  # fmt: skip
def test_rows_whose_newer_values_are_wrong_are_left_out_by_name(tmp_path, key, value):
    path = tmp_path / "rows.jsonl"
    changed = rows()[-1] | {"f1_low": 59.0} | {key: value}
    path.write_text("\n".join(json.dumps(r) for r in (*rows(), changed)), encoding="utf-8")
    found, (fault,) = sound_rows(path)
    assert found == rows()
    assert f"line {len(rows()) + 1}: {key} must" in fault


@pytest.mark.system
@pytest.mark.parametrize(("width", "dark"), [(1200, False), (360, True)])
def test_the_page_in_a_browser(tmp_path, group, width, dark):
    path = tmp_path / "report.html"
    path.write_text(Page([group]).render(), encoding="utf-8")
    with chromium() as page:
        page.open(path, width=width, dark=dark)
        assert page.errors == []
        assert page.run("document.documentElement.scrollWidth") <= width
        cells = "[...t.rows].map(r => [...r.cells].map(c => c.textContent))"
        tables = page.run(f"[...document.querySelectorAll('table.sortable')].map(t => {cells})")
        models, settings = ([dict(zip(lines[0], line, strict=True)) for line in lines[1:]] for lines in tables)
        ours = next(line for line in models if line["model"] == "student-onnx-int8")
        assert (ours["ms real"], ours["x real"], ours["F1, 95 %"]) == ("10.0†", "10.00x†", "77.25–78.75")
        assert re.fullmatch(r"9\.\d\d–10\.\d\d†", ours["x real, 95 %"])
        assert ours["windows/s, batches"] == "123†"
        assert {line["model"] for line in settings if line["quick"] == "quick"} == {"student-onnx-int8"}
        hollow = "[...document.querySelectorAll('.mark.peer svg')].map(s => getComputedStyle(s).fill)"
        solid = "[...document.querySelectorAll('.mark:not(.peer) svg')].map(s => getComputedStyle(s).fill)"
        card = page.run("getComputedStyle(document.querySelector('figure')).backgroundColor")
        assert set(page.run(hollow)) == {card}
        assert card not in page.run(solid)
        labels = page.run("[...document.querySelectorAll('.mark.peer')].map(m => m.getAttribute('aria-label'))")
        assert len(labels) == 2 * 2
        assert any("peer OpenVINO" in label for label in labels)
        assert page.run("document.querySelector('table.sortable tr.best th').textContent") == "student-onnx-int8"
