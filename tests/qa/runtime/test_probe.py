"""The probe against recorded runtimes, one wrong and one right, and against files of which one signature is
wrong."""

import json

import numpy as np
import pytest
from places import GOLDEN
from quick import quick
from sealed import seal
from tflite_exports import LENGTHS, bare_model, rescaled, sealed_again

import qa.runtime.engines
from export.android.package import read_package
from export.parity import probe_tolerance, probe_windows
from export.tflite.exporter import probe_lengths, window_lengths
from qa.base.errors import BundleError, ProbeError
from qa.bundles.bundle import PROBE, open_bundle
from qa.formats.precision import PRECISIONS
from qa.formats.tensors import OUTPUTS
from qa.runtime.probe import Probe, ProbeWindow, check_covers, read_probe, relative_difference, write_probe
from qa.runtime.runtimes import check_probe, load_runtime, probe_difference
from qa.text.settings import QASettings

# golden/record_old_runtime.py made it; tflite-runtime 2.14.0 takes the first scale of a weight for all its
# rows.
RECORDED = json.loads((GOLDEN / "probe_old_runtime.json").read_text(encoding="utf-8"))
PROBE_TEXT = json.dumps(RECORDED["probe"])
WRONG = "tflite-runtime 2.14.0"
RIGHT = "ai-edge-litert 2.3.0"


class Replay:
    """A runtime that answers with what another one was recorded to compute."""

    max_batch = 1

    def __init__(self, name):
        recording = RECORDED["recordings"][name]
        self.name = name
        self.lengths = tuple(recording["lengths"])
        ids = [tuple(window["input_ids"]) for window in RECORDED["probe"]["windows"]]
        self.logits = dict(zip(ids, recording["logits"], strict=True))

    def __call__(self, inputs):
        n = int(inputs["attention_mask"].sum())
        length = inputs["input_ids"].shape[1]
        assert length in self.lengths
        recorded = self.logits[tuple(inputs["input_ids"][0, :n].tolist())]
        logits = (np.array(recorded[name], np.float32) for name in OUTPUTS)
        return tuple(np.pad(values, (0, length - n))[None] for values in logits)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """A TFLite bundle with the recorded probe; its weights are never opened."""
    path = tmp_path_factory.mktemp("probe") / "bundle"
    return seal(path, files={PROBE: PROBE_TEXT}, kind="tflite", precision="int8", stage="export")


def load_replay(bundle, name, monkeypatch):
    monkeypatch.setattr(qa.runtime.engines, "LiteRTRuntime", lambda weights, threads: Replay(name))
    return load_runtime(bundle)


def test_a_runtime_that_computes_wrongly_may_not_answer(bundle, monkeypatch):
    with pytest.raises(ProbeError, match=r"tflite-runtime 2\.14\.0 computes this int8 model wrongly"):
        load_replay(bundle, WRONG, monkeypatch)


def test_a_runtime_that_computes_rightly_may(bundle, monkeypatch):
    assert load_replay(bundle, RIGHT, monkeypatch).name == RIGHT


def test_a_runtime_that_fails_while_it_computes_the_probe_is_refused_in_one_line(bundle, monkeypatch):
    monkeypatch.setitem(RECORDED["recordings"][RIGHT], "logits", [{}] * len(RECORDED["probe"]["windows"]))
    told = r"model\.tflite: ai-edge-litert 2\.3\.0 cannot compute it \('start_logits'\)"
    with pytest.raises(BundleError, match=told):
        load_replay(bundle, RIGHT, monkeypatch)


def test_right_and_wrong_are_far_apart():
    probe = read_probe(PROBE_TEXT, "recorded")
    tolerance = PRECISIONS["int8"].probe_tolerance
    assert check_probe(Replay(RIGHT), probe, "int8") < tolerance / 3
    logits = Replay(WRONG).logits
    for window in probe.windows:
        wrong = logits[tuple(window.input_ids)]["start_logits"]
        assert relative_difference(window.start_logits, wrong) > 3 * tolerance


def test_an_int8_runtime_does_not_pass_for_fp32():
    with pytest.raises(ProbeError, match=r"at most 0\.0001"):
        check_probe(Replay(RIGHT), read_probe(PROBE_TEXT, "recorded"), "fp32")


def test_nan_never_passes():
    runtime = Replay(RIGHT)
    window = read_probe(PROBE_TEXT, "recorded").windows[0]
    runtime.logits[tuple(window.input_ids)]["end_logits"] = [float("nan")] * len(window.input_ids)
    with pytest.raises(ProbeError, match="inf"):
        check_probe(runtime, Probe([window], {}), "int8")


def test_relative_difference_by_hand():
    reference = np.array([-1.0, 1.0, -1.0, 1.0])  # deviation 1
    assert relative_difference(reference, reference + 0.25) == pytest.approx(0.25)
    assert relative_difference(reference, reference + np.array([0.5, 0, 0, 0])) == pytest.approx(0.25)
    assert relative_difference(reference, np.array([np.nan, 1, -1, 1])) == float("inf")


def test_a_probe_survives_writing():
    generator = np.random.default_rng(0)
    start, end = generator.normal(size=(2, 5)).astype(np.float32)
    window = ProbeWindow(np.arange(5, dtype=np.int32), 2, start, end)
    (back,) = read_probe(write_probe([window]), "here").windows
    assert back.input_ids == window.input_ids.tolist()
    assert back.context_begin == 2
    np.testing.assert_allclose(back.start_logits, start, rtol=1e-5)
    np.testing.assert_allclose(back.end_logits, end, rtol=1e-5)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "[]",
        lambda text: "[" * 100_000,
        lambda text: b"\xff" + text.encode(),
        lambda text: text.encode().replace(b"int8", b"\xff"),
        lambda text: '{"windows": []}',
        lambda text: text.replace("context_begin", "begin"),
        lambda text: text.replace('"tolerance"', '"tolerance": {"int8": 0}, "old"'),
        lambda text: text.replace('"tolerance"', '"tolerance": {"int8": NaN}, "old"'),
        lambda text: text.replace('"tolerance"', '"tolerance": [], "old"'),
        lambda text: text.replace('"input_ids": [101, ', '"input_ids": ['),
    ],
)
def test_broken_probes_are_refused(change):
    with pytest.raises(BundleError, match="here: not a valid probe"):
        read_probe(change(PROBE_TEXT), "here")


def write_older(windows):
    """As the first versions wrote it."""
    return json.dumps({"windows": json.loads(write_probe(windows))["windows"]})


def sizes_of(probe):
    return [len(window.input_ids) for window in probe.windows]


def test_every_signature_has_a_window_of_its_own_with_padding():
    sizes = {
        lengths: probe_lengths(window_lengths(lengths, QASettings(max_length=lengths[-1])))
        for lengths in [(128, 192, 256, 384), (384,), (100, 101, 102)]
    }
    assert list(sizes.values()) == [[96, 176, 240, 352], [288], [75, 101, 102]]


@pytest.mark.parametrize("name", quick("bert", rest=["distilbert"]))
def test_an_export_has_a_probe_window_for_each_signature(exported_tflite, name):
    bundle = exported_tflite(name)[1]
    probe = read_probe((bundle.path / PROBE).read_text(), "probe")
    assert sizes_of(probe) == [72, 120]
    assert sizes_of(read_package(bundle.weights).probe) == [72, 120]


def test_an_export_to_onnx_is_probed_up_to_the_longest_window(tiny_export):
    assert sizes_of(read_probe((tiny_export("onnx").path / PROBE).read_text(), "probe")) == [32, 64, 128]


def test_probe_windows_are_questions_on_their_passages(make_bundle):
    bundle = open_bundle(make_bundle())
    tokenizer = bundle.tokenizer
    windows = probe_windows(bundle, [1, 40, 128])
    assert [len(w.input_ids) for w in windows[1:]] == [40, 128]
    assert len(windows[0].char_starts) == 1, "the question stays whole, with a token of the passage"
    for window in windows:
        text = tokenizer.decode(window.input_ids.tolist(), skip_special_tokens=False)
        question, passage, rest = text.split(" [SEP]")
        assert question.startswith("[CLS] ")
        assert len(passage) > 1
        assert rest == ""
    assert len({tuple(window.input_ids[:5]) for window in windows}) == 3, "three questions"


@pytest.mark.parametrize("length", LENGTHS)
def test_a_file_is_held_to_what_was_seen_of_it_and_an_older_one_to_its_precision(
    exported_tflite, tmp_path, length
):
    """Weights a fifth too large in one Linear of one signature: within what any int8 file may differ, not
    this one."""
    bundle = exported_tflite("bert", "int8")[1]
    own = read_package(bundle.weights).probe
    wrong = rescaled(bare_model(bundle), length, 1.2)
    most = PRECISIONS["int8"].probe_tolerance
    assert own.allowed("int8") == 0.1 < most
    texts = write_older(own.windows), write_probe(own.windows), write_probe(own.windows, {"int8": 9})
    for number, text in enumerate(texts):
        passed = sealed_again(bundle, tmp_path / f"older-{number}", wrong, text)
        assert read_package(passed.weights).probe.allowed("int8") == most
        assert 0.1 < probe_difference(load_runtime(passed, 1), own.windows) < most
    told = r"differ from PyTorch's by 0\.1\d+ of their deviation, at most 0\.1 is allowed"
    with pytest.raises(ProbeError, match=told):
        load_runtime(sealed_again(bundle, tmp_path / "own", wrong), 1)


def test_a_file_is_allowed_twice_what_was_seen_within_bounds():
    assert [probe_tolerance("int8", worst) for worst in (0.0, 0.0811, 0.2)] == [0.1, 0.162, 0.25]
    assert probe_tolerance("int4", 0.1) == 0.2
    assert probe_tolerance("fp32", 1e-6) == PRECISIONS["fp32"].probe_tolerance


@pytest.mark.parametrize("missing", [0, 1])
def test_a_probe_that_leaves_out_a_signature_is_refused(exported_tflite, tmp_path, missing):
    bundle = exported_tflite("bert", "int8")[1]
    probe = list(read_package(bundle.weights).probe.windows)
    del probe[missing]
    older = sealed_again(bundle, tmp_path / "older", bare_model(bundle), probe)
    wanted = rf"has no window for the signature of {LENGTHS[missing]} tokens, .*; export the model again"
    with pytest.raises(BundleError, match=rf"older/probe\.json: {wanted}"):
        load_runtime(older, 1)
    with pytest.raises(BundleError, match=rf"model\.tflite: probe\.json: {wanted}"):
        read_package(older.weights)


def test_a_window_covers_the_smallest_length_that_fits():
    window = {n: ProbeWindow(np.zeros(n, np.int32), 2, np.zeros(n), np.zeros(n)) for n in (5, 8, 9, 12, 13)}
    check_covers([window[8], window[9]], (8, 12), "here")
    check_covers([window[12], window[5]], (12, 8), "here")
    check_covers([window[13]], (), "a model of any length")
    for sizes, missing in [((5, 8), 12), ((9, 12), 8), ((5, 13), 12)]:
        with pytest.raises(BundleError, match=f"here: has no window for the signature of {missing} tokens"):
            check_covers([window[n] for n in sizes], (8, 12), "here")
