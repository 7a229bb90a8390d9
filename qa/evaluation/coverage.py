"""Coverage of a model: how many questions it can answer at a given accuracy (Kamath et al. 2020).

Risk-coverage: of all questions, those with the most probable answers are answered, and the others declined.
"""

from collections.abc import Sequence

import numpy as np

from qa.data.squad import Example
from qa.evaluation.calibration import is_right
from qa.text.answers import Prediction
from qa.text.settings import QASettings

ACCURACY = 0.8


def coverage(examples: Sequence[Example], predictions: Sequence[Prediction], settings: QASettings) -> float:
    """Return the share of questions, in percent, that can be answered with ACCURACY right answers.

    `qa.evaluation.calibration` says which are right. Of equal probabilities, all are answered or none.
    """
    pairs = [(e, p) for e, p in zip(examples, predictions, strict=True) if p.candidates]
    if not pairs:
        return 0.0
    probabilities = np.array(
        [p.best_probability(settings.null_threshold, settings.calibration) for _, p in pairs]
    )
    right = np.array([is_right(e, p.candidates[0]) for e, p in pairs])
    order = np.argsort(-probabilities)
    accuracy = right[order].cumsum() / np.arange(1, len(pairs) + 1)
    is_last_of_equals = np.append(np.diff(probabilities[order]) != 0, True)
    (enough,) = np.nonzero(is_last_of_equals & (accuracy >= ACCURACY))
    return 100 * (int(enough[-1]) + 1) / len(examples) if len(enough) else 0.0
