"""Put a model on a phone over adb and open the app on it; `python -m export.android --model BUNDLE --push`
calls it.

The file goes into the app's inbox, a folder that the app watches, first under another name. It gets its own
name once its SHA-256 is right, so the app never sees half of it. Where adb may not write there, two other
ways are tried.
"""

import re
import shutil
import subprocess
import time
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from qa.base.errors import DeviceError
from qa.base.files import file_sha256
from qa.runtime.package import Package

APP = "org.pocketqa.app"
SCREEN = f"{APP}/.MainActivity"
INBOX = f"/sdcard/Android/data/{APP}/files"  # the app's getExternalFilesDir
PRIVATE_INBOX = "files/inbox"  # seen from run-as, in the app's private storage
PARTIAL = ".part"  # the app looks at *.tflite only
# until the app, just started, has made its folder
FOLDER_TRIES = 20
FOLDER_PAUSE_S = 0.5
INSTALL = "install it: cd android_demo && ./gradlew :app:installDebug"
PICK = "copy the file to the phone and choose it in the app, under Models"


def phone_name(package: Package) -> str:
    """Return the name on the phone, <name>-<precision>.tflite, without special characters of a shell.

    A mark tells names apart that differ in such characters only.
    """
    name = f"{package.info['name']}-{package.info['precision']}"
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("._-")
    mark = "" if plain == name else f"-{zlib.crc32(name.encode()):08x}"
    return f"{plain}{mark}.tflite"


class Refused(Exception):
    """adb, or a command on the phone, failed with this text."""


def run_adb(*arguments: str) -> str:
    """Run adb and return what it printed.

    Raises Refused with its output when it fails, DeviceError when there is no adb or no phone any more.
    """
    if shutil.which("adb") is None:
        raise DeviceError("adb not found; install Android's platform tools (on Debian: apt-get install adb)")
    done = subprocess.run(["adb", *arguments], capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        said = " ".join(f"{done.stdout}\n{done.stderr}".split())
        said = said or f"{' '.join(arguments)} failed without a word"
        gone = r"device '.*' not found|device offline|no devices|cannot connect|failed to (start|check)"
        if re.search(gone, said):
            raise DeviceError(f"adb lost the phone ({said}); plug it in again and repeat the command")
        raise Refused(said)
    return done.stdout


def choose_device(listing: str, serial: str | None) -> str:
    """Return the serial number of the phone to use, from `adb devices`; DeviceError when there is none."""
    states = dict(line.split("\t", 1) for line in listing.splitlines() if "\t" in line)
    if serial is not None and serial not in states:
        raise DeviceError(
            f"--serial {serial}: no such device; adb devices shows {', '.join(states) or 'none'}"
        )
    if not states:
        raise DeviceError(
            "adb sees no phone; plug one in, switch on USB debugging in its developer options, and try again"
        )
    if serial is None and len(states) > 1:
        raise DeviceError(f"adb sees {len(states)} devices: {', '.join(states)}; choose one with --serial")
    chosen = serial or next(iter(states))
    state = states[chosen].strip()
    if state == "unauthorized":
        raise DeviceError(
            f"{chosen} has not allowed this computer yet; unlock the phone, answer its question, and try "
            "again"
        )
    if state != "device":
        raise DeviceError(f"{chosen} is {state}, not ready; plug it in again, or run: adb kill-server")
    return chosen


@dataclass(frozen=True)
class Phone:
    """One phone behind adb."""

    serial: str

    def adb(self, *arguments: str) -> str:
        """Run an adb command for this phone and return what it printed; Refused when it fails."""
        return run_adb("-s", self.serial, *arguments)

    def shell(self, command: str) -> str:
        """Run a command line on the phone and return what it printed; Refused when it fails there."""
        return self.adb("shell", command)

    def check_installed(self) -> None:
        """Raise DeviceError when the app is not on the phone."""
        try:
            self.shell(f"pm path {APP}")
        except Refused:
            raise DeviceError(f"{APP} is not installed on {self.serial}; {INSTALL}") from None

    def open_app(self, model: str | None = None) -> None:
        """Bring the app to the front, on a model of its inbox if one is named."""
        said = self.shell(f"am start -n {SCREEN}" + (f" --es model {model}" if model else ""))
        if "Error" in said:
            raise Refused(" ".join(said.split()))

    def wait_for_inbox(self) -> None:
        """Wait until the app has made its folder; Refused when it does not.

        From Android 11 on only the app itself can make it, and does at its start.
        """
        for _ in range(FOLDER_TRIES):
            try:
                self.shell(f"ls -d {INBOX}")
                return
            except Refused:
                time.sleep(FOLDER_PAUSE_S)
        raise Refused(f"the app made no folder {INBOX}")


@dataclass(frozen=True)
class Route:
    """One way to the app: where adb writes, and how the file is handed over."""

    name: str
    pushed: str
    deliver: str
    leftover: str = ""
    """Command that removes what a failed delivery leaves in another place."""


def routes(name: str) -> tuple[Route, ...]:
    """Return all ways, the simplest first."""
    partial = f"{INBOX}/{name}{PARTIAL}"
    download = f"/sdcard/Download/{name}{PARTIAL}"
    temporary = f"/data/local/tmp/{name}"
    private = f"{PRIVATE_INBOX}/{name}"
    copy = f"mkdir -p {PRIVATE_INBOX} && cat > {private}{PARTIAL} && mv {private}{PARTIAL} {private}"
    return (
        # adb keeps the time of the file here, and the app tells a new file by its time.
        Route("its folder", partial, f"touch {partial}; mv {partial} {INBOX}/{name}"),
        # adbd gives up where it may not change a file's owner; a move does not try.
        Route("Download", download, f"touch {download}; mv {download} {INBOX}/{name}"),
        # For a debug build only. run-as may not read /data/local/tmp, so the file comes through a pipe,
        # inside quotes.
        Route(
            "run-as",
            temporary,
            f"cat {temporary} | run-as {APP} sh -c '{copy}' && rm -f {temporary}",
            f"; run-as {APP} rm -f {private}{PARTIAL}",
        ),
    )


def send(phone: Phone, file: Path, name: str) -> str:
    """Push the file by the first way that works; return the way's name.

    DeviceError when none works or the phone is full.
    """
    wanted = file_sha256(file)
    reasons = []
    for route in routes(name):
        try:
            phone.adb("push", str(file), route.pushed)
            seen = phone.shell(f"sha256sum {route.pushed}").split(" ")[0]
            if seen != wanted:
                raise DeviceError(
                    f"{name} arrived damaged on {phone.serial}: SHA-256 {seen}, here {wanted}; try another "
                    "cable"
                )
            phone.shell(route.deliver)
            return route.name
        except (Refused, DeviceError) as failed:
            with suppress(Refused):  # why it failed stands in the error
                phone.shell(f"rm -f {route.pushed}{route.leftover}")
            if isinstance(failed, DeviceError):
                raise
            if "No space left" in str(failed):
                needed = f"{file.stat().st_size / 1e6:.0f} MB, and as much again for the app's copy"
                raise DeviceError(
                    f"{phone.serial} has no room for {name} ({needed}); free some and try again"
                ) from None
            reasons.append(f"{route.name}: {failed}")
    raise DeviceError(f"adb could not put {name} on {phone.serial} ({'; '.join(reasons)}); {PICK}")


def push(file: Path, package: Package, serial: str | None) -> None:
    """Send a packaged model to the phone, open the app on it, and print what to tap.

    DeviceError when that fails.
    """
    name = phone_name(package)
    try:
        phone = Phone(choose_device(run_adb("devices"), serial))
        phone.check_installed()
        phone.open_app()
        phone.wait_for_inbox()
        way = send(phone, file, name)
        phone.open_app(name)
    except Refused as refused:
        raise DeviceError(f"adb failed: {refused}") from None
    print(f"{name} is on {phone.serial} (by {way}), its SHA-256 is that of {file}")
    print(
        "The app is loading it. Tap a suggested question, or type one and tap Ask; Models, in its menu, "
        "lists all models."
    )
