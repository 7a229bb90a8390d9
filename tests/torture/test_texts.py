"""Texts that break programs: answers stand where they say, and the Android app's core answers as Python does."""

import codecs
import re
import shutil
import struct

import pytest
from amounts import refused, tries
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import damaged_bytes, odd_texts

from export.android.check import answer_here, differences
from export.android.core_process import NEED_JDK, CoreProcess
from qa.base.errors import BundleError, OptionError
from qa.bundles.bundle import open_bundle
from qa.data.datasets import EMBEDDED, resolve
from qa.data.squad import Example, read_squad
from qa.reader import check_text
from qa.runtime.runtimes import load_runtime

WORDS = " ".join(e.context for e in read_squad(resolve(EMBEDDED, "train"))[:40]).split()
PASSAGES = odd_texts(WORDS, 20_000)
QUESTIONS = odd_texts(WORDS, 400)
MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be", codecs.BOM_UTF8: "utf-8"}


@pytest.mark.parametrize("name", ["student", "onnx-int8", "tflite-int8"])
def test_an_answer_stands_where_it_says_or_the_text_is_refused(load, name):
    model = load(name)

    @tries(500)
    @given(PASSAGES, QUESTIONS)
    @example("a river " * 125_000, "What is it?")
    def check(passage, question):
        def ask():
            answer = model.answer(question, passage)
            if answer.start is None or answer.end is None:
                assert answer.text == ""
            else:
                assert passage[answer.start : answer.end] == answer.text != ""
                assert 0 < answer.probability <= 1

        refused(ask)

    check()


class Core(CoreProcess):
    """The core with its reader of text files."""

    def read_file(self, raw):
        """The text of a file with these bytes; None when it is refused."""
        self._send(b"F" + struct.pack(">i", len(raw)) + raw)
        try:
            self._expect(b"F")
        except BundleError:
            return None
        return self._read(self._unpack(">i")[0]).decode()


def text_of(raw):
    """The text of a file with these bytes; None where it is no plain text."""
    mark = next((mark for mark in MARKS if raw.startswith(mark)), b"")
    try:
        text = raw[len(mark) :].decode(MARKS.get(mark, "utf-8"))
    except UnicodeDecodeError:
        return None
    return None if re.search(r"\0|\x1b(\$|\([IJ])", text) else text


@pytest.fixture
def core(material):
    if not shutil.which("javac") or not shutil.which("java"):
        pytest.skip(NEED_JDK)
    process = Core(open_bundle(material / "tflite-int8").weights)
    yield process
    process.close()


@pytest.mark.jvm
def test_the_core_answers_as_python_does(core, material):
    bundle = open_bundle(material / "tflite-int8")
    runtime = load_runtime(bundle, 1)

    @tries(750)
    @given(PASSAGES, QUESTIONS)
    def check(passage, question):
        answer = core.ask(passage, question, runtime)
        try:
            check_text(passage, "the passage")
            check_text(question, "the question")
        except OptionError:  # half a surrogate pair, which Python's tokenizer refuses
            places = [(c.start, c.end) for c in answer.prediction.candidates]
            assert all(0 <= start < end <= len(passage) for start, end in places)
            return
        given_example = Example("0", "", passage, question, (), False)
        (expected,) = answer_here([given_example], bundle, runtime)
        assert differences(given_example, expected, answer, bundle.settings.null_threshold) == ""

    check()


@pytest.mark.jvm
def test_the_core_reads_files_as_python_does(core):
    @tries(250)
    @given(st.data(), PASSAGES, st.sampled_from(("utf-8", "utf-8-sig", "utf-16", "latin-1")))
    def check(data, text, encoding):
        raw = text.encode(encoding, "replace" if encoding == "latin-1" else "surrogatepass")
        if raw and data.draw(st.booleans()):
            raw = data.draw(damaged_bytes(raw))
        assert core.read_file(raw) == text_of(raw)

    check()
