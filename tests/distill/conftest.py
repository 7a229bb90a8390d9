"""Fixtures that tests of training share."""

import pytest


@pytest.fixture(scope="session")
def windows(windows):
    """Few windows: a step costs seconds."""
    return windows[:12]
