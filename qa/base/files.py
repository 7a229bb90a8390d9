"""Writing files so that a stop or a full disk leaves the old file or the new one, never half of one."""

import glob
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from qa.base.errors import OptionError


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, as hexadecimal."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def write_whole(path: Path, content: bytes | str, check: Callable[[Path], object] | None = None) -> None:
    """Write by way of a neighbour and a rename; text as UTF-8. OSError names `path`, and nothing stays
    behind.

    `check` reads the neighbour; when it raises, nothing takes the place of `path`.
    """
    partial = path.with_name(f"{path.name}.partial-{os.getpid()}")
    for left in left_behind(path, "partial"):
        left.unlink(missing_ok=True)
    try:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)
        if check is not None:
            check(partial)
        partial.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        partial.unlink(missing_ok=True)


def left_behind(path: Path, mark: str) -> Iterator[Path]:
    """What processes that were killed have left beside `path`, each named <path>.<mark>-<process>."""
    for left in path.parent.glob(f"{glob.escape(path.name)}.{mark}-*"):
        process = left.suffix.rpartition("-")[2]
        if process == str(os.getpid()) or not _is_running(
            process
        ):  # in a container every process may have the same number
            yield left


def _is_running(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except (ValueError, OverflowError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True


def _check_kind(path: Path, flag: str) -> None:
    if path.is_dir():
        raise OptionError(f"{flag} {path}: is a folder; give a file")
    if path.exists() and not path.is_file():  # written by way of a neighbour, it would be replaced
        raise OptionError(f"{flag} {path}: is a device or a pipe; give a file")


def check_writable(path: Path, flag: str) -> None:
    """Raise OptionError unless a file can be written at `path`: said before minutes of work."""
    _check_kind(path, flag)
    if not path.absolute().parent.is_dir():
        raise OptionError(f"{flag} {path}: its folder does not exist; make it first")
    if not os.access(path.absolute().parent, os.W_OK):
        raise OptionError(f"{flag} {path}: its folder cannot be written to")


def check_new_file(path: Path, flag: str) -> None:
    """Like `check_writable`, for a file whose folders are made when it is written."""
    _check_kind(path, flag)
    check_new_folder(path.absolute().parent, flag)


def check_new_folder(path: Path, flag: str) -> None:
    """Raise OptionError unless `path` is a folder that can be written to, or one can be made there."""
    folder = path.absolute()
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        raise OptionError(f"{flag} {path}: {folder} is no folder")
    if not os.access(folder, os.W_OK):
        raise OptionError(f"{flag} {path}: {folder} cannot be written to")


def check_not_an_input(path: Path, flag: str, inputs: Iterable[Path]) -> None:
    """Raise OptionError when `path`, still to be written, is one of the files to be read."""
    if path.exists() and any(given.exists() and path.samefile(given) for given in inputs):
        raise OptionError(
            f"{flag} {path}: is an input of this command; give another file, inputs are left as they are"
        )


def check_free_space(folder: Path, n_bytes: int, what: str) -> None:
    """Raise OptionError unless the disk of `folder` (which need not exist yet) has `n_bytes` free: said
    before hours of work."""
    while not folder.exists():
        folder = folder.absolute().parent
    free = shutil.disk_usage(folder).free
    if free < n_bytes:
        wanted = f"{n_bytes / 1e6:,.0f} MB"
        found = f"{free / 1e6:,.0f} MB"
        raise OptionError(
            f"{folder}: the disk is full: {what} needs {wanted}, {found} are free; free some space"
        )
