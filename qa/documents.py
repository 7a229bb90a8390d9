"""Texts to ask about, from files, folders and standard input: plain text, HTML and PDF."""

import codecs
import io
import logging
import os
import re
import sys
import unicodedata
from bisect import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import accumulate
from typing import Any

from qa.base.errors import OptionError, first_few, first_line
from qa.base.printable import on_one_line
from qa.reader import BETWEEN_TEXTS
from qa.runtime.package import TFLITE_MAGIC

STDIN = "-"
PDF_MAGIC = re.compile(rb"(^|[\0\r\n])%PDF-")  # a text may have it within a line
PDF_MAGIC_WITHIN = 1024  # bytes; readers allow a header of another program before it
# ff to st; Hebrew and Arabic letters as a font draws them, which no tokenizer knows.
PRESENTED = (*range(0xFB00, 0xFE00), *range(0xFE70, 0xFEFD))
LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)).strip() for code in PRESENTED}
ZERO_BYTES = "has zero bytes, so it is no plain text; convert it to UTF-8"
# Byte order marks; the app and the page read the same.
MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be", codecs.BOM_UTF8: "utf-8"}
HTML_NAME = re.compile(r"\.x?html?$", re.IGNORECASE)
HTML_START = re.compile(r"\s*(<\?xml[^>]*>\s*)?(<!doctype html|<html)", re.IGNORECASE)
XHTML_START = re.compile(r"\s*(<\?xml[^>]*>\s*)?(<!doctype[^>]*>\s*)?<html[^>]*\sxmlns=", re.IGNORECASE)
HTML_COMMENT = re.compile(r"<!--(>|->|.*?--!?>)", re.DOTALL)
# Python takes no decimal number of thousands of digits; in browsers, one of more than seven is U+FFFD.
LARGE_REFERENCE = re.compile(r"&#0*[1-9][0-9]{7,};?")
ZEROS_OF_REFERENCE = re.compile(r"(?<=&#)0{8,}(?=[0-9])")
ISO_2022 = re.compile(r"\x1b(\$|\([IJ])")  # such as ISO-2022-JP, which consists of ASCII
TAG_START = re.compile(r"<[a-z/!?]", re.IGNORECASE)
RUBY = ("rp", "rt")  # readings above words; one ends where the next begins, or with the word
HIDDEN = ("noscript", "script", "style", "template", "title", *RUBY)
# Tags that can stand within a word.
INLINE = {"a", "abbr", "b", "bdi", "bdo", "cite", "code", "del", "em", "font", "i", "ins", "kbd", "mark", "q"}
INLINE |= {"rb", "rp", "rt", "ruby", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "tt", "u"}
INLINE |= {"var", "wbr"}
NAMED_FILES = 3  # of a folder's files that cannot be read


@dataclass(frozen=True)
class Document:
    """Text of a file."""

    source: str
    """File as the user named it."""
    text: str
    pages: tuple[int, ...] = ()
    """Characters at which the pages of a PDF begin."""

    def place(self, start: int) -> dict[str, Any]:
        """Return where a character stands: the file, and its line or page, from 1."""
        if self.pages:
            return {"file": self.source, "page": bisect(self.pages, start)}
        return {"file": self.source, "line": self.text.count("\n", 0, start) + 1}

    def named_place(self, start: int) -> str:
        """Return the place of a character as a user reads it: file:line."""
        place = self.place(start)
        source = on_one_line(self.source)
        return f"{source}, page {place['page']}" if self.pages else f"{source}:{place['line']}"


class Texts:
    """Documents as a reader takes them; offsets of its answers count in all, joined by BETWEEN_TEXTS."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = documents
        self.contents = [document.text for document in documents]
        lengths = [len(text) + len(BETWEEN_TEXTS) for text in self.contents]
        self._begins = list(accumulate(lengths, initial=0))[:-1]

    @property
    def name(self) -> str:
        """Name of the document, or how many there are."""
        n = len(self.documents)
        return on_one_line(self.documents[0].source) if n == 1 else f"{n} texts"

    def find(self, start: int) -> tuple[Document, int]:
        """Return the document of a character, and where the document begins."""
        number = bisect(self._begins, start) - 1
        return self.documents[number], self._begins[number]


def read_texts(paths: Iterable[str]) -> Texts:
    """Read files and folders, each file once; "-" is standard input.

    OptionError names what is missing or no text. Files of a folder that cannot be read are named on stderr.
    """
    documents: list[Document] = []
    known: set[str] = set()
    for path in dict.fromkeys(paths):
        if path == STDIN:
            raw = _read_stdin()
            _check_start("(standard input)", raw[:PDF_MAGIC_WITHIN])
            documents.append(_document("(standard input)", raw))
        elif os.path.isdir(path):
            documents += _documents_in(path, known)
        elif (real := os.path.realpath(path)) not in known:
            known.add(real)
            documents.append(_read_file(path))
    return Texts(documents)


def _read_file(path: str) -> Document:
    if not os.path.exists(path):
        raise OptionError(
            f"{path}: no such file or folder; give texts, then one question in quotes, or --question for each"
        )
    with open(path, "rb") as stream:
        start = stream.read(PDF_MAGIC_WITHIN)
        _check_start(path, start)  # a video may be larger than the memory
        return _document(path, start + stream.read())


def _check_start(source: str, start: bytes) -> None:
    """Raise OptionError for a file that its first bytes show to be no text."""
    if start[4:8] == TFLITE_MAGIC:
        raise OptionError(f"{source}: is a model; give it with --model")
    if b"\0" in start and not (PDF_MAGIC.search(start) or start.startswith(tuple(MARKS))):
        raise OptionError(f"{source}: {ZERO_BYTES}")


def _documents_in(folder: str, known: set[str]) -> list[Document]:
    """Read every text in a folder that is not in `known`, and add it there; hidden files are left out."""
    files, unread = _files(folder)
    n = len(files) + len(unread)
    if not n:
        raise OptionError(f"{folder}: has no file; give a folder with texts")
    documents = []
    for path in files:
        if (real := os.path.realpath(path)) not in known:
            known.add(real)
            try:
                documents.append(_read_file(path))
            except (OptionError, OSError) as error:
                unread.append(str(error))
    if len(unread) == n:
        raise OptionError(f"{folder}: has no text; {unread[0]}")
    if unread:
        named = first_few(unread, NAMED_FILES)
        print(on_one_line(f"{folder}: left out {len(unread)} of {n} files: {named}"), file=sys.stderr)
    return documents


def _files(folder: str) -> tuple[list[str], list[str]]:
    """Return the files of a folder in order, and why others of its entries cannot be read."""
    files: list[str] = []
    unread: list[str] = []
    for path, folders, names in os.walk(folder, onerror=lambda error: unread.append(str(error))):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for entry in (os.path.join(path, name) for name in folders):
            if os.path.islink(entry):
                unread.append(f"{entry}: is a link to a folder; give the folder itself")
        for entry in (os.path.join(path, name) for name in sorted(names) if not name.startswith(".")):
            if os.path.isfile(entry):
                files.append(entry)
            else:
                unread.append(f"{entry}: is no file")
    return files, unread


def _read_stdin() -> bytes:
    if sys.stdin is None:
        raise OptionError("standard input is closed; give a text file")
    if sys.stdin.isatty():
        print("Type or paste the text; end with Ctrl-D on an empty line.", file=sys.stderr)
    return sys.stdin.buffer.read()


def _document(source: str, raw: bytes) -> Document:
    if PDF_MAGIC.search(raw[:PDF_MAGIC_WITHIN]):
        return _pdf(source, raw)
    mark = next((mark for mark in MARKS if raw.startswith(mark)), b"")
    encoding = MARKS.get(mark, "utf-8")
    try:
        text = raw[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        where = f"{encoding.upper()} text (byte {len(mark) + error.start})"
        raise OptionError(f"{source}: not {where}; convert it to UTF-8") from None
    if ISO_2022.search(text):
        raise OptionError(f"{source}: is ISO-2022 text, not UTF-8; convert it to UTF-8")
    if "\0" in text:  # UTF-32, UTF-16 without a mark, archives
        raise OptionError(f"{source}: {ZERO_BYTES}")
    if HTML_NAME.search(source) or HTML_START.match(text):
        page = _HTMLText(is_xhtml=XHTML_START.match(text) is not None)
        end = text.rfind(">") + 1
        whole = text[:end] + TAG_START.split(text[end:], maxsplit=1)[0]  # an unfinished tag is no text
        page.feed(ZEROS_OF_REFERENCE.sub("", LARGE_REFERENCE.sub("&#xFFFD;", whole)))
        page.close()
        text = "".join(page.parts)
    return Document(source, text)


class _HTMLText(HTMLParser):
    """Text of a page without tags, with each word on the line that it has in the file.

    Reads titles, comments and <![ as browsers do, which not every version of Python does.
    """

    # Final in typeshed only: Python's documentation does not name it.
    CDATA_CONTENT_ELEMENTS = (*HTMLParser.CDATA_CONTENT_ELEMENTS, "title")  # type: ignore[misc]

    def __init__(self, is_xhtml: bool) -> None:
        super().__init__()
        self._is_xhtml = is_xhtml
        self.parts: list[str] = []
        self._line = 1
        self._hidden = ""
        self._depth = 0  # of templates in the hidden one

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Part words at a tag that is a block, and hide what is no text."""
        if tag not in INLINE:
            self.parts.append(" ")
        self._end_reading(tag)
        if tag in HIDDEN and not self._hidden:
            self._hidden = tag
        self._depth += tag == self._hidden

    def handle_endtag(self, tag: str) -> None:
        """Part words too."""
        if tag not in INLINE:
            self.parts.append(" ")
        self._end_reading(tag if tag in INLINE else "ruby")
        self._depth -= tag == self._hidden
        if not self._depth:
            self._hidden = ""

    def _end_reading(self, tag: str) -> None:
        if self._hidden in RUBY and tag in (*RUBY, "rb", "rtc", "ruby"):
            self._hidden = ""
            self._depth = 0

    def handle_data(self, data: str) -> None:
        """Keep the text, after the line ends of tags and hidden parts before it.

        Within a word those line ends wait for the next white space.
        """
        if self._hidden:
            return
        missing = max(0, self.getpos()[0] - self._line)
        if self.parts and not self.parts[-1][-1:].isspace() and not data[:1].isspace():
            missing = 0
        self.parts.append("\n" * missing + data)
        self._line += missing + data.count("\n")

    def unknown_decl(self, data: str) -> None:
        """Keep the text of <![CDATA[...]]>."""
        self.handle_data(data.removeprefix("CDATA["))

    def parse_comment(self, i: int, report: bool = True) -> int:
        """Return the end of a comment; one without an end hides the rest."""
        comment = HTML_COMMENT.match(self.rawdata, i)
        return comment.end() if comment else len(self.rawdata)

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """Return the end of <![CDATA[...]]> of XHTML, or of <![endif]-->, which is a tag without text."""
        if self._is_xhtml and self.rawdata.startswith("<![CDATA[", i):
            return super().parse_marked_section(i, report)
        return self.parse_bogus_comment(i)


def _pdf(source: str, raw: bytes) -> Document:
    try:
        from pypdf import PdfReader
    except ModuleNotFoundError:
        raise OptionError(f"{source}: a PDF needs pypdf: pip install 'pocketqa[pdf]'") from None
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns of what it mends
    try:
        pages = [page.extract_text() for page in PdfReader(io.BytesIO(raw)).pages]
    except Exception as error:  # of damage, a password, or a missing package: a dozen types
        raise OptionError(
            f"{source}: pypdf cannot read this PDF ({first_line(error)}); give its text"
        ) from None
    if not any(page.strip() for page in pages):
        raise OptionError(f"{source}: this PDF has no text, perhaps only pictures of it; give its text")
    # A page may hold half of a surrogate pair, which is no text.
    clean = [page.strip().translate(LIGATURES).encode(errors="replace").decode() for page in pages]
    begins = accumulate((len(page + BETWEEN_TEXTS) if page else 0 for page in clean), initial=0)
    return Document(source, BETWEEN_TEXTS.join(filter(None, clean)), tuple(begins)[:-1])
