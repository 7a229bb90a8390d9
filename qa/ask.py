"""Ask a bundle about a passage of any length.

python -m qa.ask --question "Who wrote it?" --context passage.txt
pdftotext paper.pdf - | python -m qa.ask --question "Who wrote it?" --question "When?"
"""

import json
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from tyro.conf import arg

from qa import load
from qa.base.cli import check_exclusive, check_option
from qa.base.commands import run_command
from qa.base.errors import OptionError
from qa.base.help import Expert
from qa.base.shipped import ASKED, shipped
from qa.reader import Answer, Reader, Reading, check_text
from qa.runtime.runtimes import available_cores
from qa.text.settings import DEFAULT_MODE, MODE_HELP, Mode

STDIN = Path("-")
SNIPPET_SIDE = 60  # characters of the passage shown on each side of an answer
ANSWER_LENGTH = 300  # characters; 30 tokens can be longer, since a token has no limit
N_ALTERNATIVES = 3
ALTERNATIVE_LENGTH = 50


@dataclass(frozen=True, kw_only=True)
class AskOptions:
    """Ask a model about a passage of any length."""

    model: Path | None = None
    """Bundle of any format and precision, or a transformers checkpoint (folder or hub name); by default the
    student that comes with the project, in TFLite and int8."""
    question: tyro.conf.UseAppendAction[tuple[str, ...]]
    """Question; repeat the flag for more questions."""
    context: Path = STDIN
    """UTF-8 text file with the passage; - for standard input."""
    read_all: bool = False
    """Read the whole text. By default only the 16 windows that share most with the question are read."""
    json: bool = False
    """Print JSON with all n-best answers and times in milliseconds; a list for several questions."""
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
        check_option(len(self.question) >= 1, "--question", "none", "given")
        for question in self.question:
            check_text(question, "--question")
            check_option(bool(question.strip()), "--question", ascii(question), "more than spaces")
        cores = available_cores()
        wanted = f"between 1 and {cores}, the cores there are"
        check_exclusive(
            self.mode != DEFAULT_MODE and self.null_threshold is not None,
            f"--mode {self.mode}",
            "--null-threshold",
        )
        check_option(self.threads is None or 1 <= self.threads <= cores, "--threads", self.threads, wanted)


def read_passage(path: Path) -> str:
    """Read a passage unchanged; line ends stay, so that offsets fit the file."""
    if path == STDIN:
        raw = _read_stdin()
    elif not path.exists() or path.is_dir():
        what = "is a folder" if path.is_dir() else "no such file"
        raise OptionError(f"--context {path}: {what}; give a UTF-8 text file, or - for standard input")
    else:
        raw = path.read_bytes()
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise OptionError(
            f"--context {path}: not UTF-8 text (byte {error.start}); convert it to UTF-8"
        ) from None


def _read_stdin() -> bytes:
    if sys.stdin is None:
        raise OptionError("--context -: standard input is closed; give a UTF-8 text file")
    if sys.stdin.isatty():
        print("Type or paste the passage; end with Ctrl-D on an empty line.", file=sys.stderr)
    return sys.stdin.buffer.read()


def as_json(reading: Reading, number: int, question: str) -> dict[str, Any]:
    """Return the result of one question as JSON values.

    `score` is null without an answer. `n_best` holds the spans, without the option "no answer".
    """
    best = reading.answers[number]
    options = [best, *best.alternatives]
    return {
        "question": question,
        "answer": best.text,
        "start": best.start,
        "end": best.end,
        "score": None if best.start is None else best.score,
        "probability": best.probability,
        "null_score": reading.null_scores[number],
        "n_best": [
            {"text": o.text, "start": o.start, "end": o.end, "score": o.score, "probability": o.probability}
            for o in options
            if o.start is not None
        ],
        "n_windows": reading.n_windows[number],
        "n_windows_in_text": reading.n_windows_in_text[number],
        "n_question_tokens": reading.n_question_tokens[number],
    }


def as_text(question: str, best: Answer, passage: str, source: str) -> str:
    """Format the result of one question: the answer, its place in the passage, and alternatives."""
    lines = [_one_line(question), f"  {_named(best)}"]
    span = best
    alternatives = best.alternatives
    if best.start is None:
        if not alternatives:
            why = "holds no span that can be an answer" if passage.strip() else "is empty"
            return "\n".join([*lines, f"  {source} {why}"])
        assert best.not_sure is not None
        span = best.not_sure
        alternatives = tuple(answer for answer in alternatives if answer is not span)
        lines += [f"  not sure: {_named(span)}"]
    assert span.start is not None
    assert span.end is not None
    line = passage.count("\n", 0, span.start) + 1
    lines.append(f"  {source}:{line}, characters {span.start}-{span.end}")
    lines.append(f"  {snippet(passage, span.start, span.end)}")
    if alternatives:
        named = [_named(answer, ALTERNATIVE_LENGTH) for answer in alternatives[:N_ALTERNATIVES]]
        lines.append(f"  or: {'; '.join(named)}")
    return "\n".join(lines)


def left_out_note(reading: Reading, number: int, max_question_length: int) -> str:
    """Say which part of the question or text was not read; empty when everything was read."""
    n_read = reading.n_windows[number]
    n_in_text = reading.n_windows_in_text[number]
    n_tokens = reading.n_question_tokens[number]
    note = ""
    if n_tokens > max_question_length:
        note += f"\n  question truncated to {max_question_length} of {n_tokens} tokens; shorten it"
    if n_read < n_in_text:
        read = f"read the {n_read} of {n_in_text} windows that share most with the question"
        note += f"\n  {read}; --read-all reads all"
    return note


def snippet(passage: str, start: int, end: int) -> str:
    """Mark the answer in the text around it, on one line, cut between words where possible."""
    before = _one_line(passage[max(0, start - SNIPPET_SIDE) : start])
    after = _one_line(passage[end : end + SNIPPET_SIDE])
    if start > SNIPPET_SIDE:
        before = "... " + (before.partition(" ")[2] or before)
    if end + SNIPPET_SIDE < len(passage):
        after = (after.rpartition(" ")[0] or after) + " ..."
    return f"{before}>>{_one_line(passage[start:end], ANSWER_LENGTH)}<<{after}".strip()


def _named(answer: Answer, length: int = ANSWER_LENGTH) -> str:
    text = "no answer in this text" if answer.start is None else _one_line(answer.text, length)
    return f"{text} ({answer.probability:.1%})"


def _one_line(text: str, length: int | None = None) -> str:
    """Join lines and cut the text to a length; remove characters that control a terminal or its direction."""
    line = "".join(c for c in re.sub(r"\s+", " ", text) if c.isprintable())
    return line if length is None or len(line) <= length else line[:length].rstrip() + "..."


def ask(options: AskOptions) -> list[Answer]:
    """Answer every question and print the results."""
    passage = read_passage(options.context)
    began = time.perf_counter()
    model = load(
        options.model or shipped(ASKED),
        threads=options.threads,
        isolated=options.isolated,
        mode=None if options.null_threshold is not None else options.mode,
        null_threshold=options.null_threshold,
    )
    load_ms = 1e3 * (time.perf_counter() - began)
    pairs = [(question, passage) for question in options.question]
    reading = model.read(pairs, read_all=options.read_all, progress=True)
    if options.json:
        shared = _shared(model, reading, load_ms)
        results = [as_json(reading, n, question) | shared for n, question in enumerate(options.question)]
        print(json.dumps(results if len(results) > 1 else results[0], indent=1, ensure_ascii=False))
    else:
        source = "(standard input)" if options.context == STDIN else str(options.context)
        most = model.settings.max_question_length
        texts = [
            as_text(question, reading.answers[n], passage, source) + left_out_note(reading, n, most)
            for n, question in enumerate(options.question)
        ]
        print("\n\n".join(texts))
    return reading.answers


def _shared(model: Reader, reading: Reading, load_ms: float) -> dict[str, Any]:
    """Return what all questions of a call share; times are the sums over all questions."""
    return {
        "runtime": model.runtime.name,
        "precision": model.bundle.precision,
        "threads": model.threads,
        "load_ms": load_ms,
        "tokenize_ms": reading.tokenize_ms,
        "inference_ms": reading.inference_ms,
        "decode_ms": reading.decode_ms,
    }


if __name__ == "__main__":
    run_command("ask")
