"""Texts from files and folders: each word on its line or page, and what is no text is named."""

import codecs
import os
import re
import sys

import pytest
from pdf_files import pdf_of
from places import ROOT

from qa import load
from qa.base.errors import OptionError
from qa.documents import HIDDEN, INLINE, Document, read_texts
from qa.text.preselection import MOST_WINDOWS

PAGE = """<!DOCTYPE html>
<html><head><title>Rent &amp; more</title>
<style>
b { color: red }
</style>
</head><body
 class="wide"><p>The r<b>en</b>t is<br>900 &euro;.</p><!-- a
comment --><script>var rent = "<p>800</p>";
</script>
<p>It is due on Monday.</p></body></html>
"""


def test_a_page_is_read_as_its_text_with_each_word_on_its_line(tmp_path):
    (tmp_path / "page").write_text(PAGE, encoding="utf-8")
    (document,) = read_texts([str(tmp_path / "page")]).documents
    assert " ".join(document.text.split()) == "The rent is 900 €. It is due on Monday."
    for word in ("rent is", "900", "Monday"):
        line = PAGE.splitlines()[document.place(document.text.index(word))["line"] - 1]
        assert word.split()[-1] in line


def test_what_a_browser_does_not_show_is_no_text(tmp_path):
    hidden = "<noscript>Enable it</noscript><template>a<template>b</template>c</template><title/><script src='a.js'/>"
    (tmp_path / "page.xhtml").write_text(
        f"<?xml version='1.0'?><html><body>{hidden}<p>Rent</p></body></html>"
    )
    (document,) = read_texts([str(tmp_path / "page.xhtml")]).documents
    assert document.text.split() == ["Rent"]


def test_a_text_that_mentions_pdf_is_a_text(tmp_path):
    text = "Every PDF file begins with %PDF-1.7 or so."
    (tmp_path / "notes.txt").write_text(text)
    (document,) = read_texts([str(tmp_path / "notes.txt")]).documents
    assert document.text == text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<title>The <script> tag</title><p>Rent", "Rent"),
        ("<!--><p>Rent<!-- a --!> is <!-- b > --> due<!---> now<!--->", "Rent is due now"),
        ("<!--[if IE]><p>Old<![endif]--><!--[if !IE]>--><p>Rent<![endif]--><p>is due", "Rent is due"),
        ("<p>Rent</p><![foo bar]]>is due", "Rent is due"),
        ("<html xmlns='x'><p>Rent <![CDATA[is < 900]]>", "Rent is < 900"),
        ("<p>Rent <![CDATA[is < 900]]>", "Rent"),
        ("<p>H<sub\n>2</sub\n>O and 5<!--\n-->00\n<em>o</em\n>n", "H2O and 500 on"),
        (f"<p>Rent &#{'1' * 5000};is &#{'0' * 5000}57;00", "Rent \ufffdis 900"),
        ("<p>Rent <svg><title>due</title></svg> is 900", "Rent is 900"),
        ("<p><ruby>漢<rt>かん</p><p>Rent", "漢 Rent"),
        ("<ruby>東京<rt>とうきょう</rt></ruby>に<ruby>住<rp>(<rt>す<rp>)</ruby>む", "東京に住む"),
    ],
)
def test_a_page_has_the_words_that_a_browser_shows(tmp_path, html, text):
    (tmp_path / "page.html").write_text(html)
    (document,) = read_texts([str(tmp_path / "page.html")]).documents
    assert document.text.split() == text.split()


@pytest.mark.parametrize("rest", ["<!-- secret 950", "<!-- <b>secret</b> 950", "<a href='x", "<! secret"])
def test_what_is_open_at_the_end_is_no_text(tmp_path, rest):
    (tmp_path / "page.html").write_text(f"<p>Rent is 900. {rest}")
    assert read_texts([str(tmp_path / "page.html")]).contents[0].split() == ["Rent", "is", "900."]


def test_a_line_end_within_a_word_waits_for_its_end(tmp_path):
    for html, line in (("<p>micro<em\n>scope</em\n>s\n<p>Rent", 4), ("<p>a&#10;b</p>\n<br\n><p>Rent", 3)):
        (tmp_path / "page.html").write_text(html)
        (document,) = read_texts([str(tmp_path / "page.html")]).documents
        assert document.place(document.text.index("Rent"))["line"] == line


def test_the_web_page_keeps_words_whole_and_hides_at_the_same_tags():
    script = (ROOT / "export/web/page/textfile.mjs").read_text(encoding="utf-8")
    for name, tags in (("INLINE", INLINE), ("HIDDEN", HIDDEN)):
        assert set(re.findall(r"\w+", re.search(rf"{name} =([^;]+)", script)[1])) == set(tags)


def test_a_pdf_is_read_by_its_pages(tmp_path):
    path = tmp_path / "paper"
    path.write_bytes(pdf_of("The rent is 900 euros.", "", "The of\\256ce opens on Monday."))
    (document,) = read_texts([str(path)]).documents
    assert document.text == "The rent is 900 euros.\n\nThe office opens on Monday."
    assert document.named_place(document.text.index("900")) == f"{path}, page 1"
    assert document.place(document.text.index("Monday")) == {"file": str(path), "page": 3}
    for damaged, what in ((pdf_of(""), "has no text"), (path.read_bytes()[:80], "cannot read this PDF")):
        path.write_bytes(damaged)
        with pytest.raises(OptionError, match=what):
            read_texts([str(path)])


def test_letters_as_a_font_draws_them_become_letters(tmp_path, monkeypatch):
    """U+FEE3 and others are forms of Arabic letters, U+FB2A of a Hebrew one."""
    drawn = "\ufee3\ufeae\ufea3\ufe92\ufe8e \ufb2a \ufb01 x"
    (tmp_path / "paper.pdf").write_bytes(pdf_of("x"))
    monkeypatch.setattr("pypdf.PageObject.extract_text", lambda page: drawn)
    (document,) = read_texts([str(tmp_path / "paper.pdf")]).documents
    assert document.text == "\u0645\u0631\u062d\u0628\u0627 \u05e9\u05c1 fi x"


def test_a_pdf_without_pypdf_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pypdf", None)
    (tmp_path / "paper.txt").write_bytes(pdf_of("The rent is 900 euros."))
    with pytest.raises(
        OptionError, match=re.escape("paper.txt: a PDF needs pypdf: pip install 'pocketqa[pdf]'")
    ):
        read_texts([str(tmp_path / "paper.txt")])


def test_a_folder_is_all_its_texts_and_the_rest_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {
        "notes/b.txt": b"b",
        "notes/a/c.md": b"c",
        "notes/.git/x": b"x",
        "notes/.y": b"y",
        "top.txt": b"t",
    }
    for name, content in {**files, "notes/z.png": b"\x89PNG"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    os.symlink("b.txt", tmp_path / "notes" / "same.txt")
    os.symlink(tmp_path, tmp_path / "notes" / "circle")
    os.symlink("nothing", tmp_path / "notes" / "gone")
    texts = read_texts(["top.txt", "notes", "notes/a/c.md", "top.txt"])
    assert [d.source for d in texts.documents] == ["top.txt", "notes/b.txt", "notes/a/c.md"]
    told = capsys.readouterr().err
    assert told.startswith("notes: left out 3 of 6 files: ")
    assert "notes/circle: is a link to a folder" in told
    assert "notes/gone: is no file" in told
    assert "notes/z.png: not UTF-8 text (byte 0)" in told
    assert told.count("\n") == 1
    (tmp_path / "empty").mkdir()
    with pytest.raises(OptionError, match="empty: has no file"):
        read_texts(["top.txt", "empty"])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
def test_a_mark_says_how_a_text_is_written_and_is_none_of_it(tmp_path, encoding):
    text = "The café opens at 9."
    mark = codecs.BOM_UTF16_BE if encoding == "utf-16-be" else b""
    (tmp_path / "note.txt").write_bytes(mark + text.encode(encoding))
    assert read_texts([str(tmp_path / "note.txt")]).contents == [text]
    (tmp_path / "page").write_bytes(mark + f"<!doctype html><p>{text}</p>".encode(encoding))
    assert read_texts([str(tmp_path / "page")]).contents[0].strip() == text


def test_another_encoding_is_refused(tmp_path):
    for encoding in ("utf-32", "utf-16-le"):  # the second without a mark
        (tmp_path / "wide.txt").write_bytes("Kiel".encode(encoding))
        with pytest.raises(OptionError, match=r"wide\.txt: has zero bytes.* UTF-8"):
            read_texts([str(tmp_path / "wide.txt")])
    (tmp_path / "cut.txt").write_bytes("Kiel".encode("utf-16")[:-1])
    with pytest.raises(OptionError, match=r"cut\.txt: not UTF-16-LE text \(byte 8\)"):
        read_texts([str(tmp_path / "cut.txt")])


def test_a_model_given_as_a_text_is_refused(tmp_path):
    (tmp_path / "m").write_bytes(b"\x1c\0\0\0TFL3\0")
    with pytest.raises(OptionError, match="is a model; give it with --model"):
        read_texts([str(tmp_path / "m")])


def test_several_texts_are_read_as_one_long_one_and_no_answer_spans_two(make_bundle):
    """The windows of a text are its own, and the 16 best are those of all."""
    model = load(make_bundle(), threads=1)
    texts = [f"The harbour number {n} is in Kiel." for n in range(30)]
    texts[11] = "Nobody knows. " * 300
    reading = model.read([("Where is harbour number 7?", texts), ("Where?", "Kiel")])
    assert reading.n_windows == [MOST_WINDOWS, 1]
    assert reading.n_windows_in_text[0] == 29 + model.read([("?", texts[11])]).n_windows_in_text[0]
    passage = "\n\n".join(texts)
    for answer in (reading.answers[0], *reading.answers[0].alternatives):
        assert passage[answer.start : answer.end] == answer.text
        assert "\n\n" not in answer.text
    alone = model.answer("Where?", "In Kiel")
    assert model.answer("Where?", ["In Kiel"]) == alone
    assert model.answer("Where?", ["", "In Kiel"]).text == alone.text
    blank = ["", " \n"] * MOST_WINDOWS
    behind = model.read([("Where?", [*blank, "In Kiel"]), ("Where?", ["", ""])])
    assert behind.n_windows == [1, 2]
    assert behind.answers[0].text == alone.text
    assert behind.answers[0].start == alone.start + len("\n\n".join([*blank, ""]))
    with pytest.raises(OptionError, match="the context of pair 0 must be a text or a list of texts"):
        model.answer("Where?", [])
    assert Document("a", "x\ny").place(2) == {"file": "a", "line": 2}


def test_a_file_larger_than_the_memory_is_refused_by_its_beginning(tmp_path):
    with open(tmp_path / "video.mp4", "wb") as stream:
        stream.truncate(1 << 42)  # takes no room on the disk
    (tmp_path / "note.txt").write_text("The café opens at 9.")
    assert read_texts([str(tmp_path)]).contents == ["The café opens at 9."]
