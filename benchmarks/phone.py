"""Time a TFLite export on a phone behind adb with LiteRT's benchmark_model, without the app.

    python -m benchmarks.phone --model runs/demo/student-pruned-tflite-int8 --binary benchmark_model

The phone's shell runs the binary for each signature (or usual length) and number of threads. Each run is
appended to a file of results at once. Nothing stays on the phone.
"""

from dataclasses import dataclass
from pathlib import Path

from qa.base.cli import check_option
from qa.base.commands import run_command


@dataclass(frozen=True)
class PhoneOptions:
    """Time a TFLite export on a phone with LiteRT's benchmark_model over adb."""

    model: Path
    """TFLite bundle to time."""
    binary: Path
    """LiteRT's benchmark_model, built for the phone's architecture."""
    serial: str | None = None
    """Serial number of the phone, where adb sees several."""
    rows: Path | None = None
    """File the results are appended to. Default: rows.jsonl beside the bundle; in runs for a shipped one."""

    def __post_init__(self) -> None:
        check_option(self.binary.is_file(), "--binary", self.binary, "the file benchmark_model")


if __name__ == "__main__":
    run_command("phone")
