"""Record probabilities and decisions of each mode, with a calibration and without, for Java and JavaScript to repeat.

    python tests/golden/record_calibration.py

writes tests/golden/calibration.json; Python's own test checks it too. Scores are multiples of 1/64, and some
differences lie exactly on a threshold.
"""

import json
from pathlib import Path
from typing import get_args

import numpy as np

from qa.text.answers import Candidate, Prediction
from qa.text.settings import Calibration, Mode, QASettings

OUT = Path(__file__).parent / "calibration.json"
N_ROWS = 120
STEP = 1 / 64


def made_row(rng, number):
    """Candidates (score and share), a null score and settings."""
    n = int(rng.integers(1, 9))
    scores = sorted((np.round(rng.normal(0, 6, n) / STEP) * STEP).tolist(), reverse=True)
    shares = np.round(rng.dirichlet(np.ones(n + 1))[:n], 6).tolist()
    threshold = round(float(rng.normal(-1, 3)) / STEP) * STEP
    difference = threshold if number % 10 == 0 else round(float(rng.normal(-1, 8)) / STEP) * STEP
    if number % 17 == 0:
        difference *= 1000
    calibration = Calibration(round(float(rng.uniform(0.2, 9)), 3), round(float(rng.normal(0, 5)), 3))
    strict = threshold - round(float(rng.uniform(0, 9)) / STEP) * STEP
    settings = QASettings(
        null_threshold=threshold,
        strict_threshold=strict,
        calibration=None if number % 4 == 3 else calibration,
    )
    return list(zip(scores, shares, strict=True)), scores[0] + difference, settings


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
    rng = np.random.default_rng(4)
    rows = []
    for number in range(N_ROWS):
        candidates, null_score, settings = made_row(rng, number)
        given = {"candidates": candidates, "null_score": null_score, "settings": settings.to_dict()}
        rows.append(json.dumps(given | {"modes": expected(given)}))
    OUT.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="ascii")


if __name__ == "__main__":
    main()
