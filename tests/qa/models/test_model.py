"""Models: published parameter counts, saving and loading, parity with transformers' own question-answering
class."""

import pytest
import torch
from transformers import (
    BertConfig,
    BertForQuestionAnswering,
    DistilBertConfig,
    DistilBertForQuestionAnswering,
)

from qa.base.errors import BundleError, OptionError
from qa.models.encoders import Encoder
from qa.models.heads import HEADS, build_head
from qa.models.model import QAModel
from qa.models.surgery import keep_heads, keep_neurons

TINY_BERT = {
    "vocab_size": 90,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
}
TINY_DISTILBERT = {"vocab_size": 90, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48}
CONFIGS = {"bert": lambda: BertConfig(**TINY_BERT), "distilbert": lambda: DistilBertConfig(**TINY_DISTILBERT)}


def build(config, head):
    """On the meta device: shapes without memory."""
    with torch.device("meta"):
        return QAModel(Encoder(config), head)


def inputs(seed=0, length=12):
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(1, 90, (2, length), generator=generator)
    mask = torch.ones_like(ids)
    mask[1, -4:] = 0
    types = (torch.arange(length) > 4).long().expand(2, -1) * mask
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}


def test_published_parameter_counts():
    assert sum(p.numel() for p in build_head("4l-gelu-skip", 768).parameters()) == 1_870_722
    assert build(DistilBertConfig(), "linear").count_parameters().total == 66_364_418
    assert build(DistilBertConfig(), "4l-gelu-skip").count_parameters().total == 68_233_602
    assert build(BertConfig(), "4l-gelu-skip").count_parameters().total == 110_762_370


def test_count_without_embeddings_leaves_out_the_lookup_tables():
    counts = build(BertConfig(), "linear").count_parameters()
    assert counts.total - counts.without_embeddings == (30522 + 512 + 2) * 768


@pytest.mark.parametrize(
    ("kind", "theirs"), [("bert", BertForQuestionAnswering), ("distilbert", DistilBertForQuestionAnswering)]
)
def test_linear_head_equals_transformers_own_model(kind, theirs):
    torch.manual_seed(0)
    config = CONFIGS[kind]()
    reference = theirs(config).eval()
    model = QAModel(Encoder(config), "linear").eval()
    model.encoder.model.load_state_dict(getattr(reference, kind).state_dict(), strict=False)
    model.head.output.load_state_dict(reference.qa_outputs.state_dict())
    batch = inputs()
    wanted = reference(**{k: v for k, v in batch.items() if kind == "bert" or k != "token_type_ids"})
    seen = model(**batch)
    keep = batch["attention_mask"].bool()
    for name in ("start_logits", "end_logits"):
        assert (seen[name] - getattr(wanted, name))[keep].abs().max() < 1e-5


@pytest.mark.parametrize("head", sorted(HEADS))
@pytest.mark.parametrize("kind", sorted(CONFIGS))
def test_saved_model_computes_the_same(tmp_path, kind, head):
    model = QAModel(Encoder(CONFIGS[kind]()), head, "gelu_tanh", seed=1).eval()
    parts = model.encoder.layer_parts()
    keep_heads(parts[1], torch.tensor([0, 2]))
    keep_neurons(parts[0], torch.tensor([1, 5, 7]))
    model.save_pretrained(tmp_path)
    again = QAModel.from_pretrained(tmp_path)
    batch = inputs()
    assert torch.equal(again(**batch)["start_logits"], model(**batch)["start_logits"])
    assert again.config() == model.config()
    assert [p.n_heads for p in again.encoder.layer_parts()] == [4, 2]
    assert [p.n_neurons for p in again.encoder.layer_parts()] == [3, 48]


@pytest.mark.parametrize("head", sorted(HEADS))
@pytest.mark.parametrize("kind", sorted(CONFIGS))
def test_padding_does_not_change_an_answer(kind, head):
    torch.manual_seed(0)
    model = QAModel(Encoder(CONFIGS[kind]()), head).eval()
    batch = inputs()
    padded = {name: torch.nn.functional.pad(tensor, (0, 7)) for name, tensor in batch.items()}
    keep = batch["attention_mask"].bool()
    difference = model(**padded)["end_logits"][:, :12] - model(**batch)["end_logits"]
    assert difference[keep].abs().max() < 1e-5


@pytest.mark.parametrize("kind", sorted(CONFIGS))
def test_neurons_and_heads_that_put_nothing_out_can_be_removed(kind):
    torch.manual_seed(0)
    model = QAModel(Encoder(CONFIGS[kind]()), "linear").eval()
    batch = inputs()
    with torch.no_grad():
        for parts in model.encoder.layer_parts():
            parts.down.weight[:, [0, 9, 47]] = 0
            parts.attention_output.weight[:, 8:16] = 0  # head 1 of size 8
        wanted = model(**batch)["start_logits"]
        for parts in model.encoder.layer_parts():
            keep_neurons(parts, torch.tensor([i for i in range(48) if i not in (0, 9, 47)]))
            keep_heads(parts, torch.tensor([0, 2, 3]))
    seen = model(**batch)["start_logits"]
    assert (seen - wanted).abs().max() < 1e-6
    assert model.encoder.layer_parts()[0].up.weight.shape == (45, 32)
    assert model.encoder.layer_parts()[0].query.weight.shape == (24, 32)


def test_skip_head_adds_the_encoder_output_after_the_second_gelu():
    head = build_head("4l-gelu-skip", 16)
    with torch.no_grad():
        for layer in head.layers[:2]:
            layer.weight.zero_()
            layer.bias.zero_()
    states = torch.randn(1, 3, 16)
    wanted = head.layers[3](
        torch.nn.functional.gelu(head.layers[2](states))
    )  # GELU(0) = 0, so only the skip is left
    assert torch.allclose(head(states, torch.ones(1, 3), torch.zeros(1, 3)), wanted)


def test_unknown_names_list_the_known_ones(tmp_path):
    with pytest.raises(OptionError, match=f"unknown head '5l'; known heads: {', '.join(HEADS)}"):
        build_head("5l", 8)
    with pytest.raises(OptionError, match="bert, distilbert"):
        QAModel.from_config({"encoder": {"model_type": "gpt2"}, "head": {}}, "config.json")


def test_config_that_does_not_fit_is_refused(tmp_path):
    model = QAModel(Encoder(CONFIGS["bert"]()), "linear")
    config = model.config()
    with pytest.raises(BundleError, match="heads_per_layer"):
        QAModel.from_config({k: v for k, v in config.items() if k != "heads_per_layer"}, "c")
    with pytest.raises(BundleError, match="layer 0: 5 heads"):
        QAModel.from_config(config | {"heads_per_layer": [5, 4]}, "c")
    model.save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"\x10" + b"\0" * 40)
    with pytest.raises(BundleError, match=r"model\.safetensors"):
        QAModel.from_pretrained(tmp_path)
