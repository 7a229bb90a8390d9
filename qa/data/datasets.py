"""Sources of questions: data sets that ship, SQuAD by name (downloaded and checked), or a file."""

import hashlib
import http.client
import os
import sys
import urllib.request
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from qa.base.cli import one_line
from qa.base.errors import DownloadError, OptionError, SquadFormatError
from qa.base.files import check_is_no_device, file_sha256, write_whole
from qa.data.records import FORMATS, HUB, holds_records
from qa.data.squad import read_json, unpacked

EMBEDDED = "embedded"
EVERYDAY = "everyday"
# Data sets that ship with the project, by name: their file, with the part in place of {}: train or dev.
SHIPPED = {
    EMBEDDED: str(Path(__file__).parent / "excerpt" / "squad-excerpt-{}.json.gz"),
    EVERYDAY: str(Path(__file__).parent / "everyday" / "everyday-{}.json.gz"),
}
EVERYDAY_HELD_OUT = Path(SHIPPED[EVERYDAY].format("held-out"))  # to tune thresholds on
SQUAD_URL = "https://rajpurkar.github.io/SQuAD-explorer/dataset/"
DOWNLOAD_TIMEOUT_S = 20

# The official files by name: (file, SHA-256).
SQUAD_FILES = {
    "squad": {
        "train": ("train-v1.1.json", "3527663986b8295af4f7fcdff1ba1ff3f72d07d61a20f487cb238a6ef92fd955"),
        "dev": ("dev-v1.1.json", "95aa6a52d5d6a735563366753ca50492a658031da74f301ac5238b03966972c9"),
    },
    "squad_v2": {
        "train": ("train-v2.0.json", "68dcfbb971bd3e96d5b46c7177b16c1a4e7d4bdef19fb204502738552dede002"),
        "dev": ("dev-v2.0.json", "80a5225e94905956a6446d296ca1093975c4d3b3260f1d6c8f68bc2ab77182d8"),
    },
}
# What other files hold: part and name by the SHA-256 of their content. The published training part of SQuAD
# 2.0 cannot be had everywhere; the first has the questions of 1.1 and, put back on their passages, the
# unanswerable ones of 2.0. The others have the official dev questions, written otherwise.
KNOWN_FILES = {
    "fbabfb09eaea62389b59f726515d0ffdcf37cfac9a8233ba001a35432e0058fa": ("train", "squad_v2_reconstructed"),
    "0f9f440c3e694eef1e772dd54c63a293d2a75bbf636394389e052a4a5ed8de25": ("dev", "squad_v2"),
    "95f5f63fdb08ae55056ea63b544a3652096635d7e129559aa165b96596eef3fd": ("dev", "squad"),
}

# Code of which some decides how records are understood: after a change, none stay in the cache as they were.
CONVERTING = ("*.py", "convert/*.py")

# Files that say which records a folder of `datasets` holds.
SAVED = [
    f"{folder}{name}"
    for folder in ("", "*/")
    for name in ("*.arrow", "state.json", "dataset_info.json", "dataset_dict.json")
]

NAMED = (*SHIPPED, *SQUAD_FILES)
PARTS = ("train", "dev")


def cache_folder() -> Path:
    """Return the folder of downloads and conversions, by the XDG standard. OptionError without a home."""
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        return (given if given.is_absolute() else Path.home() / ".cache") / "pocketqa"
    except RuntimeError:
        raise OptionError("no home folder for the cache; set HOME or XDG_CACHE_HOME") from None


def resolve(data: str, split: str) -> Path:
    """Return the SQuAD file for `data` (a name in NAMED, or a path) and `split` (train or dev).

    A SQuAD file stands for itself, whatever the split. Named data sets are downloaded once and their hash is
    checked. Flat records (`qa.data.records`) are converted once; what is left out of them is said on stderr.
    """
    if data in SHIPPED:
        return Path(SHIPPED[data].format(split))
    if data in SQUAD_FILES:
        return _download(*SQUAD_FILES[data][split], data)
    path = Path(data)
    check_is_no_device(path)
    if path.exists() and holds_records(path):
        return _converted(path, split)
    if data.startswith(HUB):
        raise OptionError(f"{data}: run python -m qa.data.convert rows {data} --out FILE; give FILE")
    if not path.is_file():
        raise SquadFormatError(
            f"{path}: no such file; give SQuAD JSON, JSON lines, CSV, TSV or Parquet, or one of: "
            f"{', '.join(NAMED)}"
        )
    return path


def _converted(path: Path, split: str) -> Path:
    """Return the SQuAD file made of flat records; it lies in the cache under their hash."""
    from qa.data.convert.report import log_path
    from qa.data.convert.rows import convert_silently, notes_path

    to_score = split == "dev"
    split = {"dev": "validation"}.get(split, split)  # of a datasets folder with several
    digest = hashlib.sha256(f"{split}{' to score' if to_score else ''}".encode())
    here = Path(__file__).parent
    for code in sorted(file for name in CONVERTING for file in here.glob(name)):
        digest.update(code.read_bytes())
    files = sorted(file for name in SAVED for file in path.glob(name)) if path.is_dir() else [path]
    if path.is_dir() and not any(file.suffix == ".arrow" for file in files):
        raise SquadFormatError(
            f"{path}: is a folder without .arrow files; give a SQuAD JSON file, or {FORMATS}"
        )
    for file in files:
        check_is_no_device(file)
        digest.update(f" {file.relative_to(path)} {file_sha256(file)}".encode())
    out = cache_folder() / "rows" / digest.hexdigest()[:16] / f"{path.stem}.json"
    try:
        if not all(file.is_file() for file in (out, log_path(out), notes_path(out))):
            convert_silently(path, out, split, to_score=to_score)
        n_dropped = len(log_path(out).read_text(encoding="utf-8").splitlines()) - 1
        notes = notes_path(out).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        why = f"the cache cannot be used ({one_line(error)})"
        raise OptionError(f"{path}: {why}; set XDG_CACHE_HOME to a folder that can be written to") from None
    for odd in notes:
        print(f"{path}: {odd}", file=sys.stderr)
    if n_dropped:
        print(f"{path}: {n_dropped} records are left out; {log_path(out)} lists them", file=sys.stderr)
    return out


def data_reference(path: Path) -> dict[str, Any]:
    """Return a data file's name, SHA-256, and `dataset` where its content is a known data set.

    For a sample of another file, or one with added questions, `made_from` is the reference of that file, and
    `added` has the references of files whose questions were added.
    """
    reference: dict[str, Any] = {"name": path.name, "sha256": file_sha256(path)}
    if known := _known_parts().get(_content_sha256(path)):
        reference["dataset"] = known[1]
    else:
        reference |= _sources_of(path)
    return reference


def source_reference(path: Path) -> dict[str, Any]:
    """Return the reference to write into a file made of this one, with the hash of its unpacked content."""
    return data_reference(path) | {"sha256": _content_sha256(path)}


def _sources_of(path: Path) -> dict[str, Any]:
    """Return the `_sources` of a SQuAD file."""
    try:
        return _sources(read_json(path))
    except RecursionError:
        raise SquadFormatError(f"{path}: made_from is nested too deeply; remove it") from None


def _sources(root: Any) -> dict[str, Any]:
    """Return `made_from` and `added` of a SQuAD file or reference, without what is no reference to a file."""
    given = root if isinstance(root, dict) else {}
    added = given.get("added")
    made_from = _references([given.get("made_from")])
    more = _references(added if isinstance(added, list) else [])
    return ({"made_from": made_from[0]} if made_from else {}) | ({"added": more} if more else {})


def _references(files: list[Any]) -> list[dict[str, Any]]:
    references = []
    for given in filter(lambda file: isinstance(file, dict), files):
        kept = {key: given[key] for key in ("name", "sha256", "dataset") if isinstance(given.get(key), str)}
        if {"name", "sha256"} <= kept.keys():
            if known := _known_parts().get(kept["sha256"]):
                kept["dataset"] = known[1]
            references.append(kept | _sources(given))
    return references


def _source_hashes(sources: dict[str, Any]) -> Iterator[str]:
    """Yield the SHA-256 of all files that a file was made from, directly or not."""
    for source in (*filter(None, [sources.get("made_from")]), *sources.get("added", [])):
        yield source["sha256"]
        yield from _source_hashes(source)


def check_not_dev(path: Path, flag: str) -> None:
    """Raise OptionError for a file with questions of the dev or held-out part of a named data set."""
    hashes = [_content_sha256(path), *_source_hashes(_sources_of(path))]
    parts = _known_parts()
    for part, name in (parts[sha256] for sha256 in hashes if sha256 in parts):
        if part != "train":
            raise OptionError(
                f"{flag} {path}: is of the {part} part of {name}, on which models are judged; train on "
                f"{flag} {name}"
            )


@cache
def _known_parts() -> dict[str, tuple[str, str]]:
    """Return the part and the name of known data sets, by the SHA-256 of their files and of their content."""
    parts = dict(KNOWN_FILES)
    for name, files in SQUAD_FILES.items():
        parts |= {sha256: (part, name) for part, (_, sha256) in files.items()}
    shipped = {Path(file.format(part)): (part, name) for name, file in SHIPPED.items() for part in PARTS}
    for file, part in {**shipped, EVERYDAY_HELD_OUT: ("held-out", EVERYDAY)}.items():
        parts |= dict.fromkeys((_content_sha256(file), file_sha256(file)), part)
    return parts


def _content_sha256(path: Path) -> str:
    return hashlib.sha256(unpacked(path)).hexdigest()


def _download(name: str, sha256: str, data: str) -> Path:
    path = cache_folder() / name
    if path.is_file() and file_sha256(path) == sha256:
        return path
    try:
        with urllib.request.urlopen(SQUAD_URL + name, timeout=DOWNLOAD_TIMEOUT_S) as response:
            content = response.read()
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise DownloadError(
            f"{data}: cannot download {SQUAD_URL + name} ({reason}); offline, give the file itself, or "
            f"{EMBEDDED}"
        ) from None
    seen = hashlib.sha256(content).hexdigest()
    if seen != sha256:
        raise DownloadError(
            f"{data}: {SQUAD_URL + name} has SHA-256 {seen}, expected {sha256}; nothing was kept"
        )
    write_whole(path, content)
    return path
