"""The conditions a latency was measured under: the machine, its cores, governor and load, and what else it
did meanwhile."""

import os
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure.worker import system_information
from benchmarks.results.rows import BUSY, Machine

IDLE_LOAD = 0.3  # processes a core that wait or run on average; above, a machine is not idle
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
    """The machine whose models are timed, as it was when measuring began."""

    cores: tuple[int, ...]
    """Those that processes may use, ascending."""
    governor: str | None
    load_average: float | None
    here: bool = True
    """Whether it is this machine, which knows more of itself."""

    def cores_for(self, threads: int) -> list[int]:
        """The cores to pin a process with `threads` threads to: the last ones, for the first serves most
        interrupts."""
        return list(self.cores[-threads:])

    def not_idle(self) -> str | None:
        """What keeps the machine from being left to a measurement; None when nothing does. It looks for a
        second.

        Of another machine the load of the last minute is all that is known. Here that has this process's own
        work in it, and what others do now is asked instead.
        """
        busy = busy_now() if self.here else None
        if busy is not None:
            return f"other processes keep {busy:.1f} cores busy" if busy >= BUSY else None
        loaded = self.load_average is not None and self.load_average > IDLE_LOAD * len(self.cores)
        return f"load {self.load_average}" if loaded else None


def host_of(system: Mapping[str, Any], *, here: bool) -> Host:
    """The host that a worker's `system_information` is of."""
    return Host(tuple(system["usable_cores"]), system.get("governor"), system.get("load_average"), here)


def this_host() -> Host:
    """This machine, now."""
    return host_of(system_information(), here=True)


def cores_for(threads: int) -> list[int]:
    """The cores of this machine to pin a process with `threads` threads to."""
    return this_host().cores_for(threads)


def machine() -> Machine:
    """This machine, without any host name."""
    return describe(system_information())


def describe(system: Mapping[str, Any]) -> Machine:
    """The machine that a worker's `system_information` is of: the board's name where it has one, CPU, cores,
    instruction sets."""
    cpu = first_cpu(system.get("cpuinfo", ""))
    name = cpu.get("model name") or system.get("architecture") or platform.machine() or "unknown CPU"
    if "cpu family" in cpu and "model" in cpu:  # virtual machines often hide all but these
        name += f" (family {cpu['cpu family']}, model {cpu['model']})"
    if "CPU part" in cpu:  # ARM's kernels give numbers for names
        name += f" (implementer {cpu.get('CPU implementer')}, part {cpu['CPU part']})"
    cores = (
        system.get("cores") or 1
    )  # of the machine, not of this process: threads have a column of their own
    return Machine(
        f"{system['board']}, {name}" if "board" in system else name,
        cores,
        useful_flags(system.get("cpuinfo", "")),
    )


def first_cpu(cpuinfo: str) -> dict[str, str]:
    """What /proc/cpuinfo says of the first CPU."""
    found: dict[str, str] = {}
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        found.setdefault(key.strip(), value.strip())
    return found


def useful_flags(cpuinfo: str) -> tuple[str, ...]:
    """The instruction sets in the text of /proc/cpuinfo that decide speed."""
    cpu = first_cpu(cpuinfo)
    flags = set((cpu.get("flags") or cpu.get("Features") or "").split())
    return tuple(flag for flag in USEFUL_FLAGS if flag in flags)


def busy_seconds() -> float | None:
    """CPU seconds that all processes (and the host, as steal) have used since start-up; None without
    /proc/stat."""
    path = Path("/proc/stat")
    if not path.is_file():
        return None
    ticks = [int(word) for word in path.read_text(encoding="ascii").splitlines()[0].split()[1:9]]
    idle = ticks[3]
    waiting = ticks[4]
    return (sum(ticks) - idle - waiting) / os.sysconf("SC_CLK_TCK")


class OtherLoad:
    """How many cores other processes keep busy from now on, on average; `own` tells the CPU seconds that are
    not others'."""

    def __init__(self, own: Callable[[], float]) -> None:
        self._own = own
        self._own_before = own()
        self._began = time.perf_counter()
        self._before = busy_seconds()

    def cores(self) -> float | None:
        """None where the system does not tell."""
        seconds = time.perf_counter() - self._began
        now = busy_seconds()
        if now is None or self._before is None or not seconds:
            return None
        return round(max(0.0, now - self._before - (self._own() - self._own_before)) / seconds, 2)


def busy_now() -> float | None:
    """How many cores other processes keep busy during the second from now; None where the system does not
    tell."""
    others = OtherLoad(time.process_time)
    time.sleep(1.0)
    return others.cores()
