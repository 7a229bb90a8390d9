"""Material that all torture shares."""

import pytest
from material import make_material

import qa


@pytest.fixture(scope="session")
def material(tmp_path_factory):
    """A folder with an encoder, questions, and a bundle of every format."""
    folder = tmp_path_factory.mktemp("torture") / "material"
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
