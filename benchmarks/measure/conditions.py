"""The conditions of a measurement: the machine, its cores, governor and load, and other processes."""

import os
import platform
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.measure.worker import system_information
from benchmarks.measure.worker_process import Worker
from benchmarks.results.rows import BUSY, Machine
from qa.base.errors import PocketQAError

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
    """A machine on which models are timed, as a worker's `system_information` told when measuring began."""

    system: Mapping[str, Any]
    here: bool = True
    """True for this machine, of which more is known."""

    @property
    def n_cores(self) -> int:
        """Return the number of cores that processes may use."""
        return len(self.system["usable_cores"])

    def cores_for(self, threads: int) -> list[int]:
        """Return the cores for a process with this many threads: the last ones.

        They are the fastest; among cores that are alike, the first serves interrupts.
        """
        return list(self.system["usable_cores"][-threads:])

    def conditions(self, threads: int) -> dict[str, Any]:
        """Return the fields of a Latency that this machine decides."""
        facts = {name: self.system.get(name) for name in ("governor", "load_average")}
        return facts | {"threads": threads, "affinity": tuple(self.cores_for(threads))}

    def not_idle(self) -> str | None:
        """Return what keeps the machine busy, or None. Takes a second.

        Of another machine only the load of the last minute is known. Here that includes this process's own
        work, so the current load by others is measured instead.
        """
        if self.here:
            others = OtherLoad()
            time.sleep(1.0)
            busy = cores_busy([others.lap()])
            return f"other processes keep {busy:.1f} cores busy" if busy >= BUSY else None
        load = self.system.get("load_average")
        return f"load {load}" if load is not None and load > IDLE_LOAD * self.n_cores else None

    @property
    def machine(self) -> Machine:
        """Describe the machine without any host name: board, CPU, cores, instruction sets."""
        cpuinfo = self.system.get("cpuinfo", "")
        cpu = first_cpu(cpuinfo)
        name = cpu.get("model name") or self.system.get("architecture") or platform.machine() or "unknown CPU"
        if "cpu family" in cpu and "model" in cpu:  # virtual machines often hide the rest
            name += f" (family {cpu['cpu family']}, model {cpu['model']})"
        if "CPU part" in cpu:  # ARM's kernels have numbers for names
            name += f" (implementer {cpu.get('CPU implementer')}, part {cpu['CPU part']})"
        if "board" in self.system:
            name = f"{self.system['board']}, {name}"
        cores = self.system.get("cores") or 1  # of the machine, not of this process
        return Machine(name, cores, useful_flags(cpuinfo))


def this_host() -> Host:
    """Return this machine, now."""
    return Host(system_information())


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


def busy_seconds() -> float:
    """Return the CPU seconds all processes (and the host, as steal) used since start-up."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system, _idle, _waiting, *others = map(int, file.readline().split()[1:9])
    except OSError as error:
        raise PocketQAError(
            f"/proc/stat: {error.strerror}; measure times on Linux, or only scores with --skip-latency"
        ) from None
    return (user + nice + system + sum(others)) / os.sysconf("SC_CLK_TCK")


class OtherLoad:
    """CPU time that other processes use of this machine from now on.

    This process, its children that have ended and these workers are no others.
    """

    def __init__(self, workers: Iterable[Worker] = ()) -> None:
        self._workers = workers
        self._last = self._now()

    def _now(self) -> tuple[float, float]:
        own = sum(os.times()[:4]) + sum(worker.cpu_seconds() for worker in self._workers)
        return busy_seconds() - own, time.perf_counter()

    def lap(self) -> tuple[float, float]:
        """Return the CPU seconds that others used since the last lap, and the seconds since then."""
        before, self._last = self._last, self._now()
        return self._last[0] - before[0], self._last[1] - before[1]


def cores_busy(laps: Sequence[Sequence[float]]) -> float:
    """Return the mean number of cores that others kept busy during laps of OtherLoad."""
    busy, seconds = map(sum, zip(*laps, strict=True))
    return round(max(0.0, busy) / seconds, 2)
