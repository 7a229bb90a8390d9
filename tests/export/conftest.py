"""The student with a signature for each length, exported once: neither LiteRT.js nor LiteRT's C library resizes."""

import pytest
from page_model import export_page_model


@pytest.fixture(scope="session")
def page_model(tmp_path_factory):
    """The student's int8 TFLite bundle."""
    return export_page_model(tmp_path_factory.mktemp("page-model"))
