"""Install the app on the only device that adb sees, push a model, ask a question on the screen, and save a
picture of each step.

    python android_demo/tools/try_on_emulator.py --apk APK --model BUNDLE --out FOLDER

Exits with 1 unless the pushed model gives the right answer. It finds the buttons by the ids of the app's
views, as listed by uiautomator.
"""

import argparse
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

from export.android.package import read_package
from qa.bundles.bundle import open_bundle

APP = "org.pocketqa.app"
QUESTION = "To where did Ethelred flee?"  # suggested with the first bundled passage
ANSWER = "Normandy"
PATIENCE_S = 120


def adb(*arguments: str) -> bytes:
    """Return the output of adb. Raise CalledProcessError if it fails."""
    return subprocess.run(["adb", *arguments], check=True, stdout=subprocess.PIPE).stdout


def find(listing: str, name: str) -> tuple[int, int, str] | None:
    """Return the centre and text of the view `name` in a dump of uiautomator; None if it is missing or
    disabled."""
    for node in ET.fromstring(listing).iter("node") if listing else ():
        if node.get("resource-id") == f"{APP}:id/{name}" and node.get("enabled") == "true":
            left, top, right, bottom = map(int, re.findall(r"\d+", node.get("bounds", "")))
            return (left + right) // 2, (top + bottom) // 2, node.get("text", "")
    return None


def wait_for(name: str) -> tuple[int, int, str]:
    """Return centre and text of a view as soon as it is enabled. Raise SystemExit if it does not appear."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        # uiautomator writes no dump while something moves on the screen, so the last dump is removed first.
        adb("shell", "rm -f /sdcard/window.xml; uiautomator dump /sdcard/window.xml || true")
        seen = find(adb("exec-out", "cat /sdcard/window.xml 2>/dev/null || true").decode(), name)
        if seen is not None:
            return seen
        time.sleep(1)
    sys.exit(f"error: no view {name} after {PATIENCE_S} s; see the pictures")


def tap(name: str) -> None:
    """Tap the centre of a view."""
    x, y, _ = wait_for(name)
    adb("shell", "input", "tap", str(x), str(y))


def ask(model: str) -> str:
    """Tap Ask until this model has answered; return its answer. Raise SystemExit if only others answer.

    The app uses a pushed model once it is copied.
    """
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        tap("ask")
        answer = wait_for("answer")[2]
        seen = wait_for("measurements")[2]
        if f"{model}, " in seen:
            return answer
    sys.exit(f"error: not {model} answered but another model ({seen})")


def main() -> None:
    """Run all steps and print the answer."""
    parser = argparse.ArgumentParser()
    for option in ("--apk", "--model", "--out"):
        parser.add_argument(option, type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    info = read_package(open_bundle(options.model).weights).info

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
        answer = ask(f"{info['name']}, {info['precision']}")
        picture("3-answered")
        if ANSWER not in answer:
            sys.exit(f"error: {QUESTION} {answer}, expected {ANSWER}")
    except BaseException:
        picture("failed")
        (options.out / "logcat.txt").write_bytes(adb("logcat", "-d"))
        raise
    print(f"{QUESTION} {answer}")


if __name__ == "__main__":
    main()
