"""Texts that break programs, given to the Android app's core on this machine's JVM: it answers as Python
does."""

import codecs
import random
import shutil
import struct

from case import Torture
from mutations import damaged_bytes
from texts import passage_and_question

from export.android.core_process import NEED_JDK, CoreProcess
from export.android.stage import answer_here, differences
from qa.base.errors import BundleError, OptionError, ParityError
from qa.bundles.bundle import open_bundle
from qa.data.squad import Example
from qa.reader import check_text
from qa.runtime.runtimes import load_runtime

MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be", codecs.BOM_UTF8: "utf-8"}


class Core(CoreProcess):
    """The core with its reader of text files."""

    def read_file(self, raw: bytes) -> str:
        """The text of a file with these bytes. BundleError when it is refused."""
        self._send(b"F" + struct.pack(">i", len(raw)) + raw)
        self._expect(b"F")
        return self._read(self._unpack(">i")[0]).decode()


def text_of(raw: bytes) -> str | None:
    """What a file with these bytes says; None where it is no plain text."""
    mark = next((mark for mark in MARKS if raw.startswith(mark)), b"")
    try:
        text = raw[len(mark) :].decode(MARKS.get(mark, "utf-8"))
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


class JavaTexts(Torture):
    """Answers and texts of files are Python's. Half a surrogate pair, which Python's tokenizer refuses, does
    no harm."""

    name = "texts on the JVM"
    n_cases = 1000
    seconds = 300

    @staticmethod
    def missing() -> str:
        """A JDK, where there is none."""
        return "" if shutil.which("javac") and shutil.which("java") else NEED_JDK

    def prepare(self) -> None:
        """Open the file that a phone would get; the core is started by the first case."""
        self.bundle = open_bundle(self.material / "tflite-int8")
        self.runtime = load_runtime(self.bundle, 1)
        self.words = self.real_words()
        self.core: Core | None = None

    def run(self, number: int) -> str:
        """One question about a passage, or in one case of four one file."""
        self.core = self.core or Core(self.bundle.weights)
        rng = self.rng(number)
        passage, question = passage_and_question(number, rng, self.words)
        try:
            return (
                self._file(self.core, passage, rng)
                if number % 4 == 0
                else self._question(self.core, passage, question)
            )
        except ParityError as error:  # it has ended
            self.core.close()
            self.core = None
            return str(error)

    def _question(self, core: Core, passage: str, question: str) -> str:
        seen = core.ask(passage, question, self.runtime)
        try:
            check_text(passage, "the passage")
            check_text(question, "the question")
        except OptionError:
            places = [(c.start, c.end) for c in seen.prediction.candidates]
            return (
                ""
                if all(0 <= start < end <= len(passage) for start, end in places)
                else f"answers at {places}"
            )
        example = Example("0", "", passage, question, (), False)
        (wanted,) = answer_here([example], self.bundle, self.runtime)
        return differences(example, wanted, seen, self.bundle.settings.null_threshold)

    def _file(self, core: Core, text: str, rng: random.Random) -> str:
        encoding = rng.choice(("utf-8", "utf-8-sig", "utf-16", "latin-1"))
        raw = text.encode(encoding, "replace" if encoding == "latin-1" else "surrogatepass")
        raw = damaged_bytes(raw, rng) if raw and rng.randrange(2) else raw
        try:
            seen: str | None = core.read_file(raw)
        except BundleError:
            seen = None
        wanted = text_of(raw)
        return "" if seen == wanted else f"a file read as {ascii(seen)[:100]}, which is {ascii(wanted)[:100]}"
