"""An adb on PATH that replays steps, each (call, stdout[, stderr, exit code])."""

import json
import stat
import sys
from contextlib import contextmanager

from places import SUPPORT


@contextmanager
def replayed(steps, folder, monkeypatch):
    """Put the adb into a folder, the only one on PATH; all steps must have been called at the end."""
    keys = ("called", "stdout", "stderr", "code")
    script = [dict(zip(keys, (*step, *("", 0)[len(step) - 2 :]), strict=True)) for step in steps]
    (folder / "transcript.json").write_text(json.dumps(script), encoding="utf-8")
    adb = folder / "adb"
    adb.write_text(f"#!{sys.executable}\n" + (SUPPORT / "scripted_adb.py").read_text(encoding="utf-8"))
    adb.chmod(adb.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(folder))
    try:
        yield
    finally:
        done = (folder / "done").read_text(encoding="utf-8").splitlines()
        assert done == [step[0] for step in steps], "calls left out"
