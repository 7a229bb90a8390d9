"""The student with a signature for each length, as neither LiteRT.js nor LiteRT's C library resizes, and
packages with a member that takes more bytes packed than unpacked."""

import struct
import zlib

import pytest
from package_faults import RECORDED, packaged
from page_model import export_page_model
from places import alone, shared_folder

from qa.base.shipped import ASKED
from qa.bundles.bundle import open_bundle


@pytest.fixture(scope="session")
def page_model(tmp_path_factory):
    """The student's int8 TFLite bundle."""
    folder = shared_folder(tmp_path_factory) / "page-model"
    with alone(folder.with_suffix(".lock")):
        made = folder / ASKED
        return open_bundle(made) if made.exists() else export_page_model(folder)


@pytest.fixture
def padded(tmp_path):
    """A function: a whole file whose qa.json takes `extra` bytes more packed than unpacked, by empty blocks."""

    def make(extra):
        info = RECORDED["qa.json"]
        packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        deflated = packer.compress(info) + packer.flush()
        n_blocks = (len(info) + extra - len(deflated)) // 5
        members = RECORDED | {"qa.json": n_blocks * b"\0\0\0\xff\xff" + deflated}
        path = packaged(tmp_path / f"padded-{extra}.tflite", members)
        data = bytearray(path.read_bytes())
        (directory,) = struct.unpack_from("<I", data, len(data) - 6)
        struct.pack_into("<H", data, directory + 10, 8)  # deflated
        struct.pack_into("<I", data, directory + 16, zlib.crc32(info))
        struct.pack_into("<I", data, directory + 24, len(info))
        path.write_bytes(data)
        return path

    return make
