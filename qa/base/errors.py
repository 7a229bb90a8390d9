"""Errors that a user can act on. Each message is one line: where, what is wrong, what to do."""

import re
from collections.abc import Sequence

# Half of a surrogate pair, which no file can hold.
HALF_PAIR = re.compile("[\ud800-\udfff]")


class PocketQAError(Exception):
    """Base of every error caused by the input, not by the program; commands print it and exit with 2."""


class OptionError(PocketQAError, ValueError):
    """Option with a value that cannot work; the message names flag, value and what is allowed."""


class BusyError(OptionError):
    """Another process is at work on the same output."""


class SquadFormatError(PocketQAError):
    """Data or prediction file with an error; the message names file and place."""


class BundleError(PocketQAError):
    """Bundle that is missing, unfinished, changed, or of another format than the stage needs."""


class DeviceError(PocketQAError):
    """Phone that cannot be reached or cannot take a file; the message says which and what to do."""


class DownloadError(PocketQAError):
    """Failed download from a hub; the message names the offline way."""


class ProbeError(PocketQAError):
    """Runtime that computes a model otherwise than PyTorch, or no numbers; its answers cannot be trusted."""


class ParityError(PocketQAError):
    """Exported model that differs from its PyTorch parent by more than its precision allows."""


class UnsupportedExport(PocketQAError):
    """Model that a target runtime cannot express; the message says why and what to use instead."""


def first_line(error: BaseException) -> str:
    """Return the first line of another library's message, or the type of an error without one."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def first_few(items: Sequence[str], most: int = 10) -> str:
    """Return the first items with commas between, and how many more there are."""
    more = f" and {len(items) - most:,} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more
