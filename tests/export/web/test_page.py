"""Answers of the published page in Chromium, as in Python, and what is shown beside them."""

import pytest
from web_site import ANSWER, ask, fill, text, wait

from qa import load
from qa.base.sampling import evenly
from qa.data.datasets import EMBEDDED, resolve
from qa.data.squad import read_squad

pytestmark = pytest.mark.system

N_QUESTIONS = 20
NEAR_TIE = 1.3  # times as probable as the next option


def lead(answer):
    """How many times as probable the answer is as the next option, of which no answer may be one."""
    no_answer = 1 - answer.probability - sum(other.probability for other in answer.alternatives)
    return answer.probability / max([no_answer, *(other.probability for other in answer.alternatives), 1e-9])


def test_real_questions_are_answered_as_in_python(page, page_model):
    """Near ties are left out: builds of LiteRT round int8 differently."""
    python = load(page_model.path)
    examples = read_squad(resolve(EMBEDDED, "dev"))
    chosen = [examples[i] for i in evenly(len(examples), 2 * N_QUESTIONS)]
    asked = [(e, python.answer(e.question, e.context)) for e in chosen]
    clear = [(example, answer) for example, answer in asked if lead(answer) > NEAR_TIE][:N_QUESTIONS]
    differ = []
    for example, answer in clear:
        fill(page, example.context, example.question)
        seen = ask(page)
        expected = None if answer.start is None else " ".join(answer.text.split())
        if seen != expected:
            differ.append((example.question, seen, expected))
    assert (len(clear), differ) == (N_QUESTIONS, [])


def test_nothing_but_the_pages_own_files_is_asked_for(page, site):
    ask(page)
    assert len(page.requests) > 15
    assert [address for address in page.requests if not address.startswith(site)] == []
    refused = page.run("fetch('https://example.org/').then(() => 'sent', (error) => error.name)")
    assert refused == "TypeError"
    assert any("Content Security Policy" in error for error in page.errors)
    page.errors.clear()


def test_runners_up_are_marked_on_request(page):
    ask(page)
    others = "[...document.querySelectorAll('#others button')]"
    assert page.run(f"{others}.map(b => b.ariaPressed).join()").startswith("false")
    page.run(f"{others}[0].click()")
    marked = page.run("document.querySelector('#reading mark.unsure').textContent")
    assert marked == page.run(f"{others}[0].firstChild.textContent")
    assert page.run(f"{others}.map(b => b.ariaPressed).join()").startswith("true")


def test_no_answer_is_said_with_its_probability_and_what_comes_closest(page, page_model):
    assert ask(page, suggestion=2) is None
    python = load(page_model.path).answer(
        page.run("document.querySelector('#question').value"),
        page.run("document.querySelector('#passage').value"),
    )
    shown = float(text(page, "#best small").rpartition(": ")[2].removesuffix(" %"))
    assert shown == pytest.approx(100 * python.probability, abs=3)  # builds of LiteRT round int8 differently
    closest = "[...document.querySelectorAll('#others button')]"
    first = page.run(f"{closest}.find(b => b.ariaPressed === 'true').firstChild.textContent")
    assert first == page.run("document.querySelector('#reading mark.unsure').textContent")
    texts = page.run(f"{closest}.map(b => b.firstChild.textContent.toLowerCase().replace(/[.,]$/, ''))")
    assert len(texts) == len(set(texts)) > 0


def test_questions_of_the_session_stay_and_show_their_answers_again(page):
    letter = page.run("document.querySelector('#passage').value")
    ask(page)
    ask(page, suggestion=2)
    fill(page, "The key is under the mat.", "Where is the key?")
    assert "mat" in ask(page)
    ask(page)
    asked = "[...document.querySelectorAll('#asked button')]"
    names = page.run(f"{asked}.map(b => b.firstChild.textContent)")
    assert names == ["Where is the key?", "How heavy is the table?", "When will the table be delivered?"]
    page.run(f"{asked}[2].click()")
    assert page.run("document.querySelector('#best').firstChild.textContent") == ANSWER
    assert page.run("document.querySelector('#reading mark').textContent") == ANSWER
    assert page.run("document.querySelector('#passage').value") == letter
    assert page.run("document.querySelector('#question').value") == names[2]
    fill(page, "A text that I typed.", "")
    page.run("window.confirm = () => false")
    page.run(f"{asked}[2].click()")
    assert page.run("document.querySelector('#passage').value") == "A text that I typed."


def clicked(page, selector, times):
    """Click like a mouse; several clicks are those of a double click."""
    x, y = page.run(
        f"""(({{ left, top, width, height }}) => [left + width / 2, top + height / 2])(
        document.querySelector('{selector}').getBoundingClientRect())"""
    )
    for n in range(1, times + 1):
        for kind in ("mousePressed", "mouseReleased"):
            page.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=n)


def test_a_double_click_asks_once(page):
    fill(page, page.run("document.querySelector('#passage').value") * 20, "When will the table be delivered?")
    clicked(page, "#ask", 2)
    wait(page, "document.querySelector('#ask').textContent === 'Ask'")
    assert text(page, "#best").startswith(ANSWER)
