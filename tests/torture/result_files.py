"""Damaged files of results, and damaged reports of phones."""

import contextlib
import json
import os

from case import Torture, refused_or
from material import ROOT
from mutations import damaged_bytes, damaged_json

from benchmarks.compare import CompareConfig
from benchmarks.compare import main as compare
from benchmarks.measure.models import find_models
from benchmarks.results.files import read_results, sound_results
from benchmarks.show.groups import collect, newest_order
from benchmarks.show.report import Page, write_report
from benchmarks.show.tables import as_markdown, as_text
from benchmarks.show.views import VIEWS, view_tables

RESULTS = ROOT / "benchmarks" / "results"
GOLDEN = ROOT / "tests" / "golden"


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


class PhoneReports(Torture):
    """A damaged report is refused, or becomes results that can be read again, and a page."""

    name = "phone reports"
    n_cases = 2500

    def prepare(self) -> None:
        """Read what will be damaged: the app's report, as if a bundle at hand had been measured."""
        (model,) = find_models([self.material / "tflite-int8"])
        self.bundle = model.bundle
        report = json.loads((GOLDEN / "phone_report.json").read_bytes())
        report["model"]["sha256"] = self.bundle.manifest.files[self.bundle.weights.name]
        self.report = json.dumps(report).encode()
        self.file = self.scratch / "phone.json"
        self.rows = self.scratch / "phone.jsonl"

    def run(self, number: int) -> str:
        """One report."""
        rng = self.rng(number)
        damage = damaged_json if rng.randrange(3) else damaged_bytes
        self.file.write_bytes(damage(self.report, rng))
        self.rows.unlink(missing_ok=True)
        return refused_or(self._taken)

    def _taken(self) -> str:
        config = CompareConfig((self.bundle.path,), rows=self.rows, phone_report=(self.file,))
        with open(os.devnull, "w") as null, contextlib.redirect_stdout(null):
            n = len(compare(config))
        return "" if len(read_results(self.rows)) == n else "other rows than were written"
