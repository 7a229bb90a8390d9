"""The thirteen heads as parameters of a test: one of each family in every run, the others with -m system."""

import pytest

from qa.models.heads import HEADS

# layers of units, the pointer's LSTM, convolutions: an exporter meets no other operators in the rest
FAMILIES = ("4l-gelu-skip", "pointer", "qermit-cnn-multi-highway")


def every_head(*quick):
    """Return all heads; those that are not `quick` are for system tests."""
    return [head if head in quick else pytest.param(head, marks=pytest.mark.system) for head in HEADS]


EVERY_HEAD = every_head(*FAMILIES)
