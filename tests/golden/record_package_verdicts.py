"""Record which of the mutated packages the app's Java core opens, for the core, the page and Python to repeat.

PYTHONPATH=tests/support python tests/golden/record_package_verdicts.py
"""

import gzip
import json
import tempfile
from pathlib import Path

from package_faults import VERDICTS, core_verdicts, mutated_files


def main():
    """Write a line for each file: what was done to it, and the core's verdict."""
    with tempfile.TemporaryDirectory() as folder:
        files = mutated_files(Path(folder))
        verdicts = core_verdicts(files)
    rows = [[what, verdicts[path] == "ok"] for path, what in files.items()]
    text = "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n"
    VERDICTS.write_bytes(gzip.compress(text.encode("ascii"), mtime=0))


if __name__ == "__main__":
    main()
