"""Publish a page that answers in the browser: a folder with the model, for any static host.

    python -m export.web --model runs/page/student-tflite-int8 --out runs/web

The runtime, LiteRT.js, comes from npm; `make web` installs it.
"""

from qa.base.commands import run_command

if __name__ == "__main__":
    run_command("export web")
