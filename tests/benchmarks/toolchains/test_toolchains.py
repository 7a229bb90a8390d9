"""Toolchains: the registry, what `build` keeps and refuses, and one toolchain from bundle to served logits."""

import importlib
import json
import sys
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from places import ROOT

from benchmarks.measure.conditions import this_host
from benchmarks.measure.hosts import on_this_machine
from benchmarks.measure.worker_process import Worker
from benchmarks.toolchains import build as building
from benchmarks.toolchains.build import ToolchainError, build, run_adapter
from benchmarks.toolchains.registry import PLAIN_ONNX, TOOLCHAINS, Toolchain
from export.parity import real_windows
from qa.base.errors import UnsupportedExport
from qa.bundles.bundle import open_bundle
from qa.formats.precision import PRECISIONS
from qa.runtime.probe import relative_difference
from qa.runtime.runtimes import TorchRuntime, run_windows

REQUIREMENTS = ROOT / "benchmarks" / "toolchains" / "requirements"
ALL = [*TOOLCHAINS.values(), PLAIN_ONNX]
ENVIRONMENTS = sorted({each.environment for each in ALL if each.environment})


@pytest.fixture
def bundle(make_bundle):
    return open_bundle(make_bundle())


@pytest.fixture
def windows(bundle):
    return real_windows(bundle, 6)


@pytest.fixture
def calibration(tmp_path, windows):
    path = tmp_path / "calibration.json"
    path.write_text(json.dumps([(w.input_ids.tolist(), w.context_begin) for w in windows]))
    return path


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "built"


@pytest.fixture
def make(bundle, calibration, folder):
    """A function: what a toolchain, by name or itself, builds of a bundle."""
    return lambda toolchain, of=bundle: build(TOOLCHAINS.get(toolchain, toolchain), of, calibration, folder)


@pytest.mark.parametrize("toolchain", ALL, ids=lambda toolchain: toolchain.name)
def test_adapters_import_without_their_libraries_and_are_whole(toolchain):
    adapter = importlib.import_module(toolchain.module)
    assert callable(adapter.prepare)
    assert adapter.PACKAGES
    assert toolchain is PLAIN_ONNX or (callable(adapter.load) and adapter.LIBRARIES)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_environments_are_pinned_with_a_reason_and_made_by_make(name):
    lines = (REQUIREMENTS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not line.startswith("#") and not ("==" in line and " # " in line)] == []
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert name in makefile.split("TOOLCHAINS := ")[1].splitlines()[0].split()


def test_every_adapters_packages_are_those_its_environment_pins():
    for toolchain in TOOLCHAINS.values():
        if toolchain.environment:
            pins = (REQUIREMENTS / f"{toolchain.environment}.txt").read_text(encoding="utf-8")
            pinned = {line.split("==")[0] for line in pins.splitlines() if "==" in line}
            assert set(importlib.import_module(toolchain.module).PACKAGES) <= pinned


def test_a_toolchain_that_takes_too_long_is_ended(make, monkeypatch):
    monkeypatch.setattr(building, "TIMEOUT_S", 0.01)
    with pytest.raises(ToolchainError, match=r"^torch-compile: took more than .* minutes and was ended$"):
        make("torch-compile")


@pytest.mark.parametrize(
    ("toolchain", "message"),
    [
        (
            Toolchain("elsewhere-fp32", "openvino", "fp32", "elsewhere"),
            r"\.venv-toolchains/elsewhere does not exist; run make toolchains",
        ),
        # OpenVINO's adapter in this environment, which has no OpenVINO.
        (
            Toolchain("openvino-here", "openvino", "fp32"),
            ".*openvino is not installed for .*; run make toolchains",
        ),
    ],
)
def test_what_is_not_installed_is_named(toolchain, message, make, folder):
    with pytest.raises(ToolchainError, match=f"^{toolchain.name}: {message}$"):
        make(toolchain)
    assert not folder.exists()


def test_without_a_compiler_nothing_half_made_stays(make, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    message = r"^torch-compile: torch\.compile needs a C\+\+ compiler, and there is none; install g\+\+$"
    with pytest.raises(ToolchainError, match=message):
        make("torch-compile")
    assert list(folder.iterdir()) == []


def prepared_here(toolchain, python, *arguments):
    """Do as `run_adapter` does, in this process."""
    adapter = importlib.import_module(toolchain.module)
    if arguments:
        source, out, calibration = map(Path, arguments[:3])
        adapter.prepare(source, out, calibration, arguments[3])
    return {name: version(name) for name in adapter.PACKAGES}


def test_an_artefact_is_kept_for_its_bundle_and_adapter_and_made_again_for_others(
    make_bundle, bundle, make, folder, monkeypatch
):
    first = make("torch-compile")
    monkeypatch.setattr(building, "run_adapter", prepared_here)  # starting a process takes seconds
    made = (first.path / "model.safetensors").stat()
    assert first.size_bytes == bundle.weights.stat().st_size
    assert make("torch-compile") == first
    assert (first.path / "model.safetensors").stat().st_ino == made.st_ino
    with monkeypatch.context() as changed:
        changed.setattr(building, "file_sha256", lambda path: "of another adapter")
        make("torch-compile")
    assert (first.path / "model.safetensors").stat().st_ino != made.st_ino
    other = open_bundle(make_bundle(seed=1))
    make("torch-compile", other)
    assert (first.path / "model.safetensors").read_bytes() == other.weights.read_bytes()
    assert [path.name for path in folder.iterdir()] == ["torch-compile"]


def largest_difference(wanted, found):
    """The larger of the relative differences of start and end logits, all windows together."""
    sides = (
        [np.concatenate([logits[side] for logits in both]) for both in (wanted, found)] for side in (0, 1)
    )
    return max(relative_difference(reference, seen) for reference, seen in sides)


INT8 = (1e-3, PRECISIONS["int8"].probe_tolerance)


@pytest.mark.system
@pytest.mark.parametrize(
    ("name", "model", "differs", "share", "runtime"),
    [
        ("ort-documented-int8", {}, INT8, (0.0, 0.35), "onnxruntime {onnxruntime} as documented"),
        # Pruned, so that layers differ.
        ("executorch-int8", {"pruned": True}, INT8, (0.1, 2), "executorch {executorch} XNNPACK"),
        ("litert-torch-fp32", {}, (0, 1e-5), (0.95, 1.3), "ai-edge-litert {ai-edge-litert}"),
        ("litert-torch-int8", {}, INT8, (0.2, 0.5), "ai-edge-litert {ai-edge-litert}"),
    ],
)
def test_from_bundle_to_served_logits(name, model, differs, share, runtime, make_bundle, make, windows):
    """Windows of several lengths: unpadded, or padded to the one length that a file of LiteRT has."""
    bundle = open_bundle(make_bundle(**model))
    assert len({len(window.input_ids) for window in windows}) > 1
    toolchain = TOOLCHAINS[name]
    prepared = make(name, bundle)
    assert importlib.import_module(toolchain.module).PACKAGES[0] in prepared.versions
    smallest, largest = (part * bundle.weights.stat().st_size for part in share)
    assert smallest < prepared.size_bytes < largest
    deployment = on_this_machine(prepared.path, toolchain.module, prepared.python)
    with closing(Worker(deployment, 1, this_host().cores_for(1))) as worker:
        found = run_windows(worker, windows)
        three = [(window.input_ids.tolist(), window.context_begin) for window in windows[:3]]
        assert np.shape(worker.time(three, 1, 2, 0)["times_ms"]) == (1, 2)
    assert str(worker.runtime) == runtime.format(**prepared.versions)
    assert worker.lengths == ((bundle.settings.max_length,) if "litert" in name else None)
    wanted = run_windows(TorchRuntime(bundle.weights, 1), windows)
    least, most = differs
    assert least <= largest_difference(wanted, found) <= most


def test_a_model_that_a_toolchain_cannot_express_is_a_finding(make_bundle, calibration, folder):
    folder.mkdir()
    arguments = (make_bundle("distilbert"), folder, calibration, "int8")
    message = "^ort-documented-int8: this recipe is for BERT, and this is a distilbert$"
    with pytest.raises(UnsupportedExport, match=message):
        run_adapter(TOOLCHAINS["ort-documented-int8"], Path(sys.executable), *map(str, arguments))
    assert list(folder.iterdir()) == []
