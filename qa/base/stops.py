"""Stops of a command by Ctrl-C, SIGTERM and SIGHUP; they wait while a block must not be cut."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

# Windows has no SIGHUP.
SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP. As on Ctrl-C, checkpoints stay, drafts and temporary folders are removed."""


class _Waiting:
    """Whether stops wait, and the signal that came meanwhile."""

    block = False
    number: int | None = None


def _stop(number: int, _: object = None) -> None:
    if _Waiting.block:
        _Waiting.number = number
        return
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    for other in SIGNALS[1:]:  # a closed terminal sends SIGHUP twice: the second must not cut the clean-up
        signal.signal(other, signal.SIG_IGN)
    raise Terminated


@contextmanager
def signals_of_a_stop() -> Iterator[None]:
    """Raise KeyboardInterrupt or Terminated at signals, but those that are ignored, as under nohup."""
    heard = [each for each in SIGNALS if signal.getsignal(each) not in (signal.SIG_IGN, None)]
    before = {number: signal.signal(number, _stop) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def stops_wait() -> Iterator[None]:
    """Let a stop wait for the end of the block, under `signals_of_a_stop`."""
    _Waiting.block = True
    try:
        yield
    finally:
        _Waiting.block = False
        number, _Waiting.number = _Waiting.number, None
        if number is not None:
            _stop(number)
