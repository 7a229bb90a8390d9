"""Write files so that a stop or a full disk leaves the old file or the new file, never half a file."""

import glob
import hashlib
import os
import platform
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from qa.base.errors import OptionError

SECONDS_OF_A_DAY = 86_400


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_whole(path: Path, content: bytes | str, check: Callable[[Path], object] | None = None) -> None:
    """Write a temporary file beside `path`, in folders that are made where there are none, then rename it.

    Text is written as UTF-8. `check` reads the temporary file; when it raises, `path` stays as it was.
    A link stays one: the file that it leads to is written. OSError names `path`, or the folder that cannot be
    made. No temporary file stays behind.
    """
    target = path.resolve() if path.is_symlink() else path
    partial = target.with_name(f"{target.name}.partial-{_own_mark()}")
    target.parent.mkdir(parents=True, exist_ok=True)
    for stale in stale_temporaries(target, "partial"):
        stale.unlink(missing_ok=True)
    try:
        with open(partial, "wb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
            stream.flush()
            os.fsync(stream.fileno())  # what it replaces, or was made of, may be removed next
        if check is not None:
            check(partial)
        partial.replace(target)
    except OSError as error:
        if error.filename not in (None, str(partial)):  # of a file that `check` writes
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """Yield a hidden folder beside `out`, which becomes `out` at the end; it is removed when the body fails.

    Removes those of killed processes.
    """
    for stale in stale_temporaries(out.with_name(f".{out.name}"), "unfinished"):
        shutil.rmtree(stale, ignore_errors=True)
    path = out.parent / f".{out.name}.unfinished-{_own_mark()}"
    path.mkdir(parents=True)
    try:
        yield path
        for file in path.rglob("*"):
            _sync(file)
        path.rename(out)
        _sync(out.parent)
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _own_mark() -> str:
    """Return <random>-<machine>-<process>: threads of a process have one process number."""
    return f"{secrets.token_hex(4)}-{machine_mark()}-{os.getpid()}"


def machine_mark() -> str:
    """Return a hash of the machine, its last start and the container: process numbers are unique there."""
    facts = [platform.node()]
    with suppress(OSError):  # these two are on Linux only
        facts.append(Path("/proc/sys/kernel/random/boot_id").read_text())
    with suppress(OSError):
        facts.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256(" ".join(facts).encode()).hexdigest()[:8]


def _sync(path: Path) -> None:
    """Wait until a file or folder is on the disk; Windows has no such call for what is only read."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def stale_temporaries(path: Path, mark: str) -> Iterator[Path]:
    """Yield the temporaries <path>.<mark>-<random>-<machine>-<process> of processes that were killed.

    Those of this process, or of another machine or container, count as such after a day.
    """
    for temporary in path.parent.glob(f"{glob.escape(path.name)}.{mark}-*"):
        found = re.fullmatch(rf"\.{mark}-\w+-(\w+)-(\d+)", temporary.name[len(path.name) :])
        if not found:  # a user's own file
            continue
        machine, process = found.groups()
        is_told = machine == machine_mark() and process != str(os.getpid())
        with suppress(FileNotFoundError):
            is_old = time.time() - temporary.stat().st_mtime > SECONDS_OF_A_DAY
            if not _is_running(process) if is_told else is_old:
                yield temporary


def _is_running(process: str) -> bool:
    if os.name == "nt":  # os.kill would send Ctrl-C there
        return True
    try:
        os.kill(int(process), 0)
    except (ValueError, OverflowError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True


def check_is_no_device(path: Path) -> None:
    """Raise OptionError for a device or a pipe: a file that is read is read again."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OptionError(f"{path}: is a device or a pipe; give a file")


def check_new_file(path: Path, flag: str) -> None:
    """Raise OptionError, before minutes of work, unless `write_whole` can write a file at `path`."""
    if str(path) == "-":
        raise OptionError(f"{flag} -: give a file; standard output has the messages")
    if path.is_dir():
        raise OptionError(f"{flag} {path}: is a folder; give a file")
    if path.exists() and not path.is_file():  # the rename would replace it
        raise OptionError(f"{flag} {path}: is a device or a pipe; give a file")
    check_new_folder((path.resolve() if path.is_symlink() else path.absolute()).parent, flag)


def check_new_folder(path: Path, flag: str) -> None:
    """Raise OptionError unless `path` is a writable folder or can become one."""
    folder = path.absolute()
    while not (folder.exists() or folder.is_symlink()):  # a broken link cannot become a folder
        folder = folder.parent
    if not folder.is_dir():
        raise OptionError(f"{flag} {path}: {folder} is no folder")
    if not os.access(folder, os.W_OK):
        raise OptionError(f"{flag} {path}: {folder} cannot be written to")


def check_not_an_input(path: Path, flag: str, inputs: Iterable[Path]) -> None:
    """Raise OptionError when the output `path` is one of the input files."""
    place = os.path.realpath(path)  # also of files that do not exist yet
    for given in inputs:
        is_link = path.exists() and given.exists() and path.samefile(given)
        if is_link or place == os.path.realpath(given):
            raise OptionError(
                f"{flag} {path}: is an input of this command; give another file, inputs are left as they are"
            )


def in_a_folder_here(path: Path) -> bool:
    """Return True for a path into an existing folder, which is no hub name."""
    return path.parent != Path() and path.parent.is_dir()


def check_free_space(folder: Path, n_bytes: int, what: str) -> None:
    """Raise OptionError, before hours of work, unless the disk of `folder` has `n_bytes` free.

    The folder need not exist yet.
    """
    while not folder.exists():
        folder = folder.absolute().parent
    free = shutil.disk_usage(folder).free
    if free < n_bytes:
        wanted = f"{n_bytes / 1e6:,.0f} MB"
        found = f"{free / 1e6:,.0f} MB"
        raise OptionError(
            f"{folder}: the disk is full: {what} needs {wanted}, {found} are free; free some space"
        )
