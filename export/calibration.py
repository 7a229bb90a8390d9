"""Windows on which ranges of activations are measured: training questions, never those of an evaluation."""

from qa.base.sampling import evenly
from qa.bundles.bundle import Bundle
from qa.data.datasets import EMBEDDED, resolve
from qa.data.squad import read_squad
from qa.text.features import Window, make_windows


def calibration_windows(bundle: Bundle, n: int) -> list[Window]:
    """Return `n` windows of the shipped training excerpt, cut with the model's settings."""
    examples = read_squad(resolve(EMBEDDED, "train"))
    chosen = [examples[i] for i in evenly(len(examples), n)]
    return make_windows(chosen, bundle.tokenizer, bundle.settings)[:n]
