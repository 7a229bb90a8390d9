"""Text, HTML and PDF files that a visitor opens in the published page, as in Python."""

import base64
import io
import json

import pytest
from pdf_files import pdf_of
from pypdf import PdfReader, PdfWriter
from web_site import ANSWER, ask, choose_model, fill, opened, press, text, unexpected, wait

from export.web.publish import PDF_SCRIPTS
from qa.data.datasets import EMBEDDED, resolve
from qa.data.squad import read_squad
from qa.documents import read_texts

pytestmark = pytest.mark.system


HTML_FILES = {
    "rules.html": (
        "<title>x</title><h1>Rules</h1><p>Keys are\n at <b>the</b> desk.</p><script>throw 1</script>"
        "<ul><li>No dogs</li><li>Quiet after 10&nbsp;pm</li></ul><table><tr><td>Towel</td><td>2 euros</td></tr></table>",
        ["Rules", "Keys are at the desk.", "No dogs", "Quiet after 10 pm", "Towel 2 euros"],
    ),
    "icon.html": (
        "<p>Rent <svg><title>due</title></svg> is 900, pass&#xFEFF;word <!-- 950",
        ["Rent is 900, pass\ufeffword"],
    ),
    "rules.xhtml": (
        "<nav>Home</nav><main>The s<i>h</i>op<p>Opens at 9</p></main><ul><li>Fruit<ul><li>Apple</li></ul></li></ul>"
        "<img><figcaption>A pear</figcaption><button>Buy</button>now",
        ["Home The shop", "Opens at 9", "Fruit", "Apple", "A pear Buy now"],
    ),
    "closed.xhtml": (
        "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><head><title/><script src='x'/></head>"
        "<body><p>Keys are<br/>at&nbsp;the desk.</p><noscript>x</noscript></body></html>",
        ["Keys are", "at the desk."],
    ),
    "ruby.html": (
        "<p><ruby>東京<rt>とうきょう</rt></ruby>に<ruby>住<rp>(<rt>す<rp>)</ruby>む。",
        ["東京に住む。"],
    ),
    "broken.xhtml": (
        "<html xmlns='http://www.w3.org/1999/xhtml'><head><title>t</title></head><body><p>Open at nine.</p>"
        "<p>Smith & Sons own it.<br>Rent: 900.</p></body></html>",
        ["Open at nine.", "Smith & Sons own it.", "Rent: 900."],
    ),
    "rules": (
        "<?xml version='1.0'?>\n<!doctype html><p>Keys are\n at <b>the</b> desk.",
        ["Keys are at the desk."],
    ),
    "rules.txt": ("Write <b> for bold.", ["Write <b> for bold."]),
}


@pytest.mark.parametrize("name", HTML_FILES)
def test_an_html_file_is_read_without_its_code(page, tmp_path, name):
    html, expected = HTML_FILES[name]
    path = tmp_path / name
    path.write_text(html)
    page.run("document.querySelector('#passage').value = ''")
    page.choose_file("#text-file", path)
    wait(page, "document.querySelector('#passage').value")
    assert page.run("document.querySelector('#passage').value").splitlines() == expected
    if name == "broken.xhtml":  # the browser writes a styled message into the document that is given up
        page.errors[:] = [error for error in page.errors if "inline style" not in error]


def test_a_file_without_text_leaves_the_text_in_the_field(page, tmp_path):
    fill(page, "A text that I typed.", "")
    for name, content in {"blank.txt": " \n", "picture.html": "<img src=x><script>x</script>"}.items():
        (tmp_path / name).write_text(content)
        page.choose_file("#text-file", tmp_path / name)
        wait(page, f"document.querySelector('#problem').textContent.includes({json.dumps(name)})")
        assert page.run("document.querySelector('#passage').value") == "A text that I typed."


def test_of_several_dropped_files_none_is_read(page):
    before = page.run("document.querySelector('#passage').value")
    page.run("""(() => { const dataTransfer = new DataTransfer();
        for (const name of ["a.txt", "b.txt"]) dataTransfer.items.add(new File(["Ada wrote it."], name));
        document.dispatchEvent(new DragEvent("drop", { dataTransfer })); })()""")
    assert text(page, "#problem") == "Drop one file at a time."
    assert page.run("document.querySelector('#passage').value") == before


def test_a_slow_file_does_not_replace_what_was_typed_meanwhile(page, tmp_path):
    (tmp_path / "slow.txt").write_text("From a slow disk.")
    page.run("""void (File.prototype.arrayBuffer = function () {
        return new Promise((resolve) => { window.arrive = () => resolve(new Response(this).arrayBuffer()); });
    })""")
    page.choose_file("#text-file", tmp_path / "slow.txt")
    wait(page, "Boolean(window.arrive)")
    fill(page, "A text that I typed.", "")
    page.run("window.arrive()")
    page.run("new Promise((resolve) => setTimeout(resolve, 300))")
    assert page.run("document.querySelector('#passage').value") == "A text that I typed."


def test_a_text_leaves_a_typed_question_and_takes_a_suggested_one_along(page, tmp_path):
    (tmp_path / "own.txt").write_text("Ada wrote it.")
    for typed, left in (
        (page.run("document.querySelector('#question').value"), ""),
        ("Who wrote it?", "Who wrote it?"),
    ):
        fill(page, "A text.", typed)
        page.run("window.confirm = () => true")
        page.choose_file("#text-file", tmp_path / "own.txt")
        wait(page, "document.querySelector('#passage').value === 'Ada wrote it.'")
        assert page.run("document.querySelector('#question').value") == left


def test_samples_replace_a_typed_text_on_consent_only_and_can_be_gone_through(page):
    fill(page, "A text that I typed.", "")
    for agreed, chosen in ((False, 0), (True, 1), (True, 2)):
        page.run(f"window.confirm = () => {json.dumps(agreed)}")
        page.run(f"""(() => {{ const list = document.querySelector('#samples'); list.value = '{chosen}';
            list.dispatchEvent(new Event('change')); }})()""")
        assert (page.run("document.querySelector('#passage').value") != "A text that I typed.") == agreed
        assert page.run("document.querySelector('#samples').value") == (str(chosen) if agreed else "")


@pytest.mark.parametrize("name", ["own.txt", "own.pdf"])
def test_a_file_replaces_a_typed_text_on_consent_only(page, tmp_path, name):
    (tmp_path / name).write_bytes(pdf_of("Ada wrote it.") if name.endswith("pdf") else b"Ada wrote it.")
    for agreed, expected in ((False, "A text that I typed."), (True, "Ada wrote it.")):
        fill(page, "A text that I typed.", "")
        page.run(f"window.confirm = () => {{ window.asked = true; return {json.dumps(agreed)}; }}")
        page.choose_file("#text-file", tmp_path / name)
        wait(page, "window.asked")
        page.run("window.asked = false")
        wait(page, "document.querySelector('#working').hidden")
        page.run("new Promise((resolve) => setTimeout(resolve, 300))")
        assert page.run("document.querySelector('#passage').value") == expected


def pdf_of_html(page, path, html):
    """A PDF of a page, as Chromium prints it: subsets of fonts, streams packed."""
    page.open("about:blank")
    page.run(f"document.documentElement.innerHTML = {json.dumps(html)}")
    path.write_bytes(base64.b64decode(page.send("Page.printToPDF")["data"]))


PRINTED = """<title>t</title><h1>Lease</h1><p>The rent is <b>900 euros</b>.</p>
<ul style="list-style: none"><li>No dogs</li><li>A caf\u00e9 \U0001f600 is near</li></ul>
<p style="break-before: page">The office opens on Monday.</p>"""
PRINTED_LINES = """Lease
The rent is 900 euros.
No dogs
A caf\u00e9 \U0001f600 is near

The office opens on Monday."""


def test_a_pdf_is_read_as_in_python_by_a_library_that_is_loaded_then(browser, site, tmp_path):
    path = tmp_path / "lease.pdf"
    pdf_of_html(browser, path, PRINTED)
    (python,) = read_texts([str(path)]).documents
    browser.errors.clear()
    browser.requests.clear()
    page = opened(browser, site)
    passage = "document.querySelector('#passage').value"
    assert ask(page) == ANSWER
    assert [address for address in page.requests if "pdf" in address.rpartition("/")[2]] == [f"{site}pdf.mjs"]
    page.choose_file("#text-file", path)
    wait(page, f"{passage}.startsWith('Lease')")
    assert page.run(passage) == PRINTED_LINES == python.text
    page.run("document.querySelector('#question').value = 'How much is the rent?'")
    assert ask(page) == page.run("document.querySelector('#reading mark').textContent") == "900 euros"
    assert unexpected(page.errors) == []
    assert {address for address in page.requests if "/pdfjs/" in address} == {
        f"{site}pdfjs/{name}" for name in PDF_SCRIPTS
    }


def test_a_pdf_without_text_that_can_be_read_is_refused_in_words(page, tmp_path):
    before = page.run("document.querySelector('#passage').value")
    whole = pdf_of("The rent is 900 euros.")
    locked = PdfWriter(clone_from=PdfReader(io.BytesIO(whole)))
    locked.encrypt("secret", algorithm="RC4-128")
    locked.write(tmp_path / "locked.pdf")
    faults = {
        "locked.pdf": (None, "needs a password"),
        "scan.pdf": (pdf_of("", ""), "has no text"),
        "cut": (whole[:80], "cannot read"),
        "note.pdf": (b"A note.", "cannot read"),
    }
    for name, (content, words) in faults.items():
        if content:
            (tmp_path / name).write_bytes(content)
        page.choose_file("#text-file", tmp_path / name)
        wait(page, f"document.querySelector('#problem').textContent.includes({json.dumps(name)})")
        assert words in text(page, "#problem")
        assert page.run("document.querySelector('#passage').value") == before
    script = f"""import("./pdf.mjs").then(({{ pdfText }}) => pdfText(new File([{json.dumps(whole.decode())}], "long.pdf"),
        21, async () => {{}}, new AbortController().signal)).catch((error) => error.message)"""
    assert "more than one million characters" in page.run(script)
    assert "900 euros" in page.run(script.replace("21,", "22,"))


def test_reading_a_long_pdf_can_be_stopped(page, tmp_path):
    before = page.run("document.querySelector('#passage').value")
    path = tmp_path / "long.pdf"
    path.write_bytes(pdf_of(*[f"Page {n}." for n in range(3000)]))
    page.choose_file("#text-file", path)
    wait(page, "document.querySelector('#working').textContent.startsWith('Reading page')")
    assert text(page, "#working").endswith(" of 3000\u2026")
    page.run("document.querySelector('#ask').click()")
    wait(page, "document.querySelector('#ask').textContent === 'Ask'")
    assert page.run("document.querySelector('#working').hidden")
    assert page.run("document.querySelector('#passage').value") == before


def test_enter_while_a_text_is_read_says_so_and_stops_nothing(page, tmp_path):
    path = tmp_path / "long.pdf"
    path.write_bytes(pdf_of(*[f"Page {n}." for n in range(3000)]))
    page.choose_file("#text-file", path)
    wait(page, "document.querySelector('#working').textContent.startsWith('Reading page')")
    page.run("document.querySelector('#question').focus()")
    press(page, "Enter", 13)
    assert text(page, "#problem") == "The text is still being read. Wait, or press Stop."
    assert text(page, "#ask") == "Stop"
    assert page.run("document.querySelector('#asked').children.length") == 0
    wait(page, "document.querySelector('#passage').value.startsWith('Page 0.')")
    assert page.run("document.querySelector('#problem').hidden")


def test_a_model_that_is_opened_meanwhile_leaves_the_text_that_is_read(page, page_model, tmp_path):
    (tmp_path / "slow.txt").write_text("From a slow disk.")
    page.run("""void (File.prototype.arrayBuffer = function () {
        if (!this.name.endsWith("txt")) return new Response(this).arrayBuffer();
        return new Promise((resolve) => { window.arrive = () => resolve(new Response(this).arrayBuffer()); });
    })""")
    page.choose_file("#text-file", tmp_path / "slow.txt")
    wait(page, "Boolean(window.arrive)")
    choose_model(page, page_model.weights)
    page.run("window.arrive()")
    wait(page, "document.querySelector('#passage').value === 'From a slow disk.'")
    path = tmp_path / "long.pdf"
    path.write_bytes(pdf_of(*[f"Page {n}." for n in range(3000)]))
    page.choose_file("#text-file", path)
    wait(page, "document.querySelector('#working').textContent.startsWith('Reading page')")
    page.choose_file("#model-file", page_model.weights)
    wait(page, "document.querySelector('#passage').value.startsWith('Page 0.')")


def test_a_text_file_is_read_and_a_long_one_is_read_in_part(page, tmp_path):
    contexts = list(dict.fromkeys(e.context for e in read_squad(resolve(EMBEDDED, "dev"))))
    path = tmp_path / "long.txt"
    path.write_text("\n".join(contexts[:20]), encoding="utf-16")
    page.choose_file("#text-file", path)
    wait(page, f"document.querySelector('#passage').value.length > {len(contexts[0])}")
    page.run("document.querySelector('#question').value = 'Who is it about?'")
    ask(page)
    assert text(page, "#windows").startswith("Read the 16 of ")
    read_all = "document.querySelector('#read-all')"
    page.run(f"{read_all}.focus(), {read_all}.click()")
    wait(page, "document.querySelector('#ask').textContent === 'Stop'")
    assert page.run("document.activeElement.id") == "ask"
    page.run("document.querySelector('#ask').click()")
    wait(page, "document.querySelector('#ask').textContent === 'Ask'")
    page.run("document.querySelector('#ask').click()")
    wait(page, "document.querySelector('#ask').textContent === 'Stop'")
    page.run("document.querySelector('#question').dispatchEvent(new Event('input'))")
    wait(page, "document.querySelector('#ask').textContent === 'Ask'")
    assert text(page, "#best") == ""
    assert page.run("document.querySelector('#reading').hidden"), "an earlier answer is marked there"
    assert page.run("document.querySelectorAll('#asked li').length") == 1
    path.write_bytes(b"\xff\x00\x01")
    page.choose_file("#text-file", path)
    wait(page, "!document.querySelector('#problem').hidden")
    assert "not UTF-8 text" in text(page, "#problem")
