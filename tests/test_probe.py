"""The probe against recorded runtimes: one that computes dynamic int8 wrongly, and one that computes it rightly."""

import json
from pathlib import Path

import numpy as np
import pytest

import qa.runtimes
from qa.bundle import PROBE, SETTINGS, new_bundle, open_bundle
from qa.errors import BundleError, ProbeError
from qa.probe import PROBE_TOLERANCE, ProbeWindow, read_probe, relative_difference, write_probe
from qa.runtimes import check_probe, load_runtime
from qa.settings import QASettings

# golden/record_old_runtime.py made it; tflite-runtime 2.14.0 takes the first scale of a weight for all its rows.
RECORDED = json.loads((Path(__file__).parent / "golden" / "probe_old_runtime.json").read_text(encoding="utf-8"))
PROBE_TEXT = json.dumps(RECORDED["probe"])
WRONG, RIGHT = "tflite-runtime 2.14.0", "ai-edge-litert 2.3.0"


class Replay:
    """A runtime that answers with what another one was recorded to compute."""

    max_batch = 1

    def __init__(self, name):
        recording = RECORDED["recordings"][name]
        self.name, self.lengths = name, tuple(recording["lengths"])
        ids = [tuple(window["input_ids"]) for window in RECORDED["probe"]["windows"]]
        self.logits = dict(zip(ids, recording["logits"], strict=True))

    def __call__(self, inputs):
        n, length = int(inputs["attention_mask"].sum()), inputs["input_ids"].shape[1]
        assert length in self.lengths
        recorded = self.logits[tuple(inputs["input_ids"][0, :n].tolist())]
        padded = [np.pad(np.array(recorded[k], np.float32), (0, length - n))[None] for k in ("start_logits", "end_logits")]
        return padded[0], padded[1]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """A TFLite bundle with the recorded probe; its weights are never opened."""
    path = tmp_path_factory.mktemp("probe") / "bundle"
    counts = {"total": 1, "without_embeddings": 1}
    with new_bundle(path, {"kind": "tflite", "precision": "int8", "stage": "export", "parameters": counts}) as draft:
        QASettings().save(draft / SETTINGS)
        (draft / PROBE).write_text(PROBE_TEXT)
        (draft / "model.tflite").write_bytes(b"")
    return open_bundle(path)


def load_replay(bundle, name, monkeypatch):
    monkeypatch.setitem(qa.runtimes._RUNTIMES, "tflite", lambda bundle, threads: Replay(name))
    return load_runtime(bundle)


def test_a_runtime_that_computes_wrongly_may_not_answer(bundle, monkeypatch):
    with pytest.raises(ProbeError, match=r"tflite-runtime 2\.14\.0 computes this int8 model wrongly"):
        load_replay(bundle, WRONG, monkeypatch)


def test_a_runtime_that_computes_rightly_may(bundle, monkeypatch):
    assert load_replay(bundle, RIGHT, monkeypatch).name == RIGHT


def test_a_runtime_that_fails_while_it_computes_the_probe_is_refused_in_one_line(bundle, monkeypatch):
    monkeypatch.setitem(RECORDED["recordings"][RIGHT], "logits", [{}] * len(RECORDED["probe"]["windows"]))
    with pytest.raises(BundleError, match=r"model\.tflite: ai-edge-litert 2\.3\.0 cannot compute it \('start_logits'\)"):
        load_replay(bundle, RIGHT, monkeypatch)


def test_right_and_wrong_are_far_apart():
    probe, tolerance = read_probe(PROBE_TEXT, "recorded"), PROBE_TOLERANCE["int8"]
    assert check_probe(Replay(RIGHT), probe, "int8") < tolerance / 3
    wrong = [
        relative_difference(window.start_logits, Replay(WRONG).logits[tuple(window.input_ids.tolist())]["start_logits"])
        for window in probe
    ]
    assert min(wrong) > 3 * tolerance


def test_an_int8_runtime_does_not_pass_for_fp32():
    with pytest.raises(ProbeError, match=r"at most 0\.0001"):
        check_probe(Replay(RIGHT), read_probe(PROBE_TEXT, "recorded"), "fp32")


def test_nan_never_passes():
    runtime = Replay(RIGHT)
    window = read_probe(PROBE_TEXT, "recorded")[0]
    runtime.logits[tuple(window.input_ids.tolist())]["end_logits"] = [float("nan")] * len(window.input_ids)
    with pytest.raises(ProbeError, match="inf"):
        check_probe(runtime, [window], "int8")


def test_relative_difference_by_hand():
    reference = np.array([-1.0, 1.0, -1.0, 1.0])  # deviation 1
    assert relative_difference(reference, reference + 0.25) == pytest.approx(0.25)
    assert relative_difference(reference, reference + np.array([0.5, 0, 0, 0])) == pytest.approx(0.25)
    assert relative_difference(reference, np.array([np.nan, 1, -1, 1])) == float("inf")


def test_a_probe_survives_writing():
    generator = np.random.default_rng(0)
    start, end = generator.normal(size=(2, 5)).astype(np.float32)
    window = ProbeWindow(np.arange(5, dtype=np.int32), 2, start, end)
    (back,) = read_probe(write_probe([window]), "here")
    assert (back.input_ids == window.input_ids).all()
    assert back.context_begin == 2
    np.testing.assert_allclose(back.start_logits, start, rtol=1e-5)
    np.testing.assert_allclose(back.end_logits, end, rtol=1e-5)


@pytest.mark.parametrize("change", [
    lambda text: text[: len(text) // 2],
    lambda text: "[]",
    lambda text: "[" * 100_000,
    lambda text: b"\xff" + text.encode(),
    lambda text: '{"windows": []}',
    lambda text: text.replace("context_begin", "begin"),
    lambda text: text.replace('"input_ids": [101, ', '"input_ids": ['),
])  # fmt: skip
def test_broken_probes_are_refused(change):
    with pytest.raises(BundleError, match="here: not a valid probe"):
        read_probe(change(PROBE_TEXT), "here")
