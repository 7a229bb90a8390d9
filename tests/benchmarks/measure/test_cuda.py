"""The GPU as a target, as far as a machine without one goes: what is measured, at which precision, and how it
is refused."""

import shutil
from dataclasses import replace

import numpy as np
import onnxruntime as ort
import pytest
import torch
from comparisons import rebundle

from benchmarks import measure_and_show, resolve
from benchmarks.measure import cuda
from benchmarks.measure.accuracy import answers_path, relations, save_answers
from benchmarks.measure.cuda import gpu_models
from benchmarks.measure.cuda_adapter import load_pytorch
from benchmarks.measure.models import find_models
from benchmarks.measure.run import Run
from benchmarks.options import CompareOptions
from benchmarks.results.files import ResultFile
from benchmarks.results.rows import Accuracy, Data, Machine, Runtime
from compress.cast import CAST_PRECISIONS, CastOptions
from compress.cast import cast as store
from qa.base.errors import OptionError
from qa.bundles.bundle import open_bundle
from qa.data.squad import Answer, Example
from qa.models.model import QAModel
from qa.runtime.engines import OnnxRuntime
from qa.runtime.runtimes import load_runtime


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_without_a_gpu_the_target_is_refused(make_bundle, tmp_path):
    with pytest.raises(OptionError, match=r"--target cuda: PyTorch .* sees no NVIDIA GPU here"):
        measure_and_show.measure(
            CompareOptions((make_bundle(),), target="cuda", rows=tmp_path / "rows.jsonl")
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("has_cuda", [False, True])
def test_a_pytorch_bundle_is_measured_in_three_precisions(
    has_cuda, make_bundle, tiny_export, monkeypatch, capsys
):
    monkeypatch.setattr(cuda, "onnx_has_cuda", lambda: has_cuda)
    bundles = find_models((make_bundle(), tiny_export("onnx").path, tiny_export("tflite").path))
    capsys.readouterr()
    found = gpu_models(bundles)
    left_out = [
        f"{b.name}: skipped, no runtime here computes {b.bundle.format} in fp32 on a GPU" for b in bundles[1:]
    ]
    assert capsys.readouterr().err.splitlines() == left_out[has_cuda:]
    wanted = ["fp32", "fp16", "bf16", *(["fp32"] if has_cuda else [])]
    assert [model.metadata["precision"] for model in found] == wanted
    assert len({model.sha256 for model in found}) == len(found)
    assert (found[0].name, found[0].sha256) == (bundles[0].name, bundles[0].sha256)
    assert found[1].metadata["size_bytes"] == 2 * found[1].metadata["params"]
    assert found[1].metadata["parent_sha256"] == found[0].sha256
    bundles[1].bundle = replace(bundles[1].bundle, precision="int8")  # dynamic
    with pytest.raises(OptionError, match="none of the bundles can be computed on a GPU here"):
        gpu_models(bundles[1:])


@pytest.mark.parametrize("weights", CAST_PRECISIONS)
def test_a_bundle_stored_in_fewer_bytes_is_itself_in_fp32(make_bundle, tmp_path, weights):
    """As on the CPU: so it can be the baseline of what was made of it."""
    (model,) = find_models(
        (store(CastOptions(model=make_bundle(), out=tmp_path / "stored", weights=weights)).path,)
    )
    found = gpu_models([model])
    assert (found[0].name, found[0].sha256) == ("stored", model.sha256)
    assert len({one.sha256 for one in found}) == len({one.name for one in found}) == 3


@pytest.fixture
def gpu(monkeypatch):
    """As far as choosing what is measured goes, a machine with a GPU."""
    monkeypatch.setattr(resolve, "gpu", lambda: Machine("a GPU"))


def test_a_baseline_that_no_gpu_computes_is_refused(gpu, make_bundle, tiny_export, tmp_path):
    export = tiny_export("tflite").path
    config = CompareOptions((make_bundle(),), target="cuda", rows=tmp_path / "rows.jsonl", baseline=export)
    message = f"--baseline {export}: no runtime here computes it on a GPU; name a PyTorch bundle"
    with pytest.raises(OptionError, match=message):
        measure_and_show.measure(config)


def test_two_models_of_one_name_are_refused(gpu, make_bundle, tmp_path):
    other = tmp_path / f"{make_bundle().name}-fp16"
    shutil.copytree(make_bundle(seed=1), other)
    message = f"two models would be called {other.name}; rename the folder of that name"
    with pytest.raises(OptionError, match=message):
        measure_and_show.measure(
            CompareOptions((make_bundle(), other), target="cuda", rows=tmp_path / "rows.jsonl")
        )


@pytest.mark.skipif(
    "CUDAExecutionProvider" in ort.get_available_providers(), reason="this ONNX Runtime has CUDA"
)
def test_onnx_runtime_does_not_fall_back_to_the_cpu_unsaid(tiny_export):
    with pytest.raises(OptionError, match="cannot use its CUDAExecutionProvider here"):
        OnnxRuntime(tiny_export("onnx").weights, 1, "CUDAExecutionProvider")


def test_other_precisions_are_compared_with_fp32_and_fp32_with_no_answers_of_its_own(make_bundle, tmp_path):
    answers = {"q": "a"}
    examples = [Example("q", "t", "a b", "what?", (Answer("a", 0),), False)]
    found = gpu_models(find_models((make_bundle(),)))
    file = ResultFile(tmp_path / "rows.jsonl")
    run = Run(file, examples, Data("d", "d" * 64), found, "cuda", Machine("a GPU"), "a command")
    for model in found:
        model.runtime = Runtime("torch")
        model.accuracy = Accuracy(**run.common(model), n=1, exact=100.0, f1=100.0)
        path = answers_path(run.file.path, model.sha256, run.data.sha256, "cuda")
        assert path != answers_path(run.file.path, model.sha256, run.data.sha256)  # the CPU's stay
        save_answers(path, answers)
    exact, half, _ = (relations(run, model) for model in found)
    assert "same_answers" not in exact
    assert (half["same_answers"], half["same_answers_as"]) == (1.0, make_bundle().name)


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_half_precision_is_near_and_comes_back_in_fp32(make_bundle, precision):
    bundle = open_bundle(make_bundle())
    weights = bundle.weights
    ids = np.arange(1000, 1048).reshape(2, 24)
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    exact = load_pytorch(weights, 1, "fp32", "cpu").call(inputs)
    np.testing.assert_array_equal(exact[0], load_runtime(bundle, 1)(inputs)[0])
    model = load_pytorch(weights, 1, precision, "cpu")
    near = model.call(inputs)
    assert near[0].dtype == np.float32
    assert 0 < np.abs(near[0] - exact[0]).max() < 0.3 * exact[0].std()
    assert (model.runtime[-1], model.answers_batch) == ("CPU", 32)
    padded = {name: np.pad(array, ((0, 0), (0, 9))) for name, array in inputs.items()}
    shorter = model.call(padded)[0][:, :24]
    assert np.abs(shorter - near[0]).max() < 0.3 * exact[0].std(), "padding is not seen"


def test_codes_of_a_word_table_count_as_the_bytes_they_are(coded, tmp_path):
    further = rebundle(coded.path, tmp_path / "further", stage="finetune")  # its manifest names no form
    models = find_models((coded.path, further))
    assert [model.metadata["embeddings"] for model in models] == ["pq4"] * 2
    half = gpu_models(models)[1]
    fp32 = coded.weights.stat().st_size
    codes = QAModel.from_pretrained(coded.path).encoder.words.codes.numel()
    assert half.metadata["size_bytes"] == pytest.approx(codes + (fp32 - codes) / 2, rel=0.01)
