"""Material that all torture shares."""

import os
from pathlib import Path

import pytest
from material import make_material
from places import alone, shared_folder

import qa

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Count tests that need the material, a minute's work, as system tests, except in make torture."""
    for item in items:
        of_here = HERE in item.path.parents and "material" in item.fixturenames
        if of_here and "TORTURE" not in os.environ and not item.get_closest_marker("jvm"):
            item.add_marker(pytest.mark.system)


@pytest.fixture(scope="session")
def material(tmp_path_factory):
    """A folder with an encoder, questions, and a bundle of every format."""
    folder = shared_folder(tmp_path_factory) / "material"
    with alone(folder.with_suffix(".lock")):
        make_material(folder)
    return folder


@pytest.fixture(scope="session")
def load(material):
    """A function that loads a bundle of the material once."""
    loaded = {}

    def load_once(name):
        if name not in loaded:
            loaded[name] = qa.load(material / name, threads=1)
        return loaded[name]

    return load_once
