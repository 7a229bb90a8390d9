"""Flat records of questions: one record a question, {question, context, answer or answers}, in a file.

JSON lines, a JSON list, CSV, TSV, Parquet, or the folder that `datasets.Dataset.save_to_disk` writes.
"""

import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from qa.base.errors import HALF_PAIR, OptionError, SquadFormatError, first_few, first_line
from qa.base.files import check_is_no_device
from qa.data.convert.cells import ANSWERS
from qa.data.layouts import Record, flat_records
from qa.data.squad import RECORD_SUFFIXES, TABLES, read_json, unpacked, unpacked_suffix
from qa.data.tables import read_table

FORMATS = "JSON lines, a JSON list, CSV, TSV, Parquet, or a folder of datasets"
HUB = "hub:"
COLUMNS = ("id", "title", "question", "context", "answer", "answers")
NO_PYARROW = "pyarrow is not installed; pip install 'pocketqa[records]'"
PEEKED = 1_000_000
IN_SQUAD = re.compile(r'"data"\s*:\s*\[|"paragraphs"\s*:')


def read_records(name: str, split: str = "train") -> list[Record]:
    """Read all records of a file, a folder of `datasets`, or `hub:NAME`, whose `split` is taken.

    Raises SquadFormatError when it is in no known format, or has no column `question` or `context`.
    """
    path = Path(name)
    check_is_no_device(path)
    if name.startswith(HUB):
        records = _numbered(_from_datasets(name, split))
    elif not path.exists():
        raise SquadFormatError(f"{path}: no such file; give {FORMATS}")
    elif path.is_dir():
        records = _numbered(chain.from_iterable(map(_arrow_rows, _arrow_files(path, split))))
    elif unpacked_suffix(path) == ".parquet":
        records = _numbered(_arrow_rows(path))
    elif unpacked_suffix(path) in TABLES:
        records = list(read_table(path, _text(path)))
    else:
        records = list(_from_json(path))
    if not records:
        raise SquadFormatError(f"{name}: no records; give {FORMATS}")
    columns = {column for record in records if not record.fault for column in record.fields}
    missing = [column for column in ("question", "context") if not {column, f"{column}_text"} & columns]
    if columns and missing:
        seen = first_few(sorted(map(str, columns)), most=20)
        missing += [] if set(ANSWERS) & columns else ["answer"]
        give = f"give the {' and the '.join(missing)} {'this name' if len(missing) == 1 else 'these names'}"
        raise SquadFormatError(
            f"{name}: no column {first_few([repr(column) for column in missing])}; its columns are {seen}; "
            f"{give}, or see python -m qa.data.convert rows --help for other layouts"
        )
    return records


def holds_records(path: Path) -> bool:
    """Return whether a file or folder holds flat records, by its name and first line."""
    if path.is_dir() or unpacked_suffix(path) in RECORD_SUFFIXES:
        return True
    text = _start(path).lstrip("\ufeff \t\r\n")
    if text.startswith("["):
        return True
    line, end, _ = text.partition("\n")
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        # A line that is cut, of JSON lines or the only one of SQuAD JSON; or JSON over many lines.
        return not end and len(line) > PEEKED // 8 and not IN_SQUAD.search(line)
    return isinstance(first, dict) and not isinstance(first.get("data"), list)


def _start(path: Path) -> str:
    """Return the first million bytes as text."""
    with open(path, "rb") as stream:
        try:
            raw = gzip.GzipFile(fileobj=stream).read(PEEKED)
        except (OSError, EOFError, zlib.error):  # plain, or broken, which the reader explains
            stream.seek(0)
            raw = stream.read(PEEKED)
    return raw.decode(json.detect_encoding(raw), errors="replace")


def _text(path: Path) -> str:
    raw = unpacked(path)
    try:
        return raw.decode("utf-8-sig" if unpacked_suffix(path) in TABLES else json.detect_encoding(raw))
    except UnicodeDecodeError as error:
        raise SquadFormatError(
            f"{path}: not UTF-8 at byte {error.start}; save it as CSV, TSV or JSON in UTF-8"
        ) from None


def _from_json(path: Path) -> Iterator[Record]:
    text = _text(path)
    if not text.strip():
        return
    try:
        root = json.loads(text)
    except json.JSONDecodeError as error:
        yield from _from_lines(path, text, error)
        return
    except (ValueError, RecursionError) as error:  # more digits or a deeper list than Python takes
        raise SquadFormatError(f"{path}: not valid JSON ({error}); correct it") from None
    if isinstance(root, dict):
        root = root["data"] if isinstance(root.get("data"), list) else [root]
    if not isinstance(root, list):
        raise SquadFormatError(f"{path}: expected a list of records; give {FORMATS}")
    for number, fields in enumerate(root):
        yield from _records(f"[{number}]", fields)


def _from_lines(path: Path, text: str, whole: json.JSONDecodeError) -> Iterator[Record]:
    """Read JSON lines; `whole` is the fault of the text as one JSON value, where no line is an object."""
    records: list[Record] = []
    has_object = False
    broken = {}
    # Not splitlines, which also splits at U+2028 and others that JSON allows inside a text.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                fields = json.loads(line)
                has_object |= isinstance(fields, dict)
                records += _records(f"line {number}", fields)
            except json.JSONDecodeError as error:
                broken[str(number)] = f"{error.msg} at column {error.colno}"
            except (ValueError, RecursionError) as error:
                broken[str(number)] = str(error)
    if not has_object:
        broken = {str(whole.lineno): f"{whole.msg} at column {whole.colno}"}
    if broken:
        lines, reason = first_few(list(broken)), next(iter(broken.values()))
        raise SquadFormatError(
            f"{path}: line {lines}: not valid JSON ({reason}); correct it, or give {FORMATS}"
        )
    yield from records


def _records(place: str, fields: object) -> Iterator[Record]:
    """Yield an object's records; faulty ones for no object, and for texts that cannot be written as UTF-8."""
    if not isinstance(fields, dict):
        yield Record(place, {}, "record is not an object with question and context")
        return
    for record in flat_records(place, fields):
        is_half = HALF_PAIR.search(json.dumps([record.fields, record.fault], ensure_ascii=False))
        yield Record(record.place, {}, "a text has half a surrogate pair") if is_half else record


def _numbered(rows: Iterable[dict[str, Any]]) -> list[Record]:
    return [record for number, fields in enumerate(rows) for record in flat_records(f"row {number}", fields)]


def _arrow_rows(file: Path) -> list[dict[str, Any]]:
    """Return the rows of a Parquet or Arrow file."""
    try:
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise OptionError(f"{file}: {NO_PYARROW}") from None
    is_parquet = unpacked_suffix(file) == ".parquet"
    try:
        if is_parquet:
            table = pyarrow.parquet.read_table(file)
        else:
            with pyarrow.OSFile(str(file), "rb") as stream:
                table = pyarrow.ipc.open_stream(stream).read_all()
        table.validate(full=True)  # of a damaged one, pyarrow reads past the end
        # Python has no such dates as some of pandas.
        dates = [c.name for c in table.schema if c.name not in COLUMNS and pyarrow.types.is_temporal(c.type)]
        table = table.drop_columns(dates)
        rows: list[dict[str, Any]] = table.to_pylist()
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        kind = "a Parquet" if is_parquet else "an Arrow"
        raise SquadFormatError(f"{file}: cannot be read as {kind} file ({first_line(error)})") from None
    return rows


def _arrow_files(path: Path, split: str) -> list[Path]:
    """Return the files of a Dataset, the split of a DatasetDict, or a split in the cache of `datasets`.

    They are those of the data alone: the folder may also hold what `map` and `filter` have cached.
    """
    folder = path / split if (path / "dataset_dict.json").is_file() else path
    state = read_json(folder / "state.json", "state") if (folder / "state.json").is_file() else {}
    try:
        saved = [folder / Path(file["filename"]).name for file in state.get("_data_files") or []]
        if state.get("_indices_data_files"):
            raise SquadFormatError(f"{folder}: is a selection of its rows; save it after flatten_indices()")
    except (AttributeError, KeyError, TypeError):
        raise SquadFormatError(f"{folder / 'state.json'}: names no files; save the data set again") from None
    if saved:
        return saved
    files = sorted(file for file in folder.glob("*.arrow") if not file.name.startswith("cache-"))
    if (folder / "dataset_info.json").is_file():
        of_split = re.compile(rf"(.*-)?{re.escape(split)}(-\d+-of-\d+)?\.arrow")
        files = [file for file in files if of_split.fullmatch(file.name) or file.name.startswith("data-")]
    if not files:
        splits = sorted({file.parent.name for file in path.glob("*/*.arrow")})
        seen = first_few(splits or [file.name for file in sorted(path.glob("*.arrow"))])
        give = str(path / splits[0]) if splits else "what datasets.Dataset.save_to_disk writes"
        raise SquadFormatError(
            f"{folder}: no .arrow files of the split {split!r}; found {seen or 'none'}; give {give}"
        )
    return files


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
