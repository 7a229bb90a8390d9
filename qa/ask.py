"""Ask a model about texts of any length: files, folders, standard input.

pocketqa ask contract.txt "How much is the rent?"
pocketqa ask notes/ paper.pdf
python -m qa.ask --context contract.txt --question "How much is the rent?" --question "Who pays it?"

Without a question, it asks for questions until Ctrl-D. The exit code is 1 when no question has an answer.
"""

import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro
from tyro.conf import arg

from qa import load
from qa.answer_formats import as_json, as_text, one_line
from qa.base.cli import check_exclusive, check_option
from qa.base.commands import run_command
from qa.base.errors import OptionError
from qa.base.help import Expert
from qa.base.shipped import ASKED, shipped
from qa.documents import STDIN, Texts, read_texts
from qa.reader import Answer, Reader
from qa.runtime.runtimes import available_cores
from qa.text.settings import DEFAULT_MODE, MODE_HELP, Mode, check_mode

EXIT_NO_ANSWER = 1
FILE_NAME = re.compile(r"\.(x?html?|md|pdf|rst|tflite|txt)$", re.IGNORECASE)
QUESTION_MARK = re.compile("[?\N{FULLWIDTH QUESTION MARK}\N{ARABIC QUESTION MARK}]")


@dataclass(frozen=True, kw_only=True)
class AskOptions:
    """Ask a model about texts of any length."""

    text: tyro.conf.Positional[tuple[str, ...]] = ()
    """Files and folders with text (UTF-8, or UTF-16 with a byte order mark), HTML or PDF; - for standard
    input. The last word is the question, in quotes, unless a file of that name exists. Without a question,
    type them at the prompt."""
    model: Path | None = None
    """Bundle of any format and precision, a phone's .tflite file, or a transformers checkpoint (folder or hub
    name); by default the student that comes with the project, in TFLite and int8."""
    question: tyro.conf.UseAppendAction[tuple[str, ...]] = ()
    """Question; repeat the flag for more questions."""
    context: tyro.conf.UseAppendAction[tuple[str, ...]] = ()
    """File or folder, as TEXT; repeat the flag for more."""
    read_all: bool = False
    """Read everything. By default only the 16 windows that share most with the question are read."""
    format: Literal["text", "json", "answer"] = "text"
    """Form of the output: text with the answer's place, JSON with all n-best answers and times in
    milliseconds, or only the answer, a line for each question. JSON is a list for several questions, and a
    line for each question that is typed or piped."""
    json: bool = False
    """Short for --format json."""
    threads: Expert[int | None] = None
    """Number of threads; more than 1 helps with long texts only. By default 1."""
    mode: Annotated[Mode, arg(help=MODE_HELP)] = DEFAULT_MODE
    null_threshold: Expert[float | None] = None
    """No-answer threshold: there is no answer when null score - best score exceeds it. By default that of the
    model. The higher it is, the more questions are answered."""
    isolated: Expert[bool] = False
    """Compute in a separate process, for a model that you do not trust: a file that crashes its runtime then
    gives an error."""

    def __post_init__(self) -> None:
        check_option(
            bool(self.text or self.question or self.context),
            "TEXT",
            "none",
            'a file or folder, with a question behind it: ask contract.txt "How much is the rent?"',
        )
        for name, words in (("TEXT", self.text), ("--question", self.question)):
            for word in words:
                check_option(bool(word.strip()), name, ascii(word), "more than spaces")
        cores = available_cores()
        wanted = f"between 1 and {cores}, the cores there are"
        check_mode(self.mode, self.null_threshold)
        check_exclusive(self.json and self.format == "answer", "--json", "--format answer")
        check_option(self.threads is None or 1 <= self.threads <= cores, "--threads", self.threads, wanted)

    def texts_and_questions(self) -> tuple[list[str], list[str]]:
        """Part the words: the last one is a question where there is no other and no such file.

        OptionError when it may be meant as a file.
        """
        words = list(self.text)
        questions = list(self.question)
        if words and not questions and words[-1] != STDIN and not os.path.exists(words[-1]):
            word = words.pop()
            is_question = QUESTION_MARK.search(word) or (len(word.split()) > 1 and not FILE_NAME.search(word))
            if not is_question:
                raise OptionError(
                    f"{word}: no such file or folder; if it is the question, end it with a question mark or "
                    "put it behind --question"
                )
            questions = [word]
        texts = [*self.context, *words] or [STDIN]
        if not questions and STDIN in texts:
            raise OptionError("no question, and standard input is the text; give the question behind it")
        return texts, questions


def ask(options: AskOptions) -> list[Answer]:
    """Answer every question and print the results."""
    paths, questions = options.texts_and_questions()
    texts = read_texts(paths)
    began = time.perf_counter()
    model = load(
        options.model or shipped(ASKED),
        threads=options.threads,
        isolated=options.isolated,
        mode=options.mode,
        null_threshold=options.null_threshold,
    )
    load_ms = 1e3 * (time.perf_counter() - began)
    if questions:
        return _answer(model, texts, questions, options, load_ms)
    answers = []
    for question in _typed_questions(texts):
        answers += _answer(model, texts, [question], options, load_ms, indent=None)
    return answers


def _answer(
    model: Reader,
    texts: Texts,
    questions: Sequence[str],
    options: AskOptions,
    load_ms: float,
    indent: int | None = 1,
) -> list[Answer]:
    pairs = [(question, texts.contents) for question in questions]
    reading = model.read(pairs, read_all=options.read_all, progress=True)
    if options.json or options.format == "json":
        shared = {
            "runtime": model.runtime.name,
            "precision": model.bundle.precision,
            "threads": model.threads,
            "load_ms": load_ms,
        }
        print(as_json(reading, questions, texts, shared, indent=indent), flush=True)
    elif options.format == "answer":
        print("\n".join(one_line(answer.text) for answer in reading.answers), flush=True)
    else:
        most = model.settings.max_question_length
        print(as_text(reading, questions, texts, most), flush=True)
    return reading.answers


def _typed_questions(texts: Texts) -> Iterator[str]:
    """Yield what is typed, or the lines of a pipe; OptionError when there is none."""
    if sys.stdin is None:
        raise OptionError("no question, and standard input is closed; give the question behind the text")
    at_prompt = sys.stdin.isatty() and sys.stdout.isatty()
    if at_prompt:
        with suppress(ModuleNotFoundError):
            import readline  # noqa: F401  # gives input() a history
    if sys.stdin.isatty():
        print(f"{texts.name}: ask a question; Ctrl-D ends", file=sys.stderr)
    n_questions = 0
    while True:
        try:
            line = input("> " if at_prompt else "").strip()
        except EOFError:
            if at_prompt:
                print()
            elif not n_questions:
                raise OptionError("no question; give it behind the text, in quotes") from None
            return
        except UnicodeDecodeError:
            raise OptionError("standard input: a question must be UTF-8 text") from None
        if line:
            n_questions += 1
            yield line


def ask_and_exit(options: AskOptions) -> None:
    """Ask, and exit with EXIT_NO_ANSWER when there were questions and none has an answer."""
    answers = ask(options)
    if answers and all(answer.start is None for answer in answers):
        sys.exit(EXIT_NO_ANSWER)


if __name__ == "__main__":
    run_command("ask")
