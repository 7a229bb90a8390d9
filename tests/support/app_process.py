"""The Android app behind its screens on the real LiteRT 1.4, as a process; `make android-test` compiles it
and fetches LiteRT."""

import os
import shutil
import struct
import tempfile
from pathlib import Path

from places import ROOT

from export.android.core_process import CoreAnswer, CoreProcess, packed

BUILD = ROOT / "android_demo" / "build"
CLASSES = (
    BUILD / "app-test" / "litert",
    BUILD / "core" / "main",
    BUILD / "core" / "tools",
    Path("/usr/share/java/jna.jar"),
)
LITERT = BUILD / "litert" / "libLiteRtRuntimeCApi.so"


class AppProcess(CoreProcess):
    """The app on a phone with one pushed model, taken into use; BundleError, in the app's own words, when it
    refuses the file."""

    def __init__(self, model: Path) -> None:
        missing = [path for path in (*CLASSES, LITERT) if not path.exists()]
        assert not missing, f"{missing[0]} is missing; run make android-test"
        self._phone = tempfile.TemporaryDirectory(prefix="pocketqa-phone-")
        shared = Path(self._phone.name, "shared")
        shared.mkdir()
        Path(self._phone.name, "files").mkdir()
        shutil.copy(model, shared / "pushed.tflite")
        os.utime(shared / "pushed.tflite", (0, 0))  # one that is seconds old may still be being written
        path = os.pathsep.join(str(part) for part in CLASSES)
        options = [f"-Dpocketqa.litert={LITERT}", f"-Dpocketqa.root={BUILD.parents[1]}"]
        self._start(["java", *options, "-cp", path, "org.pocketqa.app.AppServer", self._phone.name], model)

    def ask(self, passage: str, question: str, *, read_all: bool = False) -> CoreAnswer:
        self._send(b"Q" + packed(passage) + packed(question) + struct.pack(">?", read_all))
        self._expect(b"A")
        return self._read_answer()

    def benchmark(self) -> str:
        """The JSON that the app would share."""
        self._send(b"B")
        self._expect(b"J")
        return self._read(self._unpack(">i")[0]).decode()

    def close(self) -> None:
        super().close()
        self._phone.cleanup()
