"""Record probabilities and decisions of each mode, with a calibration and without, for Java and JavaScript to repeat.

    python tests/golden/record_calibration.py

computes the modes of the rows of tests/golden/calibration.json again; Python's own test checks them too.
Scores are multiples of 1/64, and some differences lie exactly on a threshold.
"""

import json
from pathlib import Path
from typing import get_args

from qa.text.answers import Candidate, Prediction
from qa.text.settings import Mode, QASettings

OUT = Path(__file__).parent / "calibration.json"


def expected(row):
    """Return what Python computes for a row in each mode."""
    settings = QASettings.from_json(json.dumps(row["settings"]), "row")
    values = enumerate(row["candidates"])
    candidates = tuple(Candidate(score, 2 * i, 2 * i + 1, share) for i, (score, share) in values)
    prediction = Prediction(candidates, row["null_score"])
    modes = {}
    for mode in get_args(Mode):
        threshold = settings.in_mode(mode).null_threshold
        options = dict(prediction.options(threshold, settings.calibration))
        modes[mode] = {
            "answered": prediction.best(threshold) is not None,
            "no_answer": prediction.no_answer_probability(threshold, settings.calibration),
            "probabilities": [options[candidate] for candidate in candidates],
        }
    return modes


def main():
    """Write the file."""
    rows = [json.dumps(row | {"modes": expected(row)}) for row in json.loads(OUT.read_bytes())]
    OUT.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="ascii")


if __name__ == "__main__":
    main()
