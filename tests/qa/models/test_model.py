"""Models: published parameter counts, and configs that do not fit; test_encoders.py has the rest."""

import pytest
import torch
from tiny_models import SIZES
from transformers import BertConfig

from qa.base.errors import BundleError, OptionError
from qa.models.encoders import Encoder
from qa.models.heads import HEADS, build_head
from qa.models.model import QAModel

TINY_BERT = {**SIZES, "num_hidden_layers": 2}


def build(config, head):
    """On the meta device: shapes without memory."""
    with torch.device("meta"):
        return QAModel(Encoder(config), head)


def test_count_without_embeddings_leaves_out_the_lookup_tables():
    counts = build(BertConfig(), "linear").count_parameters()
    assert counts.total - counts.without_embeddings == (30522 + 512 + 2) * 768


def test_skip_head_adds_the_encoder_output_after_the_second_gelu():
    head = build_head("4l-gelu-skip", 16)
    with torch.no_grad():
        for layer in head.layers[:2]:
            layer.weight.zero_()
            layer.bias.zero_()
    states = torch.randn(1, 3, 16)
    # GELU(0) = 0, so only the skip is left.
    wanted = head.layers[3](torch.nn.functional.gelu(head.layers[2](states)))
    assert torch.allclose(head(states, torch.ones(1, 3), torch.zeros(1, 3)), wanted)


def test_unknown_names_list_the_known_ones():
    with pytest.raises(OptionError, match=f"unknown head '5l'; known heads: {', '.join(HEADS)}"):
        build_head("5l", 8)
    with pytest.raises(OptionError, match="bert, distilbert"):
        QAModel.from_config({"encoder": {"model_type": "gpt2"}, "head": {}}, "config.json")


def test_a_config_names_no_kernels():
    config = QAModel(Encoder(BertConfig(**TINY_BERT)), "linear").config()
    config["encoder"] |= {"attn_implementation": "a/kernel", "_attn_implementation": "a/kernel"}
    assert "/" not in QAModel.from_config(config).encoder.config._attn_implementation


def test_config_that_does_not_fit_is_refused(tmp_path):
    model = QAModel(Encoder(BertConfig(**TINY_BERT)), "linear")
    config = model.config()
    with pytest.raises(BundleError, match="heads_per_layer"):
        QAModel.from_config({k: v for k, v in config.items() if k != "heads_per_layer"}, "c")
    with pytest.raises(BundleError, match="layer 0: 5 heads"):
        QAModel.from_config(config | {"heads_per_layer": [5, 4]}, "c")
    model.save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"\x10" + b"\0" * 40)
    with pytest.raises(BundleError, match=r"model\.safetensors"):
        QAModel.from_pretrained(tmp_path)
