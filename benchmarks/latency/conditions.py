"""The conditions a latency was measured under: the machine, its cores, governor and load, and what else it did meanwhile."""

import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.results import Machine

IDLE_LOAD = 0.3  # processes a core that wait or run on average; above, a machine is not idle
# Instruction sets that decide how fast int8 and half precision are, as /proc/cpuinfo names them.
USEFUL_FLAGS = (
    "avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_int8", "amx_bf16", "asimddp", "asimdhp",
    "i8mm", "bf16", "sve",
)  # fmt: skip
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


def machine() -> Machine:
    """This machine, without any host name."""
    path = Path("/proc/cpuinfo")
    return describe(path.read_text(encoding="utf-8", errors="replace") if path.is_file() else "")


def describe(cpuinfo: str, cores: int | None = None, architecture: str | None = None, board: str | None = None) -> Machine:
    """The machine that a text of /proc/cpuinfo and what else is given describe; for what is not given, this one."""
    facts = cpu_facts(cpuinfo)
    name = facts.get("model name") or architecture or platform.processor() or platform.machine() or "unknown CPU"
    if "cpu family" in facts and "model" in facts:  # virtual machines often hide all but these
        name += f" (family {facts['cpu family']}, model {facts['model']})"
    if "CPU part" in facts:  # ARM's kernels give numbers for names
        name += f" (implementer {facts.get('CPU implementer')}, part {facts['CPU part']})"
    cores = cores or os.cpu_count() or 1  # of the machine, not of this process: threads have a column of their own
    return Machine(f"{board}, {name}" if board else name, cores, useful_flags(cpuinfo))


def cpu_facts(cpuinfo: str) -> dict[str, str]:
    """The facts of the first CPU in the text of /proc/cpuinfo."""
    facts: dict[str, str] = {}
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    return facts


def useful_flags(cpuinfo: str) -> tuple[str, ...]:
    """The instruction sets in the text of /proc/cpuinfo that decide speed."""
    facts = cpu_facts(cpuinfo)
    flags = set((facts.get("flags") or facts.get("Features") or "").split())
    return tuple(flag for flag in USEFUL_FLAGS if flag in flags)


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
