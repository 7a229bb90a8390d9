"""Bundles opened by other tools, each in its own environment, for tests that compare what they compute with
what we do."""

import json
import os
import subprocess

from places import ROOT, SUPPORT

COMMANDS = {
    "optimum": [
        str(ROOT / ".venv-toolchains" / "optimum" / "bin" / "python"),
        str(SUPPORT / "optimum_logits.py"),
    ],
    "transformers.js": ["node", str(ROOT / "tests" / "transformers_js" / "logits.mjs")],
}


def open_elsewhere(tool, tasks):
    """For each task {bundle, windows, question, passage} what `tool` computes; `make system-test` installs
    the tools.

    The result has `windows`, the (start, end) logits of the windows given; and of question and passage, cut
    by the tool's own tokenizer, `input_ids`, `token_type_ids` and `logits`; transformers.js also tells its
    pipeline's `answer`.
    """
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        COMMANDS[tool], input=json.dumps(tasks), env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
