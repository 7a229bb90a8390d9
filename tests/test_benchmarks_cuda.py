"""The GPU as a target, as far as a machine without one goes: what is measured, at which precision, and how it is refused."""

import numpy as np
import pytest
import torch

from benchmarks import compare
from benchmarks.compare import CompareConfig
from benchmarks.subjects import find_subjects
from benchmarks.targets import cuda as cuda_subjects
from benchmarks.targets.cuda_adapter import load_pytorch
from qa.errors import OptionError
from qa.runtimes import load_runtime


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_without_a_gpu_the_target_is_refused(make_bundle, tmp_path):
    with pytest.raises(OptionError, match=r"--target cuda: PyTorch .* sees no NVIDIA GPU here"):
        compare.main(CompareConfig((make_bundle(),), target="cuda", rows=tmp_path / "rows.jsonl"))
    assert list(tmp_path.iterdir()) == []


def test_a_pytorch_bundle_is_measured_in_three_precisions(make_bundle, tiny_export, monkeypatch):
    paths = (make_bundle(), tiny_export("onnx").path, tiny_export("tflite").path)
    for has_cuda, wanted in ((False, ["fp32", "fp16", "bf16"]), (True, ["fp32", "fp16", "bf16", "fp32"])):
        monkeypatch.setattr(cuda_subjects, "onnx_has_cuda", lambda has=has_cuda: has)
        bundles = find_subjects(paths, (), "a command")
        found = cuda_subjects.cuda_subjects(bundles)
        assert [subject.facts["precision"] for subject in found] == wanted
        assert len({subject.sha256 for subject in found}) == len(found)
        assert found[0] is bundles[0]
        assert found[1].facts["size_bytes"] == found[0].facts["size_bytes"] // 2
        assert found[1].facts["parent_sha256"] == found[0].sha256
    with pytest.raises(OptionError, match="none of the bundles computes on a GPU"):
        cuda_subjects.cuda_subjects(find_subjects(paths[2:], (), "a command"))


def test_half_precision_is_near_and_comes_back_in_fp32(make_bundle):
    path = make_bundle()
    ids = np.arange(1000, 1048).reshape(2, 24)
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    exact = load_pytorch(path, 1, "fp32", "cpu").call(inputs)
    np.testing.assert_array_equal(exact[0], load_runtime(find_subjects((path,), (), "")[0].bundle, 1)(inputs)[0])
    model = load_pytorch(path, 1, "bf16", "cpu")
    near = model.call(inputs)
    assert near[0].dtype == np.float32
    assert 0 < np.abs(near[0] - exact[0]).max() < 0.3 * exact[0].std()
    assert model.runtime.endswith("CPU")
