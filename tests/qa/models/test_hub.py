"""Bundles opened by transformers: the same logits and tokens where it has a class for a model, a refusal
where it has none."""

import numpy as np
import pytest
import torch
from tiny_models import ENCODER_CONFIGS
from transformers import AutoConfig, AutoModelForQuestionAnswering, AutoTokenizer

from export.parity import real_windows
from qa.bundles.bundle import CARD, open_bundle
from qa.data.squad import Example
from qa.models.hub import hub_config
from qa.models.model import QAModel
from qa.text.features import collate, make_windows


@pytest.mark.parametrize("encoder", ENCODER_CONFIGS)
def test_a_linear_head_on_a_whole_encoder_opens_in_transformers(make_bundle, encoder):
    bundle = open_bundle(make_bundle(encoder, "linear"))
    theirs, info = AutoModelForQuestionAnswering.from_pretrained(bundle.path, output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    ours = QAModel.from_pretrained(bundle.path)
    taken = AutoTokenizer.from_pretrained(bundle.path).model_input_names
    for window in real_windows(bundle, 8):
        inputs = {name: torch.from_numpy(array) for name, array in collate([window]).items()}
        with torch.no_grad():
            wanted = ours(**inputs)
            seen = theirs.eval()(**{name: inputs[name] for name in taken})
        assert torch.allclose(wanted["start_logits"], seen.start_logits, atol=1e-5, rtol=0)
        assert torch.allclose(wanted["end_logits"], seen.end_logits, atol=1e-5, rtol=0)
    assert "AutoModelForQuestionAnswering.from_pretrained" in (bundle.path / CARD).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("head", "pruned", "reason"),
    [
        ("4l-gelu-skip", False, "transformers has no head 4l-gelu-skip, only one Linear"),
        ("linear", True, "its layers were pruned, each to a size of its own"),
        ("qanet", False, "qanet is a model of PocketQA's own"),
    ],
)
def test_any_other_is_refused_and_the_card_says_why(make_bundle, make_whole_bundle, head, pruned, reason):
    path = make_whole_bundle(head).path if head == "qanet" else make_bundle("bert", head, pruned)
    with pytest.raises(ValueError, match="pocketqa"):
        AutoModelForQuestionAnswering.from_pretrained(path)
    assert f"does not open it: {reason}." in (path / CARD).read_text(encoding="utf-8")


@pytest.mark.parametrize("encoder", ["bert", "distilbert", "roberta"])
def test_transformers_tokenizer_makes_our_windows(make_bundle, encoder):
    """Also where a text has a separator written in it, which is text."""
    bundle = open_bundle(make_bundle(encoder, "linear"))
    tokenizer = AutoTokenizer.from_pretrained(bundle.path)
    question = "Which tram is it?"
    passage = "Züri's [SEP] tram </s> is blue, 汉字 too."
    (window,) = make_windows(
        [Example("q", "", passage, question, (), False)], bundle.tokenizer, bundle.settings
    )
    ours = collate([window])
    theirs = tokenizer(question, passage, return_offsets_mapping=True)
    assert theirs["input_ids"] == window.input_ids.tolist()
    assert ("token_type_ids" in theirs) == (encoder == "bert")
    if encoder == "bert":
        assert theirs["token_type_ids"] == ours["token_type_ids"][0].tolist()
    offsets = np.array(theirs["offset_mapping"])[window.context_begin : -1]
    assert offsets.tolist() == np.stack([window.char_starts, window.char_ends], axis=1).tolist()
    assert tokenizer.model_max_length == bundle.settings.max_length


def test_an_export_names_the_class_of_its_encoder_and_no_weights_to_fill_in(tiny_export):
    path = tiny_export("onnx").path
    assert AutoConfig.from_pretrained(path).architectures == ["BertForQuestionAnswering"]
    assert AutoTokenizer.from_pretrained(path)("a", "b")["token_type_ids"] == [0, 0, 0, 1, 1]
    with pytest.raises(OSError, match=r"model\.safetensors"):
        AutoModelForQuestionAnswering.from_pretrained(path)


def test_labels_of_another_task_stay_behind():
    config = ENCODER_CONFIGS["bert"]()
    config.num_labels = 3
    assert config.num_labels == 3
    assert not {"id2label", "label2id"} & hub_config(config).keys()
