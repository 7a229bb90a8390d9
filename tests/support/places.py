"""Where things lie in the checkout."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
GOLDEN = TESTS / "golden"
SAMPLES = TESTS / "samples"
SUPPORT = TESTS / "support"
PACKAGES = ("qa", "distill", "compress", "export", "benchmarks")


def sources():
    """Every Python file of the product."""
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
