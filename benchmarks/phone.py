"""Time a TFLite export on a phone behind adb with LiteRT's benchmark_model, without the app.

    python -m benchmarks.phone --model runs/demo/student-pruned-tflite-int8 --binary benchmark_model

The phone's shell runs the binary for each signature (or usual length) and number of threads. Each run is
appended to a file of results at once. Nothing stays on the phone.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from qa.base.cli import check_option
from qa.base.commands import run_command

if TYPE_CHECKING:
    from benchmarks.results.rows import AnyResult


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


def measure_on_phone(options: PhoneOptions) -> "list[AnyResult]":
    """Time the model, append the results and print the phone's table. Returns this run's results."""
    from benchmarks.measure.benchmark_model import measure_on_phone  # here, so that --help loads no PyTorch
    from benchmarks.measure.command_line import command_line_of
    from benchmarks.results.files import ResultFile
    from benchmarks.show.groups import collect, newest_order
    from benchmarks.show.tables import show
    from benchmarks.show.views import view_tables
    from export.android.check import open_tflite
    from qa.bundles.hf_import import output_beside

    bundle = open_tflite(options.model)
    file = ResultFile(options.rows or output_beside(options.model, "rows").with_name("rows.jsonl"))
    command = command_line_of("-m benchmarks.phone", options)
    results = measure_on_phone(bundle, options.binary, options.serial, file, command)
    groups = collect(file.all, newest_order(file.all))
    phone = str(results[0].machine)
    show(view_tables([g for g in groups if g.on_phone and g.machine == phone], "latency"), None, "latency")
    return results


if __name__ == "__main__":
    run_command("phone")
