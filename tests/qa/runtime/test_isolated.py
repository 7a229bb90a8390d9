"""A model in a process of its own: the same numbers, the same errors, and its death is an error too."""

import os
import signal

import numpy as np
import pytest
from tflite_exports import bare_model, sealed_again

import qa
from export.android.package import read_package
from qa.base.errors import BundleError, ProbeError
from qa.data.squad import read_squad
from qa.runtime.isolated import IsolatedRuntime
from qa.runtime.probe import ProbeWindow
from qa.runtime.remote import RemoteError
from qa.runtime.runtimes import load_runtime, run_windows
from qa.text.features import make_windows

CONTEXT = "Marie Curie was born in Warsaw in 1867. She died in 1934."


@pytest.mark.parametrize("kind", ["onnx", "tflite", "any-length"])
def test_it_computes_the_same(kind, tiny_export, small_squad):
    bundle = tiny_export(kind)
    windows = make_windows(read_squad(small_squad)[:3], bundle.tokenizer, bundle.settings)
    here = load_runtime(bundle, 1)
    there = IsolatedRuntime(bundle, 1)
    assert (there.name, there.lengths, there.max_batch) == (here.name, here.lengths, here.max_batch)
    for one, other in zip(run_windows(here, windows), run_windows(there, windows), strict=True):
        np.testing.assert_array_equal(one, other)


def test_its_death_is_an_error_and_the_caller_lives(tiny_export):
    model = qa.load(tiny_export("onnx").path, threads=1, isolated=True)
    model.answer("Who was born?", CONTEXT)
    os.kill(model.runtime._process.pid, signal.SIGSEGV)
    for _ in range(2):
        with pytest.raises(BundleError, match=r"model\.onnx: its runtime died \(killed by SIGSEGV\)"):
            model.answer("Who was born?", CONTEXT)


def test_after_a_fork_the_file_is_not_blamed(tiny_export):
    model = qa.load(tiny_export("onnx").path, threads=1, isolated=True)
    child = os.fork()
    if child == 0:
        try:
            model.runtime({})
        except RemoteError as error:
            os._exit(0 if "load it in each process" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    model.answer("Who was born?", CONTEXT)


def test_what_loading_refuses_is_refused_by_the_same_error(tiny_export, tmp_path):
    bundle = tiny_export("tflite")
    windows = read_package(bundle.weights).probe.windows
    wrong = [ProbeWindow(w.input_ids, w.context_begin, w.end_logits, w.start_logits) for w in windows]
    spoilt = sealed_again(bundle, tmp_path / "wrong", bare_model(bundle), wrong)
    with pytest.raises(ProbeError, match="computes this fp32 model wrongly"):
        IsolatedRuntime(spoilt, 1)


def test_the_process_goes_with_its_runtime(tiny_export):
    runtime = IsolatedRuntime(tiny_export("onnx"), 1)
    process = runtime._process
    del runtime
    assert process.poll() is not None


@pytest.mark.parametrize("stop", [KeyboardInterrupt, "timeout"])
def test_after_a_request_without_a_reply_no_answer_is_of_stale_logits(monkeypatch, stop):
    model = qa.load(isolated=True)
    model.answer("Who was born?", CONTEXT)

    def interrupted():
        raise KeyboardInterrupt

    if stop == "timeout":
        os.kill(model.runtime._process.pid, signal.SIGSTOP)  # even an idle machine gets no reply in time
        monkeypatch.setattr(model.runtime, "_timeout_s", 0.1)
        with pytest.raises(RemoteError, match=r"within 0\.1 seconds"):
            model.answer("Who was born?", CONTEXT)
        monkeypatch.undo()
    else:
        monkeypatch.setattr(model.runtime, "_line", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.answer("Who was born?", CONTEXT)
        monkeypatch.undo()
    with pytest.raises(RemoteError, match="interrupted request"):
        model.answer("When did she die?", CONTEXT)
