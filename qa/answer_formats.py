"""Answers as `qa.ask` prints them: as text for a terminal, or as JSON for programs."""

import json
import sys
from collections.abc import Sequence
from typing import Any

from qa.base.printable import on_one_line
from qa.documents import Texts
from qa.reader import Answer, Reading

SNIPPET_SIDE = 60  # characters of the passage shown on each side of an answer
ANSWER_LENGTH = 300  # characters; 30 tokens can be longer, since a token has no limit
N_ALTERNATIVES = 3
UTF_8 = ("utf-8", "utf8")
ALTERNATIVE_LENGTH = 50
LEAST_SHOWN = 0.002  # probability of another answer that is worth a look


def as_json(
    reading: Reading, questions: Sequence[str], texts: Texts, shared: dict[str, Any], *, indent: int | None
) -> str:
    """Return the results of a call, each with what its questions share; times are sums over all of them.

    `score` is null without an answer. `n_best` holds the answer and those from other places, without the
    option "no answer". `start` and `end` count in the text of the file. Characters that standard output may
    lack are escaped.
    """
    shared = shared | {
        "tokenize_ms": reading.tokenize_ms,
        "inference_ms": reading.inference_ms,
        "decode_ms": reading.decode_ms,
    }
    results = [_values(reading, n, question, texts) | shared for n, question in enumerate(questions)]
    has_all_characters = sys.stdout is not None and (sys.stdout.encoding or "").lower() in UTF_8
    return json.dumps(
        results if len(results) > 1 else results[0], indent=indent, ensure_ascii=not has_all_characters
    )


def _values(reading: Reading, number: int, question: str, texts: Texts) -> dict[str, Any]:
    best = reading.answers[number]
    spans = [option for option in (best, *best.alternatives) if option.start is not None]
    return {
        "question": question,
        "answer": best.text,
        **_place(best, texts),
        "score": None if best.start is None else best.score,
        "probability": best.probability,
        "null_score": reading.null_scores[number],
        "n_best": [
            {"text": o.text, **_place(o, texts), "score": o.score, "probability": o.probability}
            for o in spans
        ],
        "n_windows": reading.n_windows[number],
        "n_windows_in_text": reading.n_windows_in_text[number],
        "n_question_tokens": reading.n_question_tokens[number],
    }


def _place(answer: Answer, texts: Texts) -> dict[str, Any]:
    if answer.start is None:
        return {"file": None, "start": None, "end": None}
    document, begin = texts.find(answer.start)
    start = answer.start - begin
    return {**document.place(start), "start": start, "end": start + len(answer.text)}


def as_text(reading: Reading, questions: Sequence[str], texts: Texts, max_question_length: int) -> str:
    """Return a block for each question: the answer, its place, alternatives, and what was not read."""
    return "\n\n".join(
        answer_text(question, reading.answers[n], texts) + left_out_note(reading, n, max_question_length)
        for n, question in enumerate(questions)
    )


def answer_text(question: str, best: Answer, texts: Texts) -> str:
    """Format the answer to one question: its place in the texts, and other places that may be meant."""
    lines = [one_line(question), f"  {_named(best, texts)}"]
    span = best
    if best.start is None:
        if best.not_sure is None:
            empty = all(not text.strip() for text in texts.contents)
            why = "empty" if empty else "has no span that can be an answer"
            return "\n".join([*lines, f"  {texts.name}: {why}"])
        span = best.not_sure
        lines += [f"  not sure: {_named(span, texts)}"]
    assert span.start is not None
    document, begin = texts.find(span.start)
    start = span.start - begin
    end = start + len(span.text)
    lines.append(f"  {document.named_place(start)}, characters {start}-{end}")
    lines.append(f"  {snippet(document.text, start, end)}")
    likely = [o for o in best.alternatives if o is not span and o.probability >= LEAST_SHOWN]
    others = [_named(other, texts, ALTERNATIVE_LENGTH) for other in likely]
    if others:
        lines.append(f"  or: {'; '.join(others[:N_ALTERNATIVES])}")
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
    before = one_line(passage[max(0, start - SNIPPET_SIDE) : start])
    after = one_line(passage[end : end + SNIPPET_SIDE])
    if start > SNIPPET_SIDE:
        before = "... " + (before.partition(" ")[2] or before)
    if end + SNIPPET_SIDE < len(passage):
        after = (after.rpartition(" ")[0] or after) + " ..."
    return f"{before}>>{one_line(passage[start:end], ANSWER_LENGTH)}<<{after}".strip()


def _named(answer: Answer, texts: Texts, length: int = ANSWER_LENGTH) -> str:
    """Return the text and probability of an answer, with its file where the texts are several."""
    several = len(texts.documents) > 1
    if answer.start is None:
        return f"no answer in {'these texts' if several else 'this text'} ({answer.probability:.1%})"
    document, begin = texts.find(answer.start)
    place = f", {document.named_place(answer.start - begin)}" if several and length < ANSWER_LENGTH else ""
    return f"{one_line(answer.text, length)} ({answer.probability:.1%}{place})"


def one_line(text: str, length: int | None = None) -> str:
    """Return the text on one line, cut to a length."""
    line = on_one_line(text)
    return line if length is None or len(line) <= length else line[:length].rstrip() + "..."
