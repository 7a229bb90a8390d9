"""Draw docs/web.png: the page in Chromium at phone size, in light and in dark.

    python tests/support/web_picture.py docs/web.png

Needs Chromium and what `make web` installs.
"""

import base64
import sys
import tempfile
from pathlib import Path

from chromium import chromium
from page_model import export_page_model
from web_site import ask, opened, served

from export.options import WebOptions
from export.web.publish import publish

FRAME = """<body style="margin:0;display:flex;gap:24px;padding:6px;width:max-content">{}</body>"""
SCREEN = (
    """<img src="data:image/png;base64,{}" style="width:300px;border-radius:28px;border:5px solid #6b7480">"""
)


def draw(out):
    """Write the picture."""
    screens = []
    with tempfile.TemporaryDirectory() as folder:
        site = publish(WebOptions(export_page_model(Path(folder)).path, Path(folder) / "site"))
        with chromium(120) as page, served(site) as url:
            for dark in (False, True):
                opened(page, url, dark=dark)
                ask(page)
                screens.append(SCREEN.format(page.send("Page.captureScreenshot")["data"]))
            frame = Path(folder) / "frame.html"
            frame.write_text(FRAME.format("".join(screens)))
            page.open(frame, width=660, height=700, scale=1.5)
            page.send("Emulation.setDefaultBackgroundColorOverride", color={"r": 0, "g": 0, "b": 0, "a": 0})
            box = page.run("(({width, height}) => ({width, height}))(document.body.getBoundingClientRect())")
            clip = {"x": 0, "y": 0, "scale": 1} | box
            picture = page.send("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"]
    Path(out).write_bytes(base64.b64decode(picture))


if __name__ == "__main__":
    draw(sys.argv[1])
