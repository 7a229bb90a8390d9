"""Progress on stderr: a bar on a terminal, a line now and then in a log."""

import sys
import threading
from collections.abc import Collection
from typing import Any

from tqdm import tqdm

LINE_SECONDS = 30.0
LINES = 100  # most lines for one task
BAR = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}{postfix}]"
NARROWEST = 10  # characters of the bar itself

# Else tqdm makes a lock of multiprocessing, which settles how a service's processes start.
tqdm.set_lock(threading.RLock())


class Progress(tqdm):
    """Progress of a task with a known number of steps, to iterate over or to `update` in a `with` block.

    `delay` hides a bar that ends within so many seconds. A log gets a line after LINE_SECONDS and at least 1
    percent of the steps, and one at the end of a task that took longer than LINE_SECONDS.
    """

    monitor_interval = 0  # no thread of tqdm's: every step looks at the time

    def __init__(
        self, items: Collection[Any] = (), *, total: int | None = None, delay: float = 0.0, **others: Any
    ) -> None:
        total = len(items) if total is None else total
        pace: dict[str, Any] = {"mininterval": 1.0, "miniters": 1, "delay": delay}
        self.in_log = not getattr(sys.stderr, "isatty", bool)()  # a service may have put a logger there
        if self.in_log:
            pace = {"mininterval": LINE_SECONDS, "delay": LINE_SECONDS, "miniters": total / LINES}
            # tqdm shows a bar sooner after `maxinterval`, and a line end behind one that it leaves.
            pace |= {"maxinterval": float("inf"), "leave": False}
        if sys.stderr is None:
            others["disable"] = True
        super().__init__(items, total=total, bar_format=BAR, **pace, **others)

    def __str__(self) -> str:
        """Return the bar. The last parts of its postfix are left out where they take its room."""
        values = self.format_dict
        without_bar = {"bar_format": BAR.replace("{bar}", "")}
        while values["postfix"] and values["ncols"]:
            if len(self.format_meter(**values | without_bar)) <= values["ncols"] - NARROWEST:
                break
            values["postfix"] = values["postfix"].rpartition(", ")[0]
        return str(self.format_meter(**values))

    def display(self, msg: str | None = None, pos: int | None = None) -> bool:
        """Show the bar, or print a line unless the last one had the same number of steps."""
        if not self.in_log:
            return bool(super().display(msg, pos))
        if self.n != self.last_print_n:
            self.fp.write(f"{self._line()}\n")
            self.fp.flush()
        return False

    def _line(self) -> str:
        seconds = self.format_dict["elapsed"]
        left = seconds * (self.total - self.n) / (self.n - self.initial)
        times = f"{tqdm.format_interval(seconds)} so far, {tqdm.format_interval(left)} left"
        units = self.unit + ("es" if self.unit.endswith("ch") else "s")
        share = f"{self.n} of {self.total} {units} ({100 * self.n / self.total:.0f} %)"
        return ", ".join(filter(None, [f"{self.desc}: {share}", times, self.postfix]))
