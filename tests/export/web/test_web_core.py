"""The page's JavaScript core in Node: it must accept, refuse, tokenize and answer exactly as Python does."""

from dataclasses import replace

import numpy as np
import pytest
from package_faults import differing, faulty_copies, mutated_files, verdicts_of, with_settings
from places import ROOT
from web_core import NodeCore, Tally, compare_questions, compare_tokens

from export.android.check import answer_here, choose_examples, differences
from export.android.package import read_package
from qa.base.errors import BundleError
from qa.data.datasets import EMBEDDED, resolve
from qa.data.squad import read_squad
from qa.formats.package import MOST_SETTINGS
from qa.formats.precision import PRECISIONS
from qa.runtime.runtimes import load_runtime
from qa.text.answers import decode

pytestmark = pytest.mark.system


def test_questions_over_made_up_logits_are_answered_as_in_python(page_model, tmp_path):
    tally = Tally()
    assert compare_questions(page_model, 150, 3, tmp_path, tally) == []
    assert (tally.questions, tally.preselected > 5, 20 < tally.declined < 130) == (150, True, True)


def test_a_model_with_one_token_type_answers_as_in_python(export_once):
    bundle = export_once("tflite", "int8", (128,), encoder="bert-1-type", head="linear")[1]
    runtime = load_runtime(bundle, 1)
    examples = choose_examples(read_squad(resolve(EMBEDDED, "dev")), 20)
    with NodeCore(bundle.weights) as core:
        assert core.check_probe(runtime) < PRECISIONS["int8"].probe_tolerance
        for example, expected in zip(examples, answer_here(examples, bundle, runtime), strict=True):
            answer = core.ask(example.context, example.question, runtime)
            assert differences(example, expected, answer, bundle.settings.null_threshold) == ""


def test_texts_over_all_of_unicode_have_the_training_tokenizers_tokens(page_model):
    tally = Tally()
    assert compare_tokens(page_model, 500, 4, tally) == []
    assert tally.texts == 500


def test_the_comparison_can_fail(page_model, tmp_path, monkeypatch):
    """Python decodes with another length limit than the file says."""

    def decode_shorter(windows, logits, settings):
        return decode(windows, logits, replace(settings, max_answer_length=2))

    monkeypatch.setattr("web_core.decode", decode_shorter)
    assert compare_questions(page_model, 10, 3, tmp_path, Tally()) != []


def test_the_probe_runs_and_refuses_a_runtime_that_computes_wrongly(page_model):
    runtime = load_runtime(page_model, 1)

    def shifted(inputs):
        start, end = runtime(inputs)
        return np.roll(start, 1, 1), np.roll(end, 1, 1)

    with NodeCore(page_model.weights) as core:
        difference = core.check_probe(runtime)
        assert 0 < difference < PRECISIONS["int8"].probe_tolerance
        with pytest.raises(BundleError, match="wrongly"):
            core.check_probe(shifted)
        assert core.check_probe(runtime) == difference  # and the process goes on


def test_page_and_exporter_have_the_same_bounds(page_model, tmp_path):
    settings = read_package(page_model.weights).info["settings"]
    most = {name: MOST_SETTINGS[name] for name in ("n_best", "doc_stride", "max_answer_length")}
    bounds = [*most.items(), ("max_question_length", settings["max_length"] - 5)]
    for name, value in bounds:
        path = with_settings(page_model.weights, tmp_path / "model.tflite", {name: value})
        NodeCore(path).close()
        with_settings(page_model.weights, path, {name: value + 1})
        with pytest.raises(BundleError, match=r"max_length" if "question" in name else name):
            NodeCore(path)


def test_what_python_refuses_the_page_refuses(page_model, tmp_path):
    for path in faulty_copies(page_model.weights, tmp_path):
        with pytest.raises(BundleError) as refusal:
            NodeCore(path)
        assert len(str(refusal.value).splitlines()) == 1, path.name


CHECKER = ["node", str(ROOT / "tests/export/web/package_check.mjs")]


def test_the_page_says_of_mutated_files_what_the_app_says(tmp_path):
    files = mutated_files(tmp_path)
    assert differing(files, verdicts_of(CHECKER, files)) == []


def test_the_page_refuses_more_bytes_than_any_packer_makes(padded):
    verdicts = verdicts_of(CHECKER, [padded(extra) for extra in (60, 100)])
    assert [verdict == "ok" for verdict in verdicts.values()] == [True, False]
