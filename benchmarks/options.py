"""Options of `benchmarks/compare.py`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

from benchmarks.results.rows import CPU, CUDA, HERE, PADDED, QEMU, SSH, UNPADDED
from qa.base.cli import changed, check_option, flag_of
from qa.base.errors import OptionError
from qa.base.help import Expert
from qa.data.datasets import EMBEDDED
from qa.runtime.runtimes import available_cores

MIN_LENGTH = 32  # tokens of the shortest windows worth cutting
TIMING = ("quick", "lengths", "threads", "batch")
MEASURING = (*TIMING, "toolchains", "skip_latency")
TARGETS = (
    "cpu, cuda, ssh:USER@HOST, qemu:CPU or qemu:CPU/litert-1.4.0, such as ssh:pi@raspberrypi.local or "
    "qemu:neoverse-n1"
)
# Options that have no meaning on a target, or with a flag that measures nothing on this machine.
REFUSED = {
    CPU: ("questions",),
    CUDA: ("questions", "threads", "toolchains"),
    SSH: ("baseline", "lengths", "threads", "batch", "toolchains"),
    QEMU: ("baseline", *TIMING, "toolchains"),
    "--skip-latency": TIMING,
    "--report": (*MEASURING, "target", "questions", "phone_report"),
    "--phone-report": ("baseline", *MEASURING, "target", "questions", "details"),
}


@dataclass(frozen=True)
class CompareOptions:
    """Compare models: their accuracy, size and latency."""

    bundles: tyro.conf.Positional[tuple[Path, ...]] = ()
    """Bundles or transformers checkpoints (folders or hub names) to compare. Default: all finished bundles in
    runs/demo."""
    data: str = EMBEDDED
    """File of questions (SQuAD JSON, JSON lines, CSV, TSV or Parquet), or the dev part of embedded, everyday,
    squad or squad_v2."""
    baseline: Expert[Path | None] = None
    """Bundle that F1 and speed are compared with. Default: the first teacher that comes from no other, else
    the first bundle."""
    rows: Path | None = None
    """File the results are appended to; the page report.html is written beside it. Default: rows.jsonl beside
    the first bundle; in runs for a shipped model or a hub name."""
    report: bool = False
    """Only show existing results: of the bundles named, else all. Nothing is measured."""
    details: bool = False
    """Print all columns, and a line for each setting that was timed."""
    quick: bool = False
    """Time 64 windows, for the order of magnitude, instead of 1,024 for at least a minute; the results say
    so.
    """
    lengths: Expert[tuple[str, ...]] = (UNPADDED, PADDED)
    """Window lengths to time: unpadded (as short as the runtime allows), padded (to the model's longest),
    numbers of tokens.
    """
    threads: tuple[int, ...] | None = None
    """Numbers of threads to time with. Default: 1 and all cores."""
    batch: Expert[tuple[int, ...]] = (1,)
    """Windows given at once: 1 is latency, more is throughput."""
    toolchains: Expert[Path | None] = None
    """PyTorch bundle to measure in other toolchains too (make toolchains installs them): torch.compile,
    torchao, OpenVINO and others.
    """
    skip_latency: Expert[bool] = False
    """Measure accuracy only."""
    target: str = CPU
    """Target: cpu (here); cuda (this machine's GPU); ssh:USER@HOST (needs numpy, and LiteRT
    or ONNX Runtime); or qemu:CPU, an emulated ARM64 CPU such as qemu:neoverse-n1 (set up by
    benchmarks/measure/arm64_python.sh). QEMU counts instructions and times nothing. qemu:CPU/litert-1.4.0 has
    the Android app's release line of LiteRT.
    """
    questions: Expert[int | None] = None
    """Questions to compute on a remote --target, evenly spaced over the data. Default: all, under QEMU 20."""
    phone_report: tuple[Path, ...] = ()
    """JSON files that the app's benchmark shared, to import as results. Nothing is measured on this machine.
    """

    def __post_init__(self) -> None:
        self._check_values()
        flag, refused = f"--target {self.target}", REFUSED[self._kind_of_target()]
        if self.skip_latency:
            self._refuse("--skip-latency", REFUSED["--skip-latency"])
        if self.phone_report:
            flag, refused = "--phone-report", REFUSED["--phone-report"]
        if self.report:
            flag, refused = "--report", REFUSED["--report"]
        self._refuse(flag, refused)

    def _kind_of_target(self) -> str:
        """Return CPU, CUDA, SSH or QEMU. OptionError for another target."""
        remote = [kind for kind in (SSH, QEMU) if self.target.startswith(kind) and self.target != kind]
        kinds = [self.target] if self.target in HERE else remote
        check_option(len(kinds) == 1, "--target", self.target, TARGETS)
        return kinds[0]

    def _refuse(self, flag: str, names: Sequence[str]) -> None:
        for name in changed(self, names):
            raise OptionError(f"{flag_of(name)} cannot be combined with {flag}")

    def _check_values(self) -> None:
        for lengths in self.lengths:
            number = lengths.isdecimal() and int(lengths) >= MIN_LENGTH
            accepted = f"{UNPADDED}, {PADDED}, or a number of tokens from {MIN_LENGTH}"
            check_option(lengths in (UNPADDED, PADDED) or number, "--lengths", lengths, accepted)
        counts = (1,) if self.threads is None else self.threads
        for flag, values in (("--lengths", self.lengths), ("--threads", counts), ("--batch", self.batch)):
            each_once = 0 < len(values) == len(set(values))
            check_option(each_once, flag, " ".join(map(str, values)), "one value or several, each once")
        cores = available_cores()
        for threads in counts:
            in_range = 1 <= threads <= cores
            check_option(in_range, "--threads", threads, f"between 1 and {cores}, the cores there are")
        for batch in self.batch:
            check_option(batch >= 1, "--batch", batch, "at least 1")
        if self.questions is not None:
            check_option(self.questions >= 1, "--questions", self.questions, "at least 1")
