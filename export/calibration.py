"""Windows on which ranges of activations are measured: training questions, never those that a model is scored
on."""

from qa.base.sampling import evenly
from qa.bundles.bundle import Bundle
from qa.data.datasets import EMBEDDED, resolve
from qa.data.squad import read_squad
from qa.text.features import Window, make_windows


def calibration_windows(bundle: Bundle, n: int) -> list[Window]:
    """`n` windows of the shipped training excerpt, cut as this model wants them."""
    examples = read_squad(resolve(EMBEDDED, "train"))
    chosen = [examples[i] for i in evenly(len(examples), n)]
    return make_windows(chosen, bundle.tokenizer, bundle.settings)[:n]
