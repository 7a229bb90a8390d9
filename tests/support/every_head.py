"""The thirteen heads as parameters of a test: one of each family in every run, the others with -m system."""

import pytest

from qa.models.heads import HEADS

# layers of units, the pointer's LSTM, convolutions: an exporter meets no other operators in the rest
FAMILIES = ("4l-gelu-skip", "pointer", "qermit-cnn-multi-highway")
EVERY_HEAD = [head if head in FAMILIES else pytest.param(head, marks=pytest.mark.system) for head in HEADS]
