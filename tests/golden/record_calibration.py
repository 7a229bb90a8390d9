"""Record calibrated probabilities and the decisions of each mode, for Java and JavaScript to repeat.

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
    """Scores, a null score and settings."""
    scores = sorted((np.round(rng.normal(0, 6, rng.integers(1, 21)) / STEP) * STEP).tolist(), reverse=True)
    threshold = round(float(rng.normal(-1, 3)) / STEP) * STEP
    difference = threshold if number % 10 == 0 else round(float(rng.normal(-1, 8)) / STEP) * STEP
    if number % 17 == 0:
        difference *= 1000
    calibration = Calibration(round(float(rng.uniform(0.2, 9)), 3), round(float(rng.normal(0, 5)), 3))
    strict = threshold - round(float(rng.uniform(0, 9)) / STEP) * STEP
    settings = QASettings(null_threshold=threshold, strict_threshold=strict, calibration=calibration)
    return scores, scores[0] + difference, settings


def expected(scores, null_score, settings):
    """Return the probabilities that Python computes for a row."""
    candidates = tuple(Candidate(score, 2 * i, 2 * i + 1) for i, score in enumerate(scores))
    prediction = Prediction(candidates, null_score)
    options = dict(prediction.options(None, settings.calibration))
    return {
        "answered": {
            mode: prediction.best(settings.in_mode(mode).null_threshold) is not None
            for mode in get_args(Mode)
        },
        "probabilities": [options[candidate] for candidate in candidates],
        "no_answer": prediction.no_answer_probability(settings.calibration),
    }


def main():
    """Write the file."""
    rng = np.random.default_rng(4)
    rows = []
    for number in range(N_ROWS):
        scores, null_score, settings = made_row(rng, number)
        given = {"scores": scores, "null_score": null_score, "settings": settings.to_dict()}
        rows.append(json.dumps(given | expected(scores, null_score, settings)))
    OUT.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="ascii")


if __name__ == "__main__":
    main()
