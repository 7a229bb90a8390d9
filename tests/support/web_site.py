"""The published page on a port of this machine, and what a visitor does with it in Chromium."""

import functools
import http.server
import json
import threading
import time
from contextlib import contextmanager

PHONE = {"width": 390, "height": 844, "scale": 2}
WAIT_S = 300
DECLINED = ("No answer in this text", "No sure answer in this text")
ANSWER = "Thursday, 14 May"  # to the first question of the first sample
# What LiteRT.js prints on every start, on a machine without a GPU.
CHATTER = ("INFO: ", "WARNING: [npu_registry", "default WebGPU device", "No available adapters")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextmanager
def served(folder):
    """The address of a folder's server."""
    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def wait(page, condition):
    """Until a JavaScript expression, or what it promises, is true."""
    end = time.monotonic() + WAIT_S
    while not page.run(f"(async () => Boolean(await ({condition})))()"):
        assert time.monotonic() < end, (
            f"{condition}: not in {WAIT_S} s; {page.run('document.body.innerText')}"
        )
        time.sleep(0.05)


def text(page, selector):
    return page.run(f"document.querySelector({json.dumps(selector)}).innerText")


def opened(page, url, **screen):
    """The page, once it has a model or a problem."""
    page.open(url, **(PHONE | screen))
    wait(page, "!document.querySelector('#ask').disabled || !document.querySelector('#problem').hidden")
    return page


def fill(page, passage, question):
    """Type a text and a question."""
    for name, value in {"passage": passage, "question": question}.items():
        page.run(
            f"""(() => {{ const field = document.querySelector('#{name}'); field.value = {json.dumps(value)};
            field.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()"""
        )


def ask(page, suggestion=None):
    """Press Ask, or a suggested question; the answer, or None where there is none in the text."""
    button = "'#ask'" if suggestion is None else f"'#suggestions button:nth-of-type({suggestion + 1})'"
    page.run(f"document.querySelector({button}).click()")
    wait(page, "document.querySelector('#times').textContent")
    best = page.run("document.querySelector('#best').firstChild.textContent")
    return None if best in DECLINED else best


def choose_model(page, path=None):
    """Open a packaged file, or the page's own again, and wait until it is in use."""
    if path is None:
        page.run("document.querySelector('#shipped').click()")
    else:
        page.choose_file("#model-file", path)
    name = "the page's own" if path is None else path.name
    wait(page, f"document.querySelector('#facts').textContent.includes({json.dumps(name)})")


def choose_mode(page, mode):
    page.run(f"document.querySelector('#mode').value = {json.dumps(mode)}")


def press(page, key, code):
    for kind in ("rawKeyDown", "char", "keyUp"):
        page.send(
            "Input.dispatchKeyEvent",
            type=kind,
            key=key,
            windowsVirtualKeyCode=code,
            text="\r" if code == 13 else "",
        )


def unexpected(errors):
    return [error for error in errors if not any(known in error for known in CHATTER)]
