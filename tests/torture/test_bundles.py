"""Damaged bundles, sealed again so that their hashes fit, as a hostile author would make them.

A damaged bundle is refused or answers; weights that compute something else are refused. A file may end the
process of its runtime: then `load(..., isolated=True)` must say so.
"""

import json
import shutil

import bundle_use
import numpy as np
import pytest
from amounts import tries
from forks import Fork
from hypothesis import given
from hypothesis import strategies as st
from strategies import damaged, damaged_bytes

from qa.base.files import file_sha256
from qa.formats.precision import PRECISIONS
from qa.runtime.probe import relative_difference

ROOM = 2  # beyond the probe's tolerance: other windows than the probe's may differ by more
REFUSED = 3


def refusing(use, *arguments):
    """Use a bundle; exit code REFUSED where it is refused in one line."""
    from qa.base.errors import PocketQAError

    try:
        use(*arguments)
    except PocketQAError as error:
        raise SystemExit(REFUSED if "\n" not in str(error) else 1) from None


@pytest.mark.parametrize("name", ["student", "onnx-fp32", "onnx-int8", "tflite-fp32", "tflite-int8"])
def test_a_damaged_bundle_is_refused_or_answers(material, tmp_path, name):
    files = sorted(json.loads((material / name / "manifest.json").read_bytes())["files"])
    weights = next(file for file in files if file.startswith("model."))
    path = tmp_path / "bundle"
    computed = tmp_path / "computed.npy"

    def end(*call):
        return Fork(refusing, *call, folder=tmp_path, scratch=tmp_path).finish(120)

    # A PyTorch model is what its weights say; only an export has other logits to be compared with.
    judged = name != "student"
    if judged:
        assert end(bundle_use.save_logits, material / name, computed)[0] == 0
        expected = np.load(computed)

    @tries(300)
    @given(st.data(), st.booleans() | st.sampled_from([*files, "manifest.json"]))
    def check(data, chosen):
        file = chosen if isinstance(chosen, str) else weights
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(material / name, path)
        raw = (path / file).read_bytes()
        damage = damaged if file.endswith(".json") and raw.lstrip()[:1] in (b"{", b"[") else damaged_bytes
        (path / file).write_bytes(data.draw(damage(raw)))
        if file != "manifest.json":
            manifest = json.loads((path / "manifest.json").read_bytes())
            manifest["files"] = {other: file_sha256(path / other) for other in files}
            (path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        if judged and file == weights:
            code, stderr = end(bundle_use.save_logits, path, computed)
            if code == 0:
                away = relative_difference(expected, np.load(computed))
                assert away <= ROOM * PRECISIONS[name.rpartition("-")[2]].probe_tolerance
        else:
            code, stderr = end(bundle_use.answer, path, material / "questions.json", False)
        if code < 0:
            code, stderr = end(bundle_use.answer, path, material / "questions.json", True)
            assert code == REFUSED, f"ended a process, and isolated: {stderr}"
        assert code in (0, REFUSED), stderr

    check()
