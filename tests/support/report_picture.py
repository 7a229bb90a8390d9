"""Draw docs/page.png: the top of the report of the released models, by their results on SQuAD 2.0.

    python tests/support/report_picture.py docs/page.png

Needs Chromium.
"""

import base64
import sys
import tempfile
from pathlib import Path

from chromium import chromium
from places import ROOT

from benchmarks import measure_and_show
from benchmarks.options import CompareOptions
from benchmarks.results.files import append_result, read_results

ROWS = ROOT / "benchmarks" / "results" / "flagship.jsonl"
DATA = "dev-v2.0.json.gz"


def draw(out):
    """Write the picture."""
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.jsonl"
        for result in read_results(ROWS):
            if result.data.name == DATA:
                append_result(rows, result)
        options = CompareOptions(rows=rows, report=True)
        measure_and_show.show_results(options)
        with chromium(120) as browser:
            browser.open(rows.with_name("report.html"), width=1200, height=1000)
            picture = browser.send("Page.captureScreenshot")["data"]
    Path(out).write_bytes(base64.b64decode(picture))


if __name__ == "__main__":
    draw(sys.argv[1])
