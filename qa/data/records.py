"""Flat records of questions: one record a question, {question, context, answer or answers}, in a file.

JSON lines, a JSON list, CSV, TSV, Parquet, or the folder that `datasets.Dataset.save_to_disk` writes.
"""

import csv
import gzip
import io
import json
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qa.base.errors import OptionError, SquadFormatError, first_line
from qa.data.squad import unpacked

FORMATS = "JSON lines, a JSON list, CSV, TSV, Parquet, or a folder of datasets"
DELIMITERS = {".csv": ",;", ".tsv": "\t"}
HUB = "hub:"
NO_PYARROW = "pyarrow is not installed; pip install 'pocketqa[records]'"
PEEKED = 1_000_000


@dataclass(frozen=True, slots=True)
class Record:
    """One record: where it is in its file, for messages, and its fields by column."""

    place: str
    fields: dict[str, Any]


def read_records(name: str, split: str = "train") -> list[Record]:
    """Read all records of a file, a folder of `datasets`, or `hub:NAME`, whose `split` is taken.

    Raises SquadFormatError when it is in no known format, or has no column `question` or `context`.
    """
    path = Path(name)
    if name.startswith(HUB):
        records = _numbered(_from_datasets(name, split))
    elif not path.exists():
        raise SquadFormatError(f"{path}: no such file; give {FORMATS}")
    elif path.is_dir():
        records = _numbered(_from_folder(path, split))
    elif _suffix(path) == ".parquet":
        records = _numbered(_from_parquet(path))
    elif _suffix(path) in DELIMITERS:
        records = list(_from_table(path, DELIMITERS[_suffix(path)]))
    else:
        records = list(_from_json(path))
    if not records:
        raise SquadFormatError(f"{name}: no records; give {FORMATS}")
    columns = {column for record in records for column in record.fields}
    for column in ("question", "context"):
        if column not in columns:
            seen = ", ".join(sorted(map(str, columns)))
            raise SquadFormatError(f"{name}: no column {column!r}; its columns are {seen}; rename one")
    return records


def holds_records(path: Path) -> bool:
    """Return whether a file or folder holds flat records, by its name and first line."""
    if path.is_dir() or _suffix(path) in (".jsonl", ".parquet", *DELIMITERS):
        return True
    text = _start(path).lstrip("\ufeff \t\r\n")
    if text.startswith("["):
        return True
    try:
        return "question" in json.loads(text.partition("\n")[0])
    except (ValueError, TypeError, RecursionError):
        return False


def _suffix(path: Path) -> str:
    """Return the end of the name, without that of gzip."""
    return path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix


def _start(path: Path) -> str:
    """Return the first million bytes as text."""
    with open(path, "rb") as stream:
        try:
            raw = gzip.GzipFile(fileobj=stream).read(PEEKED)
        except (OSError, EOFError, zlib.error):  # plain, or broken, which the reader explains
            stream.seek(0)
            raw = stream.read(PEEKED)
    return raw.decode("utf-8", errors="replace")


def _text(path: Path) -> str:
    try:
        return unpacked(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SquadFormatError(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8") from None


def _from_json(path: Path) -> Iterator[Record]:
    text = _text(path)
    try:
        root = json.loads(text)
    except ValueError:
        yield from _from_lines(path, text)
        return
    except RecursionError as error:
        raise SquadFormatError(f"{path}: not valid JSON ({error}); correct it") from None
    if isinstance(root, dict) and isinstance(root.get("data"), list):
        root = root["data"]
    if isinstance(root, dict) and "question" in root:
        root = [root]
    if not isinstance(root, list):
        raise SquadFormatError(f"{path}: expected a list of records; give {FORMATS}")
    for number, fields in enumerate(root):
        if isinstance(fields, dict) and "paragraphs" in fields:
            raise SquadFormatError(f"{path}: is SQuAD JSON already; give it to --data as it is")
        yield _record(path, f"[{number}]", fields)


def _from_lines(path: Path, text: str) -> Iterator[Record]:
    # Not splitlines, which also splits at U+2028 and others that JSON allows inside a text.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                fields = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise SquadFormatError(
                    f"{path}: line {number}: not valid JSON ({error}); give {FORMATS}"
                ) from None
            yield _record(path, f"line {number}", fields)


def _record(path: Path, place: str, fields: object) -> Record:
    """Return the record; SquadFormatError unless it is an object whose texts can be written as UTF-8."""
    if not isinstance(fields, dict):
        raise SquadFormatError(
            f"{path}: {place}: expected an object with question and context, got {fields!r:.60}"
        )
    try:
        json.dumps(fields, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise SquadFormatError(f"{path}: {place}: half a surrogate pair ({error}); correct it") from None
    return Record(place, fields)


def _from_table(path: Path, delimiters: str) -> Iterator[Record]:
    text = _text(path)
    header = text.partition("\n")[0]
    delimiter = max(delimiters, key=header.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    limit = csv.field_size_limit(sys.maxsize)  # a passage has any length
    try:
        for fields in reader:
            place = f"line {reader.line_num}"
            if None in fields or None in fields.values():
                n_fields = len(reader.fieldnames or ())
                raise SquadFormatError(
                    f"{path}: {place}: expected {n_fields} fields; quote those that contain {delimiter!r}"
                )
            yield _record(path, place, {column: _cell(cell) for column, cell in fields.items()})
    except csv.Error as error:
        raise SquadFormatError(
            f"{path}: line {reader.line_num}: {error}; correct the quotation marks"
        ) from None
    finally:
        csv.field_size_limit(limit)


def _cell(cell: str) -> Any:
    """Return a cell's list or object where it is written in JSON, else its text."""
    if cell.startswith(("[", "{")):
        with suppress(ValueError, RecursionError):
            return json.loads(cell)
    return cell


def _numbered(rows: Iterable[dict[str, Any]]) -> list[Record]:
    return [Record(f"row {number}", fields) for number, fields in enumerate(rows)]


def _pyarrow(path: Path) -> Any:
    try:
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise OptionError(f"{path}: {NO_PYARROW}") from None
    return pyarrow


def _from_parquet(path: Path) -> Iterable[dict[str, Any]]:
    pyarrow = _pyarrow(path)
    try:
        return pyarrow.parquet.read_table(path).to_pylist()
    except pyarrow.ArrowException as error:
        raise SquadFormatError(f"{path}: not a Parquet file ({error})") from None


def _from_folder(path: Path, split: str) -> Iterator[dict[str, Any]]:
    """Read the Arrow files of a Dataset, or of a DatasetDict's split."""
    pyarrow = _pyarrow(path)
    folder = path / split if (path / "dataset_dict.json").is_file() else path
    files = sorted(folder.glob("*.arrow"))
    if not files:
        raise SquadFormatError(
            f"{folder}: no .arrow files; expected what datasets.Dataset.save_to_disk writes"
        )
    for file in files:
        try:
            with pyarrow.OSFile(str(file), "rb") as stream:
                yield from pyarrow.ipc.open_stream(stream).read_all().to_pylist()
        except pyarrow.ArrowException as error:
            raise SquadFormatError(f"{file}: not an Arrow file ({error})") from None


def _from_datasets(name: str, split: str) -> Iterable[dict[str, Any]]:
    try:
        from datasets import load_dataset
    except ModuleNotFoundError:
        raise OptionError(f"{name}: datasets is not installed; pip install datasets") from None
    try:
        rows: Iterable[dict[str, Any]] = load_dataset(name.removeprefix(HUB), split=split)
    except Exception as error:  # its own types, and those of the network
        raise OptionError(f"{name}: the hub did not give its split {split!r} ({first_line(error)})") from None
    return rows
