"""Compare the LiteRT stubs with the recorded public API of the real library. A stub may lack members, but may
not add any.

Otherwise the app could compile against a method that no phone has.

    python3 android_demo/tools/check_stubs.py
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

STUBS = Path(__file__).resolve().parent.parent / "stubs"
API = STUBS / "litert-1.4-api.txt"


def signatures(listing: str) -> set[str]:
    """Return class headers, and members with the name of their class, from the output of `javap -public`."""
    found = set()
    class_name = ""
    for line in listing.splitlines():
        if header := re.fullmatch(r"(.*(?:class|interface) (\S+).*) {", line):
            class_name = header[2]
            found.add(header[1])
        elif member := re.fullmatch(r"  (.+);", line):
            found.add(f"{class_name}: {member[1]}")
    return found


def compiled_stubs() -> str:
    """Return the output of `javap -public` for all stubs, compiled for Java 8 like the app."""
    with tempfile.TemporaryDirectory() as folder:
        sources = sorted((STUBS / "java").rglob("*.java"))
        subprocess.run(["javac", "--release", "8", "-Xlint:-options", "-d", folder, *sources], check=True)
        classes = sorted(Path(folder).rglob("*.class"))
        return subprocess.run(
            ["javap", "-public", *classes], check=True, stdout=subprocess.PIPE, text=True
        ).stdout


def main() -> str | None:
    """Return an error message to exit with, or None."""
    try:
        stubs = signatures(compiled_stubs())
    except FileNotFoundError as error:
        return f"error: {error.filename} not found; install a JDK (Debian: openjdk-17-jdk-headless)"
    except subprocess.CalledProcessError as error:
        return f"error: {error.cmd[0]} failed on the stubs in {STUBS}"
    unknown = sorted(stubs - signatures(API.read_text(encoding="utf-8")))
    if unknown:
        return "\n".join(f"error: stub is not in {API.name}: {signature}" for signature in unknown)
    print(f"{len(stubs)} stub signatures, all in {API.name}")
    return None


if __name__ == "__main__":
    sys.exit(main())
