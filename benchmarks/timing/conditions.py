"""The conditions a latency was measured under: cores, governor, load, and what else the machine did meanwhile."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

IDLE_LOAD = 0.3  # processes a core that wait or run on average; above, a machine is not idle
GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


@dataclass(frozen=True)
class Host:
    """The machine whose models are timed, as it was when measuring began."""

    cores: tuple[int, ...]
    """Those that processes may use, ascending."""
    governor: str | None
    load_average: float | None
    here: bool = True
    """Whether it is this machine, which knows more of itself."""

    def cores_for(self, threads: int) -> list[int]:
        """The cores to pin a process with `threads` threads to: the last ones, for the first serves most interrupts."""
        return list(self.cores[-threads:])

    @property
    def is_idle(self) -> bool:
        """Whether the load of the last minute leaves the machine to a measurement."""
        return self.load_average is None or self.load_average <= IDLE_LOAD * len(self.cores)


def this_host() -> Host:
    """This machine, now."""
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    return Host(tuple(sorted(usable)), governor(), load_average())


def cores_for(threads: int) -> list[int]:
    """The cores of this machine to pin a process with `threads` threads to."""
    return this_host().cores_for(threads)


def governor() -> str | None:
    """The frequency governor of the first core; None where it cannot be read, as on most virtual machines."""
    try:
        return GOVERNOR.read_text(encoding="ascii").strip() or None
    except OSError:
        return None


def load_average() -> float | None:
    """Load of the last minute."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def busy_seconds() -> float | None:
    """CPU seconds that all processes (and the host, as steal) have used since start-up; None without /proc/stat."""
    path = Path("/proc/stat")
    if not path.is_file():
        return None
    ticks = [int(word) for word in path.read_text(encoding="ascii").splitlines()[0].split()[1:9]]
    idle, waiting = ticks[3], ticks[4]
    return (sum(ticks) - idle - waiting) / os.sysconf("SC_CLK_TCK")


class OtherLoad:
    """How many cores other processes keep busy from now on, on average; `own` tells the CPU seconds that are not others'."""

    def __init__(self, own: Callable[[], float]) -> None:
        self._own, self._own_before, self._began, self._before = own, own(), time.perf_counter(), busy_seconds()

    def cores(self) -> float | None:
        """None where the system does not tell."""
        seconds, now = time.perf_counter() - self._began, busy_seconds()
        if now is None or self._before is None or not seconds:
            return None
        return round(max(0.0, now - self._before - (self._own() - self._own_before)) / seconds, 2)
