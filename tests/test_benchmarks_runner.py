"""The runner that is copied to boards: PyTorch's logits from a Python that has numpy and the runtime only, and its refusals."""

import ast
import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from benchmarks import runner
from benchmarks.targets.target import RUNNER, TargetError, read_outcome
from benchmarks.windows_file import write_windows
from export.parity import real_windows
from qa import runtimes
from qa.bundle import open_bundle
from qa.runtimes import TorchRuntime, load_runtime, run_windows


@pytest.fixture
def start(bare_site, tmp_path):
    """A function that runs the runner in a bare Python."""

    def run(weights, windows, *options, site=bare_site):
        words = ["--weights", weights, "--windows", windows, "--out", tmp_path / "out.npz", *options]
        env = {"PYTHONPATH": str(site), "PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-S", "-s", "-P", RUNNER, *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, env=env, check=False)

    return run


@pytest.fixture
def short_and_long(make_bundle):
    """Real windows of several lengths, the shortest first."""
    windows = sorted(real_windows(open_bundle(make_bundle())), key=lambda window: len(window.input_ids))
    assert len(windows[0].input_ids) < 96 < len(windows[-1].input_ids)
    return windows


def sent(windows, bundle, path):
    pairs = [(window.input_ids, window.context_begin) for window in windows]
    return write_windows(path / "windows.npz", pairs, bundle.manifest["files"][bundle.weights.name])


def refusal(done, tmp_path):
    """The one line that a refused run leaves, and nothing else."""
    assert done.returncode == 2
    assert done.stdout == ""
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("out")] == []
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.mark.parametrize("kind", ["tflite", "onnx"])
def test_logits_are_those_of_pytorch_and_of_the_runtime_here(kind, tiny_export, make_bundle, short_and_long, start, tmp_path):
    bundle = tiny_export(kind)
    path = sent(short_and_long, bundle, tmp_path)
    done = start(bundle.weights, path, "--threads", 1, "--repeats", 3)
    assert done.returncode == 0, done.stderr
    outcome = read_outcome((tmp_path / "out.npz").read_bytes(), path, "here")
    runtime = load_runtime(bundle, 1)
    reference = run_windows(TorchRuntime(open_bundle(make_bundle()), 1), short_and_long)
    for own, here, torch in zip(outcome.logits, run_windows(runtime, short_and_long), reference, strict=True):
        for a, b, c in zip(own, here, torch, strict=True):
            np.testing.assert_array_equal(a, b)  # the same runtime on the same inputs: not one bit differs
            np.testing.assert_allclose(a, c, atol=1e-4)
    assert outcome.times_ms.shape == (len(short_and_long), 3)
    assert (outcome.times_ms > 0).all()
    facts = outcome.facts
    assert facts["runtime"] == runtime.name
    assert facts["n_warmup"] == (2 if kind == "tflite" else 1)
    assert {"architecture", "cores", "usable_cores", "python", "numpy", "load_ms", "load_average"} <= facts.keys()
    assert facts["weights_sha256"] == bundle.manifest["files"][bundle.weights.name]


@pytest.mark.parametrize("kind", ["tflite", "onnx"])
def test_padding_changes_what_is_computed_but_not_the_logits(kind, tiny_export, short_and_long, start, tmp_path):
    bundle = tiny_export(kind)
    path = sent(short_and_long[:2], bundle, tmp_path)
    assert start(bundle.weights, path, "--threads", 1, "--pad-to", 128).returncode == 0
    padded = read_outcome((tmp_path / "out.npz").read_bytes(), path, "here")
    for (start_logits, end_logits), (a, b) in zip(
        padded.logits, run_windows(load_runtime(bundle, 1), short_and_long[:2]), strict=True
    ):
        np.testing.assert_allclose(start_logits, a, atol=1e-4)
        np.testing.assert_allclose(end_logits, b, atol=1e-4)


def windows_of(lengths, begin=2):
    return runner.Windows("", [np.arange(1, n + 1) for n in lengths], [begin] * len(lengths))


def test_inputs_are_as_short_as_the_model_allows():
    shapes = [x["input_ids"].shape for x in runner.make_inputs(windows_of([3, 96, 97]), [96, 128], 1)]
    assert shapes == [(1, 96), (1, 96), (1, 128)]
    assert [x["input_ids"].shape for x in runner.make_inputs(windows_of([3, 97]), None, 1)] == [(1, 3), (1, 97)]
    assert [x["input_ids"].shape for x in runner.make_inputs(windows_of([3, 97]), None, 128)] == [(1, 128)] * 2
    with pytest.raises(runner.InputError, match=r"a window of 129 tokens does not fit the model's lengths \[96, 128\]"):
        runner.make_inputs(windows_of([129]), [96, 128], 1)
    (only,) = runner.make_inputs(windows_of([3]), [5], 1)
    assert {name: values[0].tolist() for name, values in only.items()} == {
        "input_ids": [1, 2, 3, 0, 0], "attention_mask": [1, 1, 1, 0, 0], "token_type_ids": [0, 0, 1, 0, 0],
    }  # fmt: skip


def test_each_length_is_warmed_up_once():
    seen = []
    batches = runner.make_inputs(windows_of([3, 4, 97]), [96, 128], 1)
    model = runner.Model("r", [96, 128], lambda inputs: seen.append(inputs["input_ids"].shape[1]))
    assert runner.warm_up(model, batches) == 2
    assert sorted(seen) == [96, 128]
    assert runner.warm_up(runner.Model("r", None, lambda inputs: None), batches) == 1


def test_weights_that_did_not_arrive_whole_are_refused(tiny_export, short_and_long, start, tmp_path):
    bundle = tiny_export("onnx")
    path = sent(short_and_long[:1], bundle, tmp_path)
    torn = tmp_path / "model.onnx"
    torn.write_bytes(bundle.weights.read_bytes()[:-1])
    expected = bundle.manifest["files"]["model.onnx"][:12]
    assert f"{expected} is wanted; copy it again" in refusal(start(torn, path), tmp_path)
    assert "No such file" in refusal(start(tmp_path / "none.onnx", path), tmp_path)


def test_a_file_that_no_runtime_loads_is_refused(short_and_long, start, tmp_path):
    for name, wanted in (
        ("model.onnx", "ONNX Runtime"),
        ("model.tflite", "ai-edge-litert cannot load"),
        ("model.txt", "neither"),
    ):
        weights = tmp_path / name
        weights.write_bytes(b"garbage")
        sha256 = hashlib.sha256(b"garbage").hexdigest()
        path = write_windows(tmp_path / "windows.npz", [(short_and_long[0].input_ids, 3)], sha256)
        assert wanted in refusal(start(weights, path), tmp_path)


def bad_windows(**changed):
    values = {
        "weights_sha256": np.array("f"), "n_tokens": np.array([2, 1]), "context_begin": np.array([1, 0]),
        "input_ids": np.array([5, 6, 7]),
    }  # fmt: skip
    return {name: value for name, value in (values | changed).items() if value is not None}


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ({"context_begin": None}, "lacks 'context_begin"),
        ({"input_ids": np.array([5, 6])}, "2 windows, 2 beginnings and 2 tokens do not fit together"),
        ({"n_tokens": np.array([3, 0])}, "do not fit together"),
        ({"n_tokens": np.array([], int), "context_begin": np.array([], int), "input_ids": np.array([], int)}, "0 windows"),
        ({"context_begin": np.array([1, 2])}, "do not fit together"),
        ({"input_ids": np.array([5.0, 6, 7])}, "three lists of whole numbers"),
        ({"weights_sha256": np.array(3)}, "one text"),
        ({"n_tokens": np.array([[2, 1]], object)}, "Object arrays cannot be loaded"),
    ],
)
def test_a_wrong_windows_file_is_named(changed, wanted, tmp_path):
    path = tmp_path / "windows.npz"
    np.savez(path, **bad_windows(**changed))
    with pytest.raises(runner.InputError, match=r"windows\.npz: ") as caught:
        runner.read_windows(path)
    assert wanted in str(caught.value)


def test_a_torn_windows_file_is_named(tiny_export, short_and_long, start, tmp_path):
    bundle = tiny_export("onnx")
    path = sent(short_and_long[:1], bundle, tmp_path)
    path.write_bytes(path.read_bytes()[:-40])
    assert "not a whole .npz file" in refusal(start(bundle.weights, path), tmp_path)
    path.write_bytes(b"")
    assert "not a whole .npz file" in refusal(start(bundle.weights, path), tmp_path)
    single = tmp_path / "windows.npy"
    np.save(single, np.arange(3))
    assert "windows.npy: not a whole .npz file (it is a single array" in refusal(start(bundle.weights, single), tmp_path)


@pytest.mark.parametrize(
    ("kind", "wanted"), [("onnx", "needs onnxruntime"), ("tflite", "needs one of ai-edge-litert, tensorflow")]
)
def test_a_machine_without_the_runtime_or_numpy_says_so(kind, wanted, tiny_export, bare_site, short_and_long, start, tmp_path):
    bundle = tiny_export(kind)
    path = sent(short_and_long[:1], bundle, tmp_path)
    poor = tmp_path / "poor"
    poor.mkdir()
    done = start(bundle.weights, path, site=poor)
    assert done.returncode == 1
    assert done.stderr.startswith("error: numpy is not installed")
    for name in ("numpy", "numpy.libs"):
        (poor / name).symlink_to(bare_site / name)
    assert wanted in refusal(start(bundle.weights, path, site=poor), tmp_path)


def test_an_output_that_is_torn_or_of_other_windows_is_refused(tiny_export, short_and_long, start, tmp_path):
    bundle = tiny_export("onnx")
    path = sent(short_and_long[:2], bundle, tmp_path)
    assert start(bundle.weights, path).returncode == 0
    content = (tmp_path / "out.npz").read_bytes()
    for bad in (content[:-50], b"", b"hello\n" + content[:100]):
        with pytest.raises(TargetError, match="board: the runner's output is not whole"):
            read_outcome(bad, path, "board")
    with pytest.raises(TargetError, match="other windows"):
        read_outcome(content, sent(short_and_long[:1], bundle, tmp_path), "board")


def test_it_is_a_plain_script_for_old_pythons_that_knows_the_same_runtimes():
    text = RUNNER.read_text(encoding="utf-8")
    tree = ast.parse(text, feature_version=(3, 9))
    names = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    names |= {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    tops = {name.split(".")[0] for name in names}
    assert tops - set(sys.stdlib_module_names) == {"numpy"}
    assert runner.LITERT_PACKAGES == runtimes.LITERT_PACKAGES
    assert json.dumps(runner.machine_facts())
