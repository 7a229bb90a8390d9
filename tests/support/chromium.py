"""A page in headless Chromium, driven over the DevTools protocol through a pipe: no library, no port."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

TIMEOUT_S = 600  # of a whole browser's life, however slow the machine: a hanging one is killed, and the pipe then ends


class Page:
    """One tab. `errors`: uncaught exceptions, console errors and violations of the page's policy; `requests`:
    addresses asked."""

    def __init__(self, to_browser, from_browser):
        self._to = to_browser
        self._from = from_browser
        self._n_sent = 0
        self._session = None
        self._received = b""
        self.errors = []
        self.requests = []
        self._loaded = False
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method, **parameters):
        """Call a method of the protocol and return its result."""
        self._n_sent += 1
        message = {"id": self._n_sent, "method": method, "params": parameters}
        message |= {"sessionId": self._session} if self._session else {}
        self._to.write(json.dumps(message).encode() + b"\0")
        self._to.flush()
        while (answer := self._receive()).get("id") != self._n_sent:
            self._note(answer)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def _receive(self):
        while b"\0" not in self._received:
            more = self._from.read1()
            if not more:
                raise AssertionError("Chromium ended")
            self._received += more
        message, self._received = self._received.split(b"\0", 1)
        return json.loads(message)

    def _note(self, event):
        parameters = event.get("params", {})
        match event.get("method"):
            case "Page.loadEventFired":
                self._loaded = True
            case "Runtime.exceptionThrown":
                self.errors.append(
                    parameters["exceptionDetails"].get("exception", {}).get("description", "exception")
                )
            case "Runtime.consoleAPICalled" if parameters["type"] in ("error", "warning", "assert"):
                self.errors.append(str(parameters["args"]))
            case "Log.entryAdded" if parameters["entry"]["level"] in ("error", "warning"):
                self.errors.append(parameters["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])

    def open(self, place, *, width=1200, height=900, scale=1, dark=False, scripts=True):
        """Load a file or an address in a window of this size (CSS pixels)."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=width < 600,
        )
        self.send(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )
        self.send("Emulation.setScriptExecutionDisabled", value=not scripts)
        self._loaded = False
        self.send("Page.navigate", url=place if "://" in str(place) else Path(place).absolute().as_uri())
        while not self._loaded:
            self._note(self._receive())

    def run(self, script):
        """The value of a JavaScript expression, or of what it promises."""
        found = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise AssertionError(found["exceptionDetails"]["exception"]["description"])
        return found["result"].get("value")

    def choose_file(self, selector, path):
        """Put a file into an input of type file, as its dialog does."""
        root = self.send("DOM.getDocument")["root"]["nodeId"]
        node = self.send("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.send("DOM.setFileInputFiles", nodeId=node, files=[str(path)])

    def screenshot(self, path):
        """The whole page as a PNG."""
        Path(path).write_bytes(
            base64.b64decode(self.send("Page.captureScreenshot", captureBeyondViewport=True)["data"])
        )


@contextmanager
def chromium(timeout_s=TIMEOUT_S):
    """A Page in a browser of its own, without a profile and without a network of its own accord."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    assert program, "the page is tested in Chromium: apt-get install chromium"
    pipes = [*os.pipe(), *os.pipe()]
    # Chromium reads from descriptor 3 and writes to 4; numbers far from these keep the shell from closing one
    # for another.
    browser_in, to_browser, from_browser, browser_out = (
        fcntl.fcntl(pipe, fcntl.F_DUPFD_CLOEXEC, 10) for pipe in pipes
    )
    for pipe in pipes:
        os.close(pipe)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        words = [
            "timeout",
            str(timeout_s),
            program,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--no-first-run",
            "--remote-debugging-pipe",
            f"--user-data-dir={profile}",
        ]
        shell = ["bash", "-c", f'exec "$@" 3<&{browser_in} 4>&{browser_out}', "bash", *words]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(shell, pass_fds=(browser_in, browser_out), **quiet)
        os.close(browser_in)
        os.close(browser_out)
        try:
            with os.fdopen(to_browser, "wb") as output, os.fdopen(from_browser, "rb") as source:
                yield Page(output, source)
        finally:  # the pipe's end is Chromium's end
            process.wait(timeout_s)
