"""Training and scoring that are stopped, as Ctrl-C does, or killed."""

from contextlib import contextmanager

import pytest

from distill.training.objectives import supervised
from distill.training.trainer import Trainer
from qa.evaluation import predict


class Stopped(KeyboardInterrupt):
    """Interrupt of the test itself, which no other interrupt passes for."""


@contextmanager
def stopped_at(number):
    """Training in the block is stopped before step `number`, from 0."""
    step = Trainer._step

    def stops(trainer, at):
        if at == number:
            raise Stopped
        return step(trainer, at)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "_step", stops)
        with pytest.raises(Stopped):
            yield


def stop_at_part(monkeypatch, number):
    """The parts that scoring has asked for; it is stopped at part `number`, from 1, and then no more."""
    real, seen = predict.run_windows, []

    def stops(runtime, windows):
        seen.append(windows)
        if len(seen) == number:
            raise KeyboardInterrupt
        return real(runtime, windows)

    monkeypatch.setattr(predict, "run_windows", stops)
    return seen


def killed_at(number):
    """The supervised loss, which fails at call `number`, from 1."""
    calls = []

    def loss(*arguments):
        calls.append(1)
        if len(calls) == number:
            raise RuntimeError("killed")
        return supervised(*arguments)

    return loss
