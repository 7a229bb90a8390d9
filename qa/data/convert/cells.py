"""Meaning of a cell: true or false, a number, a text, or answers in one of their usual forms."""

import ast
import json
import re
from contextlib import suppress
from math import isnan
from typing import Any

from qa.base.errors import HALF_PAIR

Fields = dict[str, Any]
ANSWERS = ("answers", "answer", "answer_text")
NO_ANSWER = "no answer given; an empty one means that there is none"
TRUTH = dict.fromkeys(("true", "t", "yes", "y", "1", "1.0"), True) | dict.fromkeys(
    ("false", "f", "no", "n", "0", "0.0", ""), False
)


class Number(str):
    """Text of an answer that is a number in its file; its context may write it longer."""


class Unusable(Exception):
    """Cell that is not understood for certain; its arguments are the reason and what was seen."""


def is_empty(value: object) -> bool:
    """Return whether a cell holds nothing: null, an empty text, or pandas' NaN."""
    return value is None or value == "" or (isinstance(value, float) and isnan(value))


def is_true(value: object, column: str) -> bool:
    """Return a cell's truth value; an empty cell is false."""
    truth = TRUTH.get(str("" if is_empty(value) else value).strip().lower())
    if truth is None:
        raise Unusable(f"{column} is neither true nor false; write one of them", repr(value))
    return truth


def whole_number(value: object) -> int | None:
    """Return an offset; None where none is given, which a negative number says too."""
    if is_empty(value) or str(value).strip().lower() in ("", "nan", "none", "null"):
        return None
    match = re.fullmatch(r"\s*(-?[0-9]{1,15})(\.0+)?\s*", str(value))
    if match is None:
        raise Unusable("answer_start is not a whole number", repr(value))
    return None if match[1].startswith("-") else int(match[1])


def given_answers(fields: Fields) -> list[tuple[str, int | None]]:
    """Return the answers of a record with their starts, None where none is given.

    Of two columns with answers, one is empty, or both say the same.
    """
    columns = [name for name in ANSWERS if name in fields]
    if not columns:
        raise Unusable(NO_ANSWER)
    filled = [answers for name in columns if (answers := _answers(fields[name], fields))]
    if not filled:
        return []
    texts = {text.strip() for text, _ in filled[0]}
    if any(text.strip() not in texts for answers in filled[1:] for text, _ in answers):
        raise Unusable(f"{' and '.join(columns)} say different answers", repr([a[0][0] for a in filled]))
    return filled[0]


def _answers(value: object, fields: Fields) -> list[tuple[str, int | None]]:
    starts = fields.get("answer_start")
    if is_empty(starts) and "end" in fields:  # as labelling tools write a span
        starts = fields.get("start")
    written, value = value, _literal(value)
    if isinstance(written, str) and value is not written and written.strip() in str(fields.get("context")):
        raise Unusable("answer is written as a list, and stands so in its context", repr(written))
    starts = _literal(starts)
    if isinstance(value, dict) and isinstance(value.get("text"), list):  # as the hub's SQuAD
        starts = value.get("answer_start", starts)
        value = value["text"]
    items = value if isinstance(value, list) else [value]
    if all(map(_says_none, items)):
        return []
    if any(map(_says_none, items)):
        raise Unusable("some of its answers are empty, others are not", repr(value))
    if not isinstance(starts, list):
        starts = [None] * len(items) if is_empty(starts) else [starts]
    if len(starts) != len(items):
        raise Unusable("as many answer_start as answers are needed", f"{len(starts)} for {len(items)}")
    return [_answer(item, start) for item, start in zip(items, starts, strict=True)]


def _says_none(item: object) -> bool:
    if isinstance(item, dict) and "text" in item:
        item = item["text"]
    return is_empty(item) or (isinstance(item, str) and item.strip() in ("", '""'))


def _answer(item: object, start: object) -> tuple[str, int | None]:
    if isinstance(item, dict):
        start = item.get("answer_start", item.get("start", start))
        if item.get("answer_category") == "NOT_GIVEN":
            raise Unusable("answer_category is NOT_GIVEN, but there is an answer", repr(item.get("text")))
        item = item.get("text", item)
    if isinstance(item, int | float) and not isinstance(item, bool):
        # pandas makes 1841.0 of 1841 where another cell of the column is empty
        item = Number(int(item) if item % 1 == 0 else item)
    if not isinstance(item, str):
        raise Unusable("answer is not a text", repr(item))
    return item, whole_number(start)


def _literal(cell: object) -> object:
    """Return a cell's list or object where it is written in JSON or as Python prints it, else its text."""
    if not isinstance(cell, str) or not cell.lstrip().startswith(("[", "{")):
        return cell
    with suppress(ValueError, RecursionError):
        return _whole(json.loads(cell), cell)
    # Without commas, as numpy prints a list, Python would read several texts as one.
    if not re.search(r"""['"]\s+['"]""", cell):
        with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return _whole(ast.literal_eval(_Arrays().visit(ast.parse(cell.strip(), mode="eval"))), cell)
    if re.match(r"""\s*[\[{]\s*['"{]""", cell):
        raise Unusable("cell is not readable as a list or an object", cell)
    return cell


def _whole(value: object, cell: str) -> object:
    """Return what a cell says. Unusable where a text has half a surrogate pair, which no file can hold."""
    if HALF_PAIR.search(json.dumps(value, ensure_ascii=False, default=str)):
        raise Unusable("cell has half a surrogate pair", repr(cell))
    return value


class _Arrays(ast.NodeTransformer):
    """Replace array([...], dtype=...), as numpy prints it, by its list."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        named_array = isinstance(node.func, ast.Name) and node.func.id == "array"
        return self.visit(node.args[0]) if named_array and len(node.args) == 1 else node
