"""Training that is stopped, as Ctrl-C does, or killed."""

from contextlib import contextmanager

import pytest

from distill.training.objectives import supervised
from distill.training.trainer import Trainer


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


def killed_at(number):
    """The supervised loss, which fails at call `number`, from 1."""
    calls = []

    def loss(*arguments):
        calls.append(1)
        if len(calls) == number:
            raise RuntimeError("killed")
        return supervised(*arguments)

    return loss
