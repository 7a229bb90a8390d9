"""Parameters of a test that every run tries, and others that only -m system tries; among them the thirteen heads."""

import pytest

from qa.models.heads import HEADS

# layers of units, the pointer's LSTM, convolutions: an exporter meets no other operators in the rest
FAMILIES = ("4l-gelu-skip", "pointer", "qermit-cnn-multi-highway")


def quick(*parameters, rest=()):
    """Parameters of a test: these in every run, the rest with -m system, for they are slow and show the same."""
    later = [one if isinstance(one, tuple) else (one,) for one in rest]
    return [*parameters, *(pytest.param(*one, marks=pytest.mark.system) for one in later)]


EVERY_HEAD = quick(*FAMILIES, rest=[head for head in HEADS if head not in FAMILIES])
