"""Files of results: JSON lines that are appended and never rewritten."""

import os
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import msgspec

from benchmarks.results.rows import AnyResult, Failure
from qa.base.cli import check_option
from qa.base.errors import OptionError, PocketQAError
from qa.base.files import check_new_file

EXIT_SOME_FAILED = 1

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(AnyResult)
BEGIN = b'{"kind"'  # of a result


class ResultsError(PocketQAError):
    """A file of results cannot be read; the message names file and line."""


class ResultFile:
    """A file of results, and the results of the run that appends to it."""

    def __init__(self, path: Path) -> None:
        """Read the file. OptionError when it cannot be written; ResultsError as `read_results`."""
        check_new_file(path, "--rows")
        if path.is_file() and not os.access(path, os.W_OK):
            raise OptionError(f"--rows {path}: cannot be written to; give another file")
        self.path = path
        if path.is_file():
            _cut_torn_line(path)
        self.old: list[AnyResult] = read_results(path) if path.is_file() else []
        self.new: list[AnyResult] = []

    @property
    def all(self) -> list[AnyResult]:
        """Return all results, oldest first."""
        return self.old + self.new

    def append(self, result: AnyResult) -> None:
        """Append a result as `append_result` does; a failure that a continued run has is not repeated."""
        if not (isinstance(result, Failure) and result in self.old):
            append_result(self.path, result)
        self.new.append(result)


def _cut_torn_line(path: Path) -> None:
    """Cut off the beginning of a result that a power cut left behind results; say so on stderr."""
    raw = path.read_bytes()
    end = raw.rfind(b"\n") + 1
    last = raw[end:]
    is_torn = last[: len(BEGIN)] == BEGIN[: len(last)] and not _decodes(last, msgspec.json.decode)
    if last and is_torn and all(_decodes(line, _decoder.decode) for line in raw[:end].splitlines()):
        os.truncate(path, end)
        print(f"{path}: its last line was torn, and is cut off", file=sys.stderr)


def _decodes(line: bytes, decode: Callable[[bytes], object]) -> bool:
    """Return whether a line can be decoded: as JSON, if only of another version, or as a result."""
    try:
        decode(line)
    except (ValueError, RecursionError):
        return False
    return True


def append_result(path: Path, result: AnyResult) -> None:
    """Append one whole line and flush it to disk; a full disk leaves the file as it was."""
    line = _encoder.encode(result) + b"\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+b") as stream:
        before = stream.seek(0, os.SEEK_END)
        if before:
            stream.seek(-1, os.SEEK_END)
            if stream.read(1) != b"\n":  # a line without its end must not spoil this one
                line = b"\n" + line
    try:
        with open(path, "ab") as stream:
            stream.write(line)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError:  # cut off only now: closing still writes what the disk had no room for
        os.truncate(path, before)
        raise


def read_results(path: Path) -> list[AnyResult]:
    """Read all results of a file, oldest first. ResultsError names the first line that is none."""
    results, faults = _read(path)
    if faults:
        raise faults[0]
    return results


def results_of(paths: Sequence[Path], models: Collection[str]) -> list[AnyResult]:
    """Read the results of `models`, or of all models where none is named; those of later files are newer.

    OptionError for a model without any, and where a model of another file has its name.
    """
    by_file = {path: read_results(path) for path in paths}
    results = [result for each in by_file.values() for result in each]
    known = sorted({r.model for r in results})
    unknown = sorted(set(models) - set(known))
    check_option(not unknown, "--models", ", ".join(unknown), f"among {', '.join(known)}")
    files: dict[tuple[str, str, str | None], tuple[str, Path]] = {}
    for path, each in by_file.items():
        for key, bundle in {
            _named(r): r.bundle_sha256 for r in each if not models or r.model in models
        }.items():
            before, first = files.setdefault(key, (bundle, path))
            if before != bundle:
                raise OptionError(
                    f"{first} and {path}: {key[0]} is another model in each; "
                    "give one of the files, or compare both models in one run of benchmarks/compare.py"
                )
    return [r for r in results if not models or r.model in models]


def _named(result: AnyResult) -> tuple[str, str, str | None]:
    """Return what has one line in a table: a name on a target and a data set."""
    return result.model, result.target, result.data.sha256 if result.data is not None else None


def sound_results(path: Path) -> tuple[list[AnyResult], list[ResultsError]]:
    """Read the results of a file, and why each other line is left out. ResultsError without any result."""
    results, faults = _read(path)
    if not results:
        why = faults[0] if faults else "it is empty"
        raise ResultsError(f"{path}: has no result ({why}); measure something first")
    return results, faults


def _read(path: Path) -> tuple[list[AnyResult], list[ResultsError]]:
    if not path.is_file():
        raise ResultsError(f"{path}: no such file; python benchmarks/compare.py writes one")
    results = []
    faults = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            results.append(_decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            of_older = "CHANGELOG.md says what to do with one of an earlier version"
            why = f"line {number} is not a result ({error}); {of_older}, else remove it and measure again"
            faults.append(ResultsError(f"{path}: {why}"))
    return results, faults


def exit_if_failed(results: Sequence[AnyResult]) -> None:
    """End the process with exit code 1 when a failure is among them that is a fault."""
    if any(isinstance(result, Failure) and not result.unsupported for result in results):
        sys.exit(EXIT_SOME_FAILED)
