"""The page's JavaScript core in Node: it must accept, refuse, tokenize and answer exactly as Python does."""

import pytest
from android_tokens import differing_tokens
from package_faults import differing, mutated_files, verdicts_of
from places import ROOT
from unicode_texts import generated_texts
from web_core import NodeCore, compare_questions

from export.android.check import answer_here, choose_examples, differences
from qa.data.datasets import EMBEDDED, resolve
from qa.data.squad import read_squad
from qa.formats.precision import PRECISIONS
from qa.runtime.runtimes import load_runtime

pytestmark = pytest.mark.system


def test_questions_over_made_up_logits_are_answered_as_in_python(page_model, tmp_path):
    differ, tally = compare_questions(page_model, 150, 3, tmp_path)
    assert (differ, tally["preselected"] > 5, 20 < tally["declined"] < 130) == ([], True, True)


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
    with NodeCore(page_model.weights) as core:
        assert list(differing_tokens(core, page_model.tokenizer, generated_texts(500, 4))) == []


CHECKER = ["node", str(ROOT / "tests/export/web/package_check.mjs")]


def test_the_page_says_of_mutated_files_what_the_app_says(tmp_path):
    files = mutated_files(tmp_path)
    assert differing(files, verdicts_of(CHECKER, files)) == []


def test_the_page_refuses_more_bytes_than_any_packer_makes(padded):
    verdicts = verdicts_of(CHECKER, [padded(extra) for extra in (60, 100)])
    assert [verdict == "ok" for verdict in verdicts.values()] == [True, False]
