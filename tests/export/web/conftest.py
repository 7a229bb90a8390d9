"""The page's model, exported once for all tests."""

import pytest
from page_model import export_page_model


@pytest.fixture(scope="session")
def page_model(tmp_path_factory):
    """The student's TFLite bundle with a signature for each length."""
    return export_page_model(tmp_path_factory.mktemp("page-model"))
