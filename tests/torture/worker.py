"""Runs cases of one sort as their numbers come on standard input; one line of JSON each on standard output.

python worker.py SORT MATERIAL SCRATCH SEED
"""

import json
import os
import sys
from pathlib import Path

from sorts import SORTS


def main() -> None:
    """Until there are no more numbers."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer
    name, material, scratch, seed = sys.argv[1:]
    sort = SORTS[name](Path(material), int(seed), Path(scratch))
    for line in sys.stdin:
        print(json.dumps(sort.run(int(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
