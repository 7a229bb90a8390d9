"""A folder of packages as on a board that lacks a runtime."""

import pytest


@pytest.fixture
def poor_site(bare_site, tmp_path):
    """A folder with numpy, but no runtime."""
    site = tmp_path / "site"
    site.mkdir()
    for name in ("numpy", "numpy.libs"):
        (site / name).symlink_to(bare_site / name)
    return site
