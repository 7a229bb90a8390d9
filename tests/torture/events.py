"""A command that sends itself a signal at a chosen change of a file.

Changes are files opened to be written, renamed and removed, and folders made and removed, in the folder it is
started in; the signal comes just before one.
"""

import os
import resource
import runpy
import signal
import sys
from pathlib import Path
from typing import Any

CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
NEVER = 10**9


class Events:
    """An audit hook that counts changes below a folder; at one of them the process gets a signal."""

    def __init__(self, how: signal.Signals, event: int, folder: str) -> None:
        self.how = how
        self.event = event
        self.folder = folder
        self.seen = 0

    def __call__(self, name: str, args: tuple[Any, ...]) -> None:
        """See one."""
        if name not in CHANGES and not (name == "open" and isinstance(args[2], int) and args[2] & WRITING):
            return
        path = args[0]
        if not isinstance(path, str | bytes | os.PathLike) or not os.path.abspath(
            os.fsdecode(path)
        ).startswith(self.folder):
            return
        self.seen += 1
        if self.seen == self.event:
            os.kill(os.getpid(), self.how)


def command(
    words: list[str],
    *,
    how: signal.Signals = signal.SIGKILL,
    event: int = NEVER,
    count: Path | None = None,
    largest: int | None = None,
) -> None:
    """`python -m WORDS` in this process, which is the command's own.

    It is sent `how` at `event`; how many events there were is written to `count`; with `largest` no file can
    have more bytes: a full disk for whoever may mount none. Checkpoints are written after every step, so that
    training has events too.
    """
    from distill.training.options import TrainingOptions

    check = TrainingOptions.__post_init__

    def often(self: TrainingOptions) -> None:
        check(self)
        object.__setattr__(self, "checkpoint_minutes", 0.0)

    TrainingOptions.__post_init__ = often
    if largest is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started this may ignore it
    events = Events(how, event, os.getcwd() + os.sep)
    sys.addaudithook(events)
    sys.argv = words
    sys.modules.pop(words[0], None)
    try:
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    finally:
        if count is not None:
            count.write_text(str(events.seen), encoding="utf-8")
