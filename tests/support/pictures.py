"""Draw the two screenshots of the docs: the top of the report of the released models, by their results on
SQuAD 2.0, and the page at phone size, in light and in dark.

    python tests/support/pictures.py docs/page.png docs/web.png

Needs Chromium and what `make web` installs.
"""

import base64
import sys
import tempfile
from pathlib import Path

from chromium import chromium
from page_model import export_page_model
from places import ROOT
from web_site import ask, opened, served

from benchmarks import measure_and_show
from benchmarks.options import CompareOptions
from benchmarks.results.files import append_result, read_results
from export.options import WebOptions
from export.web.publish import publish

ROWS = ROOT / "benchmarks" / "results" / "flagship.jsonl"
DATA = "dev-v2.0.json.gz"
FRAME = """<body style="margin:0;display:flex;gap:24px;padding:6px;width:max-content">{}</body>"""
SCREEN = (
    """<img src="data:image/png;base64,{}" style="width:300px;border-radius:28px;border:5px solid #6b7480">"""
)


def report_picture(folder):
    """The picture of the report, in Base64."""
    rows = folder / "rows.jsonl"
    for result in read_results(ROWS):
        if result.data.name == DATA:
            append_result(rows, result)
    options = CompareOptions(rows=rows, report=True)
    measure_and_show.show_results(options)
    with chromium(120) as browser:
        browser.open(rows.with_name("report.html"), width=1200, height=1000)
        return browser.send("Page.captureScreenshot")["data"]


def page_picture(folder):
    """The picture of the page, in Base64."""
    screens = []
    site = publish(WebOptions(export_page_model(folder).path, folder / "site"))
    with chromium(120) as page, served(site) as url:
        for dark in (False, True):
            opened(page, url, dark=dark)
            ask(page)
            screens.append(SCREEN.format(page.send("Page.captureScreenshot")["data"]))
        frame = folder / "frame.html"
        frame.write_text(FRAME.format("".join(screens)))
        page.open(frame, width=660, height=700, scale=1.5)
        page.send("Emulation.setDefaultBackgroundColorOverride", color={"r": 0, "g": 0, "b": 0, "a": 0})
        box = page.run("(({width, height}) => ({width, height}))(document.body.getBoundingClientRect())")
        clip = {"x": 0, "y": 0, "scale": 1} | box
        return page.send("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"]


if __name__ == "__main__":
    for draw, out in zip((report_picture, page_picture), sys.argv[1:], strict=True):
        with tempfile.TemporaryDirectory() as folder:
            Path(out).write_bytes(base64.b64decode(draw(Path(folder))))
