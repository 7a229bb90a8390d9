"""An adb that replays transcript.json of the folder it lies in: each call must be the next of it."""

import json
import sys
from pathlib import Path

folder = Path(sys.argv[0]).parent
steps = json.loads((folder / "transcript.json").read_text(encoding="utf-8"))
done = folder / "done"
n = len(done.read_text(encoding="utf-8").splitlines()) if done.exists() else 0
called = " ".join(sys.argv[1:])
if n == len(steps) or called != steps[n]["called"]:
    sys.exit(f"not in the transcript at {n}: {called}")
with done.open("a", encoding="utf-8") as file:
    file.write(called + "\n")
print(steps[n]["stdout"], end="")
print(steps[n]["stderr"], end="", file=sys.stderr)
sys.exit(steps[n]["code"])
