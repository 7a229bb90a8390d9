"""Values of a packaged file's JSON, read one by one; the app (Fields.java) and the page (fields.mjs) have the
same rules."""

import json
import math
import re
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from qa.base.errors import BundleError

LONGEST_TEXT = 200  # UTF-16 units
MOST_COUNT = 10**15
# Characters that could rearrange or split a line on a screen: control, format and line-end characters, and
# halves of surrogate pairs. It is a list, because Unicode's categories differ between versions.
UNSHOWABLE = re.compile(
    "[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def parse_json(text: str, where: str) -> Any:
    """Return the value of a text in JSON (RFC 8259); BundleError names `where`."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{where} is not valid JSON ({error}); export the model again") from None


def whole_number(value: Any, least: int, most: int) -> int | None:
    """Return a whole number from `least` to `most`, such as 2 or 2.0; None for anything else."""
    if type(value) not in (int, float) or not least <= value <= most or value != math.floor(value):
        return None
    return int(value)


class Fields:
    """Object of a JSON text. Errors name the field, what it must be and what it is."""

    def __init__(self, where: str, value: Any) -> None:
        """`where` names the object in errors."""
        if not isinstance(value, dict):
            raise wrong(where, "an object", value)
        self.where = where
        self.members = value

    def path(self, name: str) -> str:
        """Return the name of a field for errors."""
        return f"{self.where}: {name}"

    def has(self, name: str) -> bool:
        """Return whether a field is there and is not null."""
        return self.members.get(name) is not None

    def value(self, name: str) -> Any:
        """Return any value."""
        if name not in self.members:
            raise BundleError(f"{self.path(name)} is missing; export the model again")
        return self.members[name]

    def object(self, name: str) -> Self:
        """Return an object."""
        return type(self)(self.path(name), self.value(name))

    def list(self, name: str) -> list[Any]:
        """Return a list."""
        value = self.value(name)
        if not isinstance(value, list):
            raise wrong(self.path(name), "a list", value)
        return value

    def text(self, name: str) -> str:
        """Return a text."""
        value = self.value(name)
        if not isinstance(value, str):
            raise wrong(self.path(name), "text", value)
        return value

    def short_text(self, name: str) -> str:
        """Return a text to show, of one line and at most 200 UTF-16 units."""
        value = self.text(name)
        if len(value.encode("utf-16-le", "surrogatepass")) > 2 * LONGEST_TEXT:
            raise wrong(self.path(name), f"at most {LONGEST_TEXT} characters long", value)
        if UNSHOWABLE.search(value):
            raise wrong(self.path(name), "without control characters", value)
        return value

    def switch(self, name: str) -> bool:
        """Return true or false."""
        value = self.value(name)
        if not isinstance(value, bool):
            raise wrong(self.path(name), "true or false", value)
        return value

    def number(self, name: str) -> float:
        """Return a finite number."""
        value = self.value(name)
        if not _is_number(value):
            raise wrong(self.path(name), "a number", value)
        return float(value)

    def integer(self, name: str, least: int, most: int) -> int:
        """Return a whole number from `least` to `most`."""
        value = self.value(name)
        number = whole_number(value, least, most)
        if number is None:
            raise wrong(self.path(name), f"a whole number from {least} to {most}", value)
        return number

    def count(self, name: str) -> int:
        """Return a count."""
        return self.integer(name, 0, MOST_COUNT)

    def integers(self, name: str, least: int, most: int) -> np.ndarray:
        """Return whole numbers from `least` to `most`, (N,) int32."""
        values = self.list(name)
        numbers = [whole_number(value, least, most) for value in values]
        if None in numbers:
            raise wrong(self.path(name), f"whole numbers from {least} to {most}", values)
        return np.array(numbers, np.int32)

    def floats(self, name: str) -> np.ndarray:
        """Return finite 32-bit numbers, (N,) float32."""
        values: Sequence[Any] = self.list(name)
        if all(map(_is_number, values)):
            with np.errstate(over="ignore"):
                numbers = np.array([float(value) for value in values], np.float64).astype(np.float32)
            if np.isfinite(numbers).all():
                return numbers
        raise wrong(self.path(name), "a list of 32-bit numbers", values)


def wrong(where: str, wanted: str, value: Any) -> BundleError:
    """Return the error for a value that is not what it must be."""
    return BundleError(f"{where} must be {wanted}, but is {ascii(value)[:60]}; export the model again")


def _is_number(value: Any) -> bool:
    try:
        return type(value) in (int, float) and math.isfinite(value)
    except OverflowError:  # a whole number above all floats
        return False
