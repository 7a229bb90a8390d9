"""Where things lie in the checkout."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
GOLDEN = TESTS / "golden"
SAMPLES = TESTS / "samples"
SUPPORT = TESTS / "support"
