"""Stops of a command by Ctrl-C, SIGTERM and SIGHUP; they wait while a block must not be cut."""

import math
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

# Windows has no SIGHUP.
SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


TWICE_WITHIN_S = 1.0  # a closed terminal sends SIGHUP twice: the second must not cut the clean-up


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP. As on Ctrl-C, checkpoints stay, drafts and temporary folders are removed."""


class _State:
    """State of the process: whether stops wait, the first that came meanwhile, and the time of the last."""

    waiting = False
    came: int | None = None
    stopped_at = -math.inf


def _stop(number: int, _: object = None) -> None:
    if _State.waiting:
        _State.came = _State.came or number
        return
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    before, _State.stopped_at = _State.stopped_at, time.monotonic()
    if _State.stopped_at - before >= TWICE_WITHIN_S:
        raise Terminated


@contextmanager
def signals_of_a_stop() -> Iterator[None]:
    """Raise KeyboardInterrupt or Terminated at signals, but those that are ignored, as under nohup."""
    heard = [each for each in SIGNALS if signal.getsignal(each) not in (signal.SIG_IGN, None)]
    before = {number: signal.signal(number, _stop) for number in heard}
    _State.stopped_at = -math.inf
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def stops_wait() -> Iterator[None]:
    """Let a stop wait for the end of the block, under `signals_of_a_stop`."""
    _State.waiting = True
    try:
        yield
    finally:
        _State.waiting = False
        number, _State.came = _State.came, None
        if number is not None:
            _stop(number)
