"""The published page on a phone's and on a wide screen, with a keyboard and for screen readers."""

import pytest
from web_site import ANSWER, ask, choose_mode, fill, opened, press, text, wait

pytestmark = pytest.mark.system


# Of each line of the mark: its painted width, and the width of its words.
LINE_WIDTHS = """(() => { const mark = document.querySelector('#reading mark');
    const words = [...mark.textContent.matchAll(/\\S+/g)].map(({0: word, index}) => { const range = new Range();
      range.setStart(mark.firstChild, index); range.setEnd(mark.firstChild, index + word.length);
      return range.getBoundingClientRect(); });
    return [...mark.getClientRects()].map(line => {
      const own = words.filter(word => Math.abs(word.top - line.top) < 5);
      return [line.width, Math.max(...own.map(w => w.right)) - Math.min(...own.map(w => w.left))]; }); })()"""


def test_a_mark_of_several_lines_ends_in_no_painted_space(page):
    """Each line of the mark is as wide as its words, although a space follows them in the text."""
    passage = "The bridge is " + "very " * 30 + "old."
    fill(page, passage, "What is the bridge?")
    choose_mode(page, "answering")
    ask(page)
    widths = page.run(LINE_WIDTHS)
    assert len(widths) > 1
    assert [(painted, words) for painted, words in widths if painted > words + 1] == []


@pytest.mark.parametrize("height", [500, 844])
def test_question_and_answer_come_into_view(page, height):
    opened(page, page.run("location.href"), height=height)
    reduced = [{"name": "prefers-reduced-motion", "value": "reduce"}]
    page.send("Emulation.setEmulatedMedia", features=reduced)
    page.run("document.querySelector('#question').focus()")
    ask(page)
    for shown in ("#question", "#best"):
        top, bottom = page.run(
            f"(({{top, bottom}}) => [top, bottom])(document.querySelector('{shown}').getBoundingClientRect())"
        )
        assert 0 <= top < bottom <= height


# Whether the full stop of Hebrew words, in the last text of an element, is left of them.
ENDS_LEFT = """(({lastChild: words}) => {
    const left = (character) => { const range = new Range(), at = words.textContent.lastIndexOf(character);
      range.setStart(words, at); range.setEnd(words, at + 1); return range.getBoundingClientRect().left; };
    return left(".") < left("\u05e9"); })"""


def test_each_paragraph_and_answer_has_its_own_direction(page):
    hebrew = "\u05e9\u05dc\u05d5\u05dd."
    fill(page, f"The key is under the mat.\nIt is cold today.\n{hebrew}", "Where is the key?")
    assert "mat" in ask(page)
    assert page.run(f"{ENDS_LEFT}(document.querySelector('#reading'))")
    for selector in ("#best", "#asked span", "#asked span:last-child"):
        page.run(f"document.querySelector('{selector}').textContent = '{hebrew}'")
        assert page.run(f"{ENDS_LEFT}(document.querySelector('{selector}'))"), selector


def test_a_keyboard_is_enough(page):
    page.run("document.querySelector('#question').focus()")
    press(page, "Enter", 13)
    wait(page, "document.querySelector('#times').textContent")
    assert text(page, "#best").startswith(ANSWER)
    reached = []
    for _ in range(12):
        press(page, "Tab", 9)
        reached.append(page.run("document.activeElement.id || document.activeElement.textContent"))
    assert reached[0] == "ask"
    assert page.run("document.querySelector('#others button').textContent") in reached


def test_screen_readers_find_names_and_roles(page):
    ask(page)
    nodes = page.send("Accessibility.getFullAXTree")["nodes"]
    named = {(n["role"]["value"], n.get("name", {}).get("value")) for n in nodes if not n["ignored"]}
    for role, name in (
        ("textbox", "Question"),
        ("button", "Ask"),
        ("region", "Text with the answer marked"),
        ("list", "Other possible answers"),
        ("heading", "Answer"),
        ("combobox", "Sample texts"),
        ("combobox", "Answer"),
        ("list", "Questions so far"),
    ):
        assert (role, name) in named
    assert [n for n in named if n[0] in ("button", "textbox", "combobox") and not n[1]] == []


@pytest.mark.parametrize("width", [320, 390, 1200])
def test_it_fits_the_screen(page, width, tmp_path):
    pictures = {}
    for dark in (False, True):
        opened(page, page.run("location.href"), width=width, dark=dark)
        ask(page)
        assert page.run("document.documentElement.scrollWidth") <= width
        beside = "document.querySelector('#{}').getBoundingClientRect().{}"
        columns = page.run(f"{beside.format('source', 'right')} < {beside.format('asking', 'left')}")
        assert columns == (width > 1000)
        page.screenshot(tmp_path / f"{dark}.png")
        pictures[dark] = (tmp_path / f"{dark}.png").read_bytes()
        background = page.run("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, background[4:-1].split(","))) < 3 * 128) == dark
    assert pictures[False] != pictures[True]
