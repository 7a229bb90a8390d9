"""Kills and signals, at random moments and at every change of a file; the command then goes on to the same
bytes."""

import os
import signal

from case import wrong_exit
from events import NEVER
from stages import OfStages, drafts, goes_on, half_finished, lay_out, start

EXIT_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


class Kills(OfStages):
    """Nothing half-made passes for finished, and going on gives what an undisturbed run gives."""

    name = "kills"
    n_cases = 360
    seconds = 600
    signals: tuple[signal.Signals, ...] = (signal.SIGKILL,)

    def run(self, number: int) -> str:
        """One stage, sent a signal at a change of a file or at any moment."""
        rng = self.rng(number)
        name, stage, expected = self.stage(number)
        how = rng.choice(self.signals)
        event = rng.randint(1, expected.n_events) if rng.randrange(2) else NEVER
        folder = self.scratch / "killed"
        lay_out(folder, self.material)
        running = start(stage, folder, self.scratch, how=how, event=event)
        if event == NEVER and not running.ended(rng.uniform(0, 1.2) * expected.seconds):
            os.kill(running.pid, how)
        code, said = running.finish()
        wrong = "" if code == -signal.SIGKILL else self._after_signal(how, code, said, drafts(folder))
        wrong = wrong or half_finished(stage, folder) or goes_on(stage, folder, self.scratch, expected)
        return (
            f"{name}, {how.name} at {'a moment' if event == NEVER else f'event {event}'}: {wrong}"
            if wrong
            else ""
        )

    @staticmethod
    def _after_signal(how: signal.Signals, code: int, said: str, left: list[str]) -> str:
        if how in EXIT_CODES and code == -how:
            return ""  # before the command could listen
        return wrong_exit(code, said, (0, EXIT_CODES.get(how, 0))) or (f"left {left}" if left else "")


class Signals(Kills):
    """A command that is asked to stop ends as it says, and leaves no drafts."""

    name = "signals"
    n_cases = 120
    signals = tuple(EXIT_CODES)
