"""Damaged files of results, and damaged logs of phones."""

import contextlib
import json
import os

from case import Torture, refused_or
from material import ROOT
from mutations import damaged_bytes, damaged_json, damaged_words

from benchmarks.compare import main as compare
from benchmarks.compare_options import CompareConfig
from benchmarks.measure.models import find_models
from benchmarks.results.rows import read_results, sound_results
from benchmarks.show.groups import collect, newest_order
from benchmarks.show.report import Page, write_report
from benchmarks.show.tables import as_markdown, as_text
from benchmarks.show.views import VIEWS, view_tables

RESULTS = ROOT / "benchmarks" / "results"
GOLDEN = ROOT / "tests" / "golden"
LOGGED_SIZE = b"18.9342"  # MB of the model in the golden logs


class ResultRows(Torture):
    """A damaged row is left out with its line's number, or shown in every table and on the page."""

    name = "result rows"
    n_cases = 2500

    def prepare(self) -> None:
        """Read what will be damaged: the rows of the published results."""
        self.rows = [
            row for path in sorted(RESULTS.glob("*.jsonl")) for row in path.read_bytes().splitlines()
        ]
        self.file = self.scratch / "rows.jsonl"

    def run(self, number: int) -> str:
        """One file of up to 20 rows, one of them damaged."""
        rng = self.rng(number)
        first = rng.randrange(len(self.rows))
        n = rng.choice((1, 5, 20))
        rows = self.rows[first : first + n]
        at = rng.randrange(len(rows))
        rows[at] = (damaged_json if rng.randrange(3) else damaged_bytes)(rows[at], rng)
        self.file.write_bytes(b"\n".join(rows) + b"\n")
        return refused_or(self._shown)

    def _shown(self) -> str:
        results, _ = sound_results(self.file)
        groups = collect(results, newest_order(results))
        for table in (table for view in VIEWS for table in view_tables(groups, view)):
            as_text(table), as_markdown(table)
        write_report(self.scratch / "page.html", Page(groups))
        return ""


class PhoneLogs(Torture):
    """A damaged log is refused, or becomes rows that can be read again, and a page."""

    name = "phone logs"
    n_cases = 2500

    def prepare(self) -> None:
        """Read what will be damaged, as if a bundle at hand had been measured: logs of the tool, and the
        app's own report."""
        (model,) = find_models([self.material / "tflite-int8"])
        self.bundle = model.bundle
        size = f"{model.metadata['size_bytes'] / 1e6:.6g}".encode()
        self.logs = [
            path.read_bytes().replace(LOGGED_SIZE, size)
            for path in sorted(GOLDEN.glob("benchmark_logs/*.log"))
        ]
        report = json.loads((GOLDEN / "phone_report.json").read_bytes())
        report["model"]["sha256"] = self.bundle.manifest.files[self.bundle.weights.name]
        self.logs.append(json.dumps(report).encode())
        self.file = self.scratch / "phone.log"
        self.rows = self.scratch / "phone.jsonl"

    def run(self, number: int) -> str:
        """One log."""
        rng = self.rng(number)
        raw = self.logs[number % len(self.logs)]
        is_json = raw.startswith(b"{") and rng.randrange(3)
        damage = damaged_json if is_json else rng.choice((damaged_bytes, damaged_words))
        self.file.write_bytes(damage(raw, rng))
        self.rows.unlink(missing_ok=True)
        return refused_or(self._taken)

    def _taken(self) -> str:
        config = CompareConfig(
            (self.bundle.path,), rows=self.rows, phone_log=(self.file,), phone="Phone, Android, processor"
        )
        with open(os.devnull, "w") as null, contextlib.redirect_stdout(null):
            n = len(compare(config))
        return "" if len(read_results(self.rows)) == n else "other rows than were written"
