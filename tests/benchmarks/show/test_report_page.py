"""The page in a browser: no errors, no requests, the numbers of the rows; tables sort and filter, and it fits
a phone."""

import json

import pytest
from chromium import chromium
from report_material import ARM, CPU, INT8, ODD_NAME, PIXEL, TEACHER, write_material

from benchmarks import measure_and_show
from benchmarks.options import CompareOptions
from benchmarks.results.rows import Accuracy, Failure, Latency

pytestmark = pytest.mark.system

PHONE_WIDTH = 360
OF_TABLE = "[...document.querySelectorAll('table.sortable')]"
BROKEN_WORDS = """[...document.querySelectorAll('thead button')].filter(b => b.checkVisibility()).flatMap(b =>
    [...b.textContent.matchAll(/[^\\s-]+-?/g)].filter(word => { const range = document.createRange();
        range.setStart(b.firstChild, word.index); range.setEnd(b.firstChild, word.index + word[0].length);
        return range.getClientRects().length > 1; }).map(word => word[0]))"""


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    rows_path, data, rows = write_material(folder)
    measure_and_show.show_results(CompareOptions(data=str(data), rows=rows_path, report=True))
    return folder / "report.html", rows


@pytest.fixture(scope="module")
def browser():
    with chromium() as page:
        yield page


@pytest.fixture
def page(material, browser):
    browser.errors.clear()
    browser.requests.clear()
    browser.open(material[0])
    return browser


def column(page, table, heading, *, shown=False):
    """The texts of a column, and the figures behind them."""
    script = f"""(() => {{ const table = {OF_TABLE}[{table}];
        const at = [...table.tHead.rows[0].cells].findIndex(cell => cell.textContent === {json.dumps(heading)});
        return [...table.tBodies[0].rows].filter(row => !{json.dumps(shown)} || row.checkVisibility())
            .map(row => [row.cells[at].textContent, row.cells[at].dataset.v ?? null]); }})()"""
    found = page.run(script)
    return [text for text, _ in found], [None if value is None else float(value) for _, value in found]


def click(page, table, heading):
    page.run(
        f"[...{OF_TABLE}[{table}].querySelectorAll('th button')].find(b => b.textContent === "
        f"{json.dumps(heading)}).click()"
    )


def test_it_opens_without_an_error_and_asks_for_nothing(page, material):
    page.open(material[0], width=PHONE_WIDTH, dark=True)
    assert page.errors == []
    assert {url for url in page.requests if not url.startswith("data:")} == {material[0].as_uri()}
    assert page.run("document.scripts.length") == 1
    # Were there anything to fetch, the page's own policy would refuse it.
    page.run(
        "(() => { const image = new Image(); image.src = 'http://127.0.0.1:9/x.png'; "
        "document.body.append(image); })()"
    )
    assert page.run("document.querySelectorAll('img').length") == 1
    assert any("Content Security Policy" in error for error in page.errors)


def test_numbers_equal_the_results(page, material):
    results = material[1]
    newest = {(r.model, r.target): r for r in results if isinstance(r, Accuracy | Failure)}
    places = list(zip(column(page, 0, "model")[0], column(page, 0, "target")[0], strict=True))
    assert set(places) == set(newest)
    for heading, key, form, scale, unit in (
        ("F1", "f1", ".2f", 1, ""),
        ("EM", "exact", ".2f", 1, ""),
        ("MB", "size_bytes", ".1f", 1e-6, ""),
        ("F1 retained", "f1_retained", ".1f", 100, "%"),
        ("agreement", "same_answers", ".1f", 100, "%"),
        ("M instr.", "instructions_per_window", ",.1f", 1e-6, ""),
    ):
        texts, values = column(page, 0, heading)
        figures = [getattr(newest[place], key, None) for place in places]
        assert values == pytest.approx(figures)
        without_intervals = [text.split("\n(")[0] for text in texts]
        wanted = ["–" if figure is None else f"{figure * scale:{form}}{unit}" for figure in figures]
        assert without_intervals == wanted
    timed = [r for r in results if isinstance(r, Latency)]
    for heading, key in (("p50 ms", "latency_ms_p50"), ("p99 ms", "latency_ms_p99"), ("threads", "threads")):
        assert sorted(column(page, 1, heading)[1]) == sorted(float(getattr(row, key)) for row in timed)


def test_a_click_on_a_heading_sorts_by_value_and_another_turns_it(page):
    before = sorted(column(page, 0, "model")[0])
    click(page, 0, "F1")
    up = column(page, 0, "F1")[1]
    click(page, 0, "F1")
    down = column(page, 0, "F1")[1]
    figures = [value for value in up if value is not None]
    assert figures == sorted(figures)
    assert len(set(figures)) > 3
    assert down == [*figures[::-1], None]
    assert up[-1] is None  # the failed model last either way
    assert sorted(column(page, 0, "model")[0]) == before
    click(page, 0, "model")
    names = column(page, 0, "model")[0]
    assert names.index("broken") < names.index("student") < names.index("teacher")
    sorted_by = "[...document.querySelectorAll('[aria-sort]')].map(th => th.textContent + th.ariaSort)"
    assert page.run(sorted_by) == ["modelascending"]
    assert page.errors == []


def test_all_columns_are_shown_when_they_are_asked_for(page):
    def headings():
        cells = f"[...{OF_TABLE}[0].tHead.rows[0].cells]"
        return page.run(f"{cells}.filter(cell => cell.checkVisibility()).map(cell => cell.textContent)")

    brief = headings()
    assert {"model", "MB", "F1", "F1 retained", "x unpadded"} < set(brief)
    assert "params" not in brief
    page.run("document.querySelector('.all').click()")
    assert set(headings()) > {*brief, "params", "agreement"}


def test_the_filter_leaves_the_lines_of_one_target(page):
    def choose(target):
        page.run(
            f"(() => {{ const s = document.querySelector('#target'); s.value = {json.dumps(target)};"
            "s.dispatchEvent(new Event('change')); })()"
        )
        rows = "[...t.tBodies[0].rows].filter(r => r.checkVisibility()).map(r => r.dataset.target)"
        return [set(targets) for targets in page.run(f"{OF_TABLE}.map(t => {rows})")]

    options = page.run("[...document.querySelectorAll('#target option')].map(o => o.textContent)")
    assert options == ["all", "cpu", "qemu:neoverse-n1", "phone"]
    assert choose("qemu:neoverse-n1") == [{"qemu:neoverse-n1"}, set()]
    assert page.run("document.querySelector('.filter output').textContent") == "2 and 0 lines in the tables"
    assert choose("") == [{"cpu", "qemu:neoverse-n1"}, {"cpu"}]


def test_text_of_rows_and_data_stays_text(page):
    assert ODD_NAME in column(page, 0, "model")[0]
    assert (
        page.run("[...document.querySelectorAll('td b, th b, h4 i, dd b, blockquote i, li b')].length") == 0
    )
    questions = page.run("[...document.querySelectorAll('.example h4')].map(h => h.textContent)")
    assert "Whose <i>tag</i> & which \u202eway?" in questions
    assert "broken failed: cannot load <it>" in page.run("document.querySelector('header').textContent")


def test_every_mark_says_what_it_is_to_pointer_keyboard_and_reader(page):
    labels = page.run("[...document.querySelectorAll('.mark')].map(m => m.getAttribute('aria-label'))")
    assert len(labels) == 4 + 4 + 2 + 2  # size and latency on the CPU, size and instructions on ARM
    titles = page.run("[...document.querySelectorAll('.mark > title')].map(t => t.textContent)")
    assert titles == labels
    of_latency = next(label for label in labels if label.startswith("student-int8; latency"))
    accuracy = "F1 66.67 (95 %: 65.17–68.17), 7 questions; precision int8; runtime ai-edge-litert 2.3.0"
    of = f"target cpu: {CPU}; bundle {INT8[:16]}"
    assert of_latency == f"student-int8; latency 9.1 ms, unpadded, 1 thread; {accuracy}; {of}"
    of_arm = next(label for label in labels if "instructions 1,234.6 M" in label)
    assert f"target qemu:neoverse-n1: {ARM}" in of_arm
    assert f"bundle {TEACHER[:16]}" in of_arm
    for key_type in ("keyDown", "keyUp"):
        page.send("Input.dispatchKeyEvent", type=key_type, key="Tab", code="Tab", windowsVirtualKeyCode=9)
    assert page.run("document.activeElement.getAttribute('aria-label')") == labels[0]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [PHONE_WIDTH, 390, 1280])
def test_nothing_is_cut_on_a_phone_or_a_laptop(page, material, width, dark):
    page.open(material[0], width=width, dark=dark)
    page.run("document.querySelectorAll('.mark')[7].focus()")
    whole, shown = page.run(
        "(({scrollWidth, clientWidth}) => [scrollWidth, clientWidth])(document.documentElement)"
    )
    assert whole == shown <= width
    cut = "[...document.body.querySelectorAll('*')].filter(e => e.checkVisibility()"
    cut += f" && e.getBoundingClientRect().right > {width}).map(e => e.outerHTML.slice(0, 80))"
    assert page.run(cut) == []
    page.run("document.querySelectorAll('.all').forEach(box => box.click())")
    assert page.run(cut) == []
    assert page.run(BROKEN_WORDS) == []
    page.run("document.querySelector('#target').selectedIndex = 1")
    page.run("document.querySelector('#target').dispatchEvent(new Event('change'))")
    hidden = "[...document.querySelectorAll('tr[hidden]')].map(row => row.checkVisibility())"
    assert set(page.run(hidden)) == {False}
    ink, paper = page.run(
        "(({color, backgroundColor}) => [color, backgroundColor])(getComputedStyle(document.body))"
    )
    brightness = [sum(map(int, colour[4:-1].split(","))) / 3 for colour in (ink, paper)]
    assert (brightness[0] > brightness[1]) == dark
    assert abs(brightness[0] - brightness[1]) > 150


def test_a_plot_without_another_beside_it_fits_a_laptop(page):
    page.run("document.querySelectorAll('.plots figure ~ figure').forEach(figure => figure.remove())")
    heights = page.run("[...document.querySelectorAll('.plots figure')].map(figure => figure.offsetHeight)")
    assert 200 < max(heights) < 720


def test_without_scripts_nothing_but_sorting_is_missing(page, material):
    everything = column(page, 0, "F1")
    page.open(material[0], scripts=False)
    assert column(page, 0, "F1") == everything
    assert page.run("document.querySelectorAll('button').length") == 0
    assert not page.run("document.querySelector('.filter').checkVisibility()")
    assert page.run("document.querySelector('figure svg').checkVisibility()")


def test_bars_examples_and_commands_are_shown(page):
    script = "[...document.querySelectorAll('.retained .row')].map(r => r.innerText.replace(/\\s+/g, ' '))"
    assert any(bar.startswith("student-int8 77.8%") for bar in page.run(script)), "66.67 of 85.71"
    assert page.run("document.querySelectorAll('.retained u').length") == 2, "the odd model's row has none"
    assert page.run("document.querySelector('.example mark').textContent") == "Monday"
    commands = page.run("[...document.querySelectorAll('pre')].map(p => p.textContent)")
    assert commands[0].startswith("python benchmarks/compare.py --data ")
    assert commands[0].endswith("rows.jsonl --report")
    assert commands[1:] == ["python benchmarks/compare.py runs/teacher 'runs/a b' --data squad.json"]
    assert str(PIXEL) in page.run("document.body.innerText")
