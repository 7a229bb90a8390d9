"""Progress on stderr: a bar on a terminal, a line now and then in a log."""

import sys
import time
from collections.abc import Collection, Iterator, Mapping
from types import TracebackType
from typing import Any, Generic, TypeVar

from tqdm import tqdm

T = TypeVar("T")
LINE_SECONDS = 30.0
LINES = 100  # most lines for one task


class Progress(Generic[T]):
    """Progress of a task with a known number of steps.

    Iterate over it, or call `update` in a `with` block. `delay` hides a bar that ends within so many seconds.
    A log gets a line after LINE_SECONDS and at least 1 percent of the steps, and one at the end of a task
    that took longer than LINE_SECONDS.
    """

    def __init__(
        self,
        items: Collection[T] = (),
        *,
        desc: str,
        unit: str,
        total: int | None = None,
        initial: int = 0,
        disable: bool = False,
        delay: float = 0.0,
    ) -> None:
        self.items = items
        self.total = len(items) if total is None else total
        self.desc = desc
        self.unit = unit
        self.n_done = initial
        self.initial = initial
        self.postfix = ""
        on_terminal = sys.stderr.isatty()
        self._logs = not on_terminal and not disable
        self._bar = tqdm(
            total=self.total,
            initial=initial,
            desc=desc,
            unit=unit,
            delay=delay,
            mininterval=1.0,
            disable=disable or not on_terminal,
        )
        self._began = time.monotonic()
        self._line_at = self._began
        self._n_at_line = initial

    def __iter__(self) -> Iterator[T]:
        """Yield the items and count them."""
        with self:
            for item in self.items:
                yield item
                self.update()

    def __enter__(self) -> "Progress[T]":
        """Return the progress."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the bar."""
        self._bar.close()

    def update(self, n: int = 1) -> None:
        """Count `n` steps as done."""
        self.n_done += n
        self._bar.update(n)
        now = time.monotonic()
        if self._logs and self._due(now):
            print(self._line(now), file=sys.stderr, flush=True)
            self._line_at = now
            self._n_at_line = self.n_done

    def set_postfix(self, values: Mapping[str, Any]) -> None:
        """Show these values behind the progress."""
        self.postfix = ", ".join(f"{name} {value}" for name, value in values.items())
        self._bar.set_postfix_str(self.postfix, refresh=False)

    def _due(self, now: float) -> bool:
        if self.n_done >= self.total:
            return now - self._began >= LINE_SECONDS
        advanced = self.n_done - self._n_at_line >= self.total / LINES
        return advanced and now - self._line_at >= LINE_SECONDS

    def _line(self, now: float) -> str:
        seconds = now - self._began
        left = seconds * (self.total - self.n_done) / max(1, self.n_done - self.initial)
        times = f"{tqdm.format_interval(seconds)} so far, {tqdm.format_interval(left)} left"
        share = f"{self.n_done} of {self.total} {self.unit}s ({100 * self.n_done / max(1, self.total):.0f} %)"
        return ", ".join(filter(None, [f"{self.desc}: {share}", times, self.postfix]))
