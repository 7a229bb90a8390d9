"""The conditions of a measurement: the machine, its cores, governor and load, and other processes."""

import os
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure.worker import system_information
from benchmarks.results.rows import BUSY, Machine

IDLE_LOAD = 0.3  # load average per core above which a machine is not idle
# Instruction sets that decide how fast int8 and half precision are, as /proc/cpuinfo names them.
USEFUL_FLAGS = (
    "avx2",
    "avx_vnni",
    "avx512f",
    "avx512_vnni",
    "avx512_bf16",
    "avx512_fp16",
    "amx_int8",
    "amx_bf16",
    "asimddp",
    "asimdhp",
    "i8mm",
    "bf16",
    "sve",
)


@dataclass(frozen=True)
class Host:
    """The machine on which models are timed, as it was when measuring began."""

    cores: tuple[int, ...]
    """Cores that processes may use, ascending."""
    governor: str | None
    load_average: float | None
    here: bool = True
    """True for this machine, of which more is known."""

    def cores_for(self, threads: int) -> list[int]:
        """Return the cores for a process with this many threads: the last ones, as the first serves
        interrupts.
        """
        return list(self.cores[-threads:])

    def not_idle(self) -> str | None:
        """Return what keeps the machine busy, or None. Takes a second.

        Of another machine only the load of the last minute is known. Here that includes this process's own
        work, so the current load by others is measured instead.
        """
        busy = busy_now() if self.here else None
        if busy is not None:
            return f"other processes keep {busy:.1f} cores busy" if busy >= BUSY else None
        loaded = self.load_average is not None and self.load_average > IDLE_LOAD * len(self.cores)
        return f"load {self.load_average}" if loaded else None


def host_of(system: Mapping[str, Any], *, here: bool) -> Host:
    """Return the host that a worker's `system_information` describes."""
    return Host(tuple(system["usable_cores"]), system.get("governor"), system.get("load_average"), here)


def this_host() -> Host:
    """Return this machine, now."""
    return host_of(system_information(), here=True)


def cores_for(threads: int) -> list[int]:
    """Return the cores of this machine for a process with this many threads."""
    return this_host().cores_for(threads)


def machine() -> Machine:
    """Describe this machine, without any host name."""
    return describe(system_information())


def describe(system: Mapping[str, Any]) -> Machine:
    """Describe a machine by a worker's `system_information`: board, CPU, cores, instruction sets."""
    cpu = first_cpu(system.get("cpuinfo", ""))
    name = cpu.get("model name") or system.get("architecture") or platform.machine() or "unknown CPU"
    if "cpu family" in cpu and "model" in cpu:  # virtual machines often hide the rest
        name += f" (family {cpu['cpu family']}, model {cpu['model']})"
    if "CPU part" in cpu:  # ARM's kernels have numbers for names
        name += f" (implementer {cpu.get('CPU implementer')}, part {cpu['CPU part']})"
    if "board" in system:
        name = f"{system['board']}, {name}"
    cores = system.get("cores") or 1  # of the machine, not of this process
    return Machine(name, cores, useful_flags(system.get("cpuinfo", "")))


def first_cpu(cpuinfo: str) -> dict[str, str]:
    """Parse the first CPU of /proc/cpuinfo."""
    facts: dict[str, str] = {}
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    return facts


def useful_flags(cpuinfo: str) -> tuple[str, ...]:
    """Return the instruction sets in /proc/cpuinfo that decide speed."""
    cpu = first_cpu(cpuinfo)
    flags = set((cpu.get("flags") or cpu.get("Features") or "").split())
    return tuple(flag for flag in USEFUL_FLAGS if flag in flags)


def busy_seconds() -> float | None:
    """Return the CPU seconds all processes (and the host, as steal) used since start-up; None without
    /proc/stat.
    """
    path = Path("/proc/stat")
    if not path.is_file():
        return None
    ticks = [int(word) for word in path.read_text(encoding="ascii").splitlines()[0].split()[1:9]]
    idle = ticks[3]
    waiting = ticks[4]
    return (sum(ticks) - idle - waiting) / os.sysconf("SC_CLK_TCK")


class OtherLoad:
    """The mean number of cores that other processes keep busy from now on; `own` returns this command's CPU
    seconds.
    """

    def __init__(self, own: Callable[[], float]) -> None:
        self._own = own
        self._own_before = own()
        self._began = time.perf_counter()
        self._before = busy_seconds()

    def cores(self) -> float | None:
        """Return the number of cores; None where the system does not tell."""
        seconds = time.perf_counter() - self._began
        now = busy_seconds()
        if now is None or self._before is None or not seconds:
            return None
        others = now - self._before - (self._own() - self._own_before)
        return round(max(0.0, others) / seconds, 2)


def busy_now() -> float | None:
    """Measure for a second how many cores other processes keep busy; None where the system does not tell."""
    others = OtherLoad(time.process_time)
    time.sleep(1.0)
    return others.cores()
