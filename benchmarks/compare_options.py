"""The options of `benchmarks/compare.py`, checked before anything is opened."""

from dataclasses import dataclass, fields
from pathlib import Path

import tyro

from benchmarks.measure.command_line import flag_name
from benchmarks.results.rows import CPU, CUDA, HERE, PADDED, UNPADDED
from qa.base.cli import check_option
from qa.data.datasets import EMBEDDED
from qa.runtime.runtimes import available_cores

PHONE_EXAMPLE = 'in one line such as "Pixel 8, Android 16, Tensor G3"'
SHORTEST = 32  # tokens of the shortest windows worth cutting
# Options that nothing but a measurement has.
ONLY_MEASURING = ("baseline", "quick", "lengths", "threads", "batch", "peers", "skip_latency")


@dataclass(frozen=True)
class CompareConfig:
    """What to compare, on which data, and where the results go."""

    bundles: tyro.conf.Positional[tuple[Path, ...]] = ()
    """Bundles or transformers checkpoints (folders or hub names) to compare; without any, all finished
    bundles in runs/demo."""
    data: str = EMBEDDED
    """SQuAD JSON file (plain or gzip), or embedded, squad, squad_v2 (their dev part)."""
    baseline: Path | None = None
    """Bundle that F1 and speed are compared with; by default the only teacher that was made of no other."""
    rows: Path | None = None
    """File the result rows are appended to; by default rows.jsonl beside the first bundle."""
    report: bool = False
    """Only write the page, from rows that exist: of the bundles named, without any of all rows. Nothing is
    measured."""
    page: Path | None = None
    """HTML page to write; by default report.html beside the rows."""
    quick: bool = False
    """Time 64 windows, which shows the order of magnitude, instead of 1,024 for at least a minute; the rows
    say so."""
    lengths: tuple[str, ...] = (UNPADDED, PADDED)
    """Window lengths to time at: real (as short as the runtime allows), padded (to the model's longest),
    numbers such as 128."""
    threads: tuple[int, ...] | None = None
    """Numbers of threads to time with; by default 1 and all cores."""
    batch: tuple[int, ...] = (1,)
    """Windows given at once: 1 is latency, more is throughput."""
    peers: Path | None = None
    """PyTorch bundle to measure in other tools too (make peers installs them): torch.compile, torchao,
    OpenVINO and others."""
    skip_latency: bool = False
    """Measure accuracy only."""
    target: str = CPU
    """Where to compute: cpu (here), cuda (this machine's GPU), ssh:USER@HOST (numpy and LiteRT or ONNX
    Runtime must be there), or qemu:CPU (an emulated ARM64 CPU such as qemu:neoverse-n1, set up by
    benchmarks/measure/arm64_python.sh: instructions, no times; with /litert-1.4.0 behind the CPU in the
    Android app's release line of LiteRT)."""
    questions: int | None = None
    """Questions computed on another --target, evenly spaced over the data; by default all, under QEMU 20."""
    phone_log: tuple[Path, ...] = ()
    """Logs of LiteRT's benchmark_model, run on a phone, or JSON that the app's benchmark shared: their runs
    become rows. Nothing is measured on this machine."""
    phone: str | None = None
    """The phone of --phone-log in one line: model, Android version, processor. The app's JSON names its own.
    """

    def __post_init__(self) -> None:
        self._check_settings()
        elsewhere = self.target not in HERE
        if self.target == CUDA:
            self._refuse("--target cuda", "peers", "threads")
        if self.questions is not None:
            check_option(elsewhere, "--questions", self.questions, "left out without another --target")
            check_option(self.questions >= 1, "--questions", self.questions, "at least 1")
        if elsewhere:
            check_option(not self.phone_log, "--phone-log", self.phone_log, "left out with --target")
            check_option(
                self.baseline is None,
                "--baseline",
                self.baseline,
                "left out with --target, whose reference is this CPU",
            )
            self._refuse(
                f"--target {self.target}, which times single windows", "lengths", "threads", "batch", "peers"
            )
        if not self.phone_log:
            check_option(self.phone is None, "--phone", self.phone, "left out without --phone-log")
        else:
            named = self.phone is None or (
                self.phone.isprintable() and self.phone == self.phone.strip() != ""
            )
            check_option(named, "--phone", repr(self.phone), PHONE_EXAMPLE)
            self._refuse(
                "--phone-log, which measures nothing on this machine", "data", "report", *ONLY_MEASURING
            )
        if self.report:
            self._refuse(
                "--report, which measures nothing on this machine", "target", "questions", *ONLY_MEASURING
            )

    def _check_settings(self) -> None:
        for lengths in self.lengths:
            number = lengths.isdecimal() and int(lengths) >= SHORTEST
            wanted = f"{UNPADDED}, {PADDED}, or a number of tokens from {SHORTEST}"
            check_option(lengths in (UNPADDED, PADDED) or number, "--lengths", lengths, wanted)
        counts = (1,) if self.threads is None else self.threads
        for name, values in (("--lengths", self.lengths), ("--threads", counts), ("--batch", self.batch)):
            check_option(
                0 < len(values) == len(set(values)),
                name,
                " ".join(map(str, values)),
                "one value or several, each once",
            )
        cores = available_cores()
        for threads in self.threads or ():
            check_option(
                1 <= threads <= cores, "--threads", threads, f"between 1 and {cores}, the cores there are"
            )
        for batch in self.batch:
            check_option(batch >= 1, "--batch", batch, "at least 1")

    def _refuse(self, flag: str, *names: str) -> None:
        """Refuse options that `flag` leaves without a meaning."""
        for option in (option for option in fields(self) if option.name in names):
            value = getattr(self, option.name)
            check_option(value == option.default, flag_name(option.name), value, f"left out with {flag}")
