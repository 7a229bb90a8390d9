"""Fetch LiteRT 1.4, the app's release line, as a shared library for this machine, for tests on the JVM.

    python android_demo/tools/fetch_litert.py android_demo/build/litert

The wheel is for Python 3.11. Only its C library is used, which does not depend on Python.
"""

import platform
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

LIBRARY = "libLiteRtRuntimeCApi.so"
VERSION = "1.4.0"  # the only 1.4 release with wheels; the app uses 1.4.2
WHEELS = {
    "x86_64": "138aac5f29c1dfc220519be79c86afec815bc992bd3f08b0f82cee967d8e386f",
    "aarch64": "131d1c12dedc0c45aa683106d71ea895117c2332b0efb52712965f8b5e63781d",
}


def main(dest: Path) -> str | None:
    """Write the library unless it is there. Return an error message to exit with, or None."""
    machine = platform.machine()
    if machine not in WHEELS:
        return f"error: LiteRT {VERSION} has no Linux wheel for {machine}, only for {' and '.join(WHEELS)}"
    there = dest / "version.txt"  # another version, or another machine's, is replaced
    if (dest / LIBRARY).exists() and there.exists() and there.read_text() == f"{VERSION} {machine}\n":
        return None
    dest.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=dest) as folder:
        pinned = Path(folder, "requirements.txt")
        pinned.write_text(f"ai-edge-litert=={VERSION} --hash=sha256:{WHEELS[machine]}\n", encoding="ascii")
        wheel_of = [
            "--no-deps",
            "--only-binary=:all:",
            "--python-version=3.11",
            f"--platform=manylinux_2_17_{machine}",
        ]
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--require-hashes",
            *wheel_of,
            "-d",
            folder,
            "-r",
            pinned,
        ]
        if subprocess.run(command, check=False).returncode:
            return f"error: pip could not download ai-edge-litert {VERSION}; see its message above"
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as archive:
            made = Path(archive.extract(f"ai_edge_litert/{LIBRARY}", folder))
        there.unlink(missing_ok=True)
        made.rename(dest / LIBRARY)
        there.write_text(f"{VERSION} {machine}\n")
    print(f"{dest / LIBRARY}: LiteRT {VERSION}")
    return None


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])) if len(sys.argv) == 2 else "error: usage: fetch_litert.py DEST")
