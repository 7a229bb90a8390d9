"""Where things lie: in the checkout, and what processes of a run share."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
GOLDEN = TESTS / "golden"
SAMPLES = TESTS / "samples"
SUPPORT = TESTS / "support"


def shared_folder(tmp_path_factory):
    """The folder of a run's temporary files that is the same in all its processes."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
