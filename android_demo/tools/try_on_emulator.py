"""Install the app on the one device that adb sees, push a model, ask a question through the screen, keep a
picture of each step.

    python android_demo/tools/try_on_emulator.py --apk APK --model BUNDLE --out FOLDER

Exits with 1 unless an answer comes up. It finds what to tap by the ids of the app's views, as uiautomator
lists them.
"""

import argparse
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

APP = "org.pocketqa.app"
QUESTION = "Who did Emma Marry?"  # suggested with the first bundled passage
PATIENCE_S = 120


def adb(*arguments: str) -> bytes:
    """What adb printed; CalledProcessError when it fails."""
    return subprocess.run(["adb", *arguments], check=True, stdout=subprocess.PIPE).stdout


def find(listing: str, name: str) -> tuple[int, int, str] | None:
    """Middle and text of the view `name` in what uiautomator dumped, None when it is not on the screen, or
    not enabled."""
    for node in ET.fromstring(listing).iter("node") if listing else ():
        if node.get("resource-id") == f"{APP}:id/{name}" and node.get("enabled") == "true":
            left, top, right, bottom = map(int, re.findall(r"\d+", node.get("bounds", "")))
            return (left + right) // 2, (top + bottom) // 2, node.get("text", "")
    return None


def wait_for(name: str) -> tuple[int, int, str]:
    """The same, as soon as the view is there and enabled; SystemExit when it does not come."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        # While something moves on the screen nothing is dumped; of the last one there is nothing to read
        # then.
        adb("shell", "rm -f /sdcard/window.xml; uiautomator dump /sdcard/window.xml || true")
        seen = find(adb("exec-out", "cat /sdcard/window.xml 2>/dev/null || true").decode(), name)
        if seen is not None:
            return seen
        time.sleep(1)
    sys.exit(f"error: no view {name} after {PATIENCE_S} s; see the pictures")


def tap(name: str) -> None:
    """Tap the middle of a view."""
    x, y, _ = wait_for(name)
    adb("shell", "input", "tap", str(x), str(y))


def main() -> None:
    """Do it, and print the answer."""
    parser = argparse.ArgumentParser()
    for option in ("--apk", "--model", "--out"):
        parser.add_argument(option, type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    def picture(name: str) -> None:
        (options.out / f"{name}.png").write_bytes(adb("exec-out", "screencap", "-p"))

    adb("install", "-r", str(options.apk))
    try:
        subprocess.run(
            [sys.executable, "-m", "export.android", "--model", options.model, "--push"], check=True
        )
        wait_for("suggestions")
        picture("1-ready")
        tap("question")
        adb("shell", "input", "text", re.sub(r"([^A-Za-z0-9%])", r"\\\1", QUESTION.replace(" ", "%s")))
        picture("2-typed")
        tap("ask")
        answer = wait_for("answer")[2]
        picture("3-answered")
    except BaseException:
        picture("failed")
        (options.out / "logcat.txt").write_bytes(adb("logcat", "-d"))
        raise
    print(f"{QUESTION} {answer}")


if __name__ == "__main__":
    main()
