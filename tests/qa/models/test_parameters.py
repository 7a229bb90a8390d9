"""Parameter counts in docs/models.md: those of the code, and of the published files."""

import pytest
import torch
from places import ROOT
from transformers import (
    AlbertConfig,
    BertConfig,
    DistilBertConfig,
    MobileBertConfig,
    MPNetConfig,
    RobertaConfig,
)

from qa.models.architectures import encoder_type
from qa.models.encoders import Encoder
from qa.models.heads import HEADS, build_head
from qa.models.model import QAModel
from qa.models.standalone import STANDALONE_MODELS

# Sizes of the published configurations; the defaults of transformers are those of bert-base.
MINILM = {"hidden_size": 384, "num_attention_heads": 12, "intermediate_size": 1536}
CONFIGS = {
    "bert-base-uncased": BertConfig(),
    "distilbert-base-uncased": DistilBertConfig(),
    "microsoft/mpnet-base": MPNetConfig(max_position_embeddings=514),
    "roberta-base": RobertaConfig(max_position_embeddings=514, type_vocab_size=1),
    "albert-base-v2": AlbertConfig(hidden_size=768, num_attention_heads=12, intermediate_size=3072),
    "google/mobilebert-uncased": MobileBertConfig(),
    "microsoft/MiniLM-L12-H384-uncased": BertConfig(**MINILM, num_hidden_layers=12),
    "minilm-l6": BertConfig(**MINILM, num_hidden_layers=6),
}
POOLER = {768: 768 * 768 + 768, 384: 384 * 384 + 384}
# As the hub counts the weights of the published files.
PUBLISHED = {
    "bert-base-uncased": 109_482_240 - POOLER[768],
    "distilbert-base-uncased": 66_362_880,
    "microsoft/mpnet-base": 108_895_872,
    "roberta-base": 124_645_632 - POOLER[768],
    "albert-base-v2": 11_683_584 - POOLER[768],
    "google/mobilebert-uncased": 24_581_888,
    "microsoft/MiniLM-L12-H384-uncased": 33_360_000 - POOLER[384],
    "minilm-l6": 22_713_216 - POOLER[384],
}
LINES = [
    line.strip("| ").split(" | ")
    for line in (ROOT / "docs" / "models.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ")
]


def of_docs(heading):
    """The lines of the table whose first column has this heading, by their first cell."""
    begin = next(number for number, cells in enumerate(LINES) if cells[0] == heading) + 2
    n_columns = len(LINES[begin - 1])
    end = next((n for n in range(begin, len(LINES)) if len(LINES[n]) != n_columns), len(LINES))
    return {cells[0]: cells[1:] for cells in LINES[begin:end]}


def count(module):
    return sum(p.numel() for p in module.parameters())


@pytest.mark.system  # makes every published model once
def test_encoders_have_the_counts_of_the_docs_and_of_the_published_files():
    docs = of_docs("model")
    for name, config in CONFIGS.items():
        with torch.device("meta"):
            encoder = count(Encoder(config))
            inside = QAModel(Encoder(config), "linear").count_parameters().without_embeddings
        inside -= count(build_head("linear", config.hidden_size))
        assert encoder == PUBLISHED[name]
        size = [config.model_type, str(config.num_hidden_layers), str(config.hidden_size)]
        assert docs[name] == [*size, f"{encoder / 1e6:.2f}M", f"{inside / 1e6:.2f}M"]


@pytest.mark.parametrize("name", STANDALONE_MODELS)
def test_standalone_models_have_the_counts_of_the_docs(name):
    config = encoder_type(name).config_class()
    with torch.device("meta"):
        counts = QAModel(Encoder(config), name).count_parameters()
    size = [name, "–", str(config.width)]
    counted = [f"{counts.total / 1e6:.2f}M", f"{counts.without_embeddings:,}"]
    assert of_docs("model")[f"{name} (standalone)"] == [*size, *counted]


def test_heads_have_the_counts_of_the_docs():
    docs = of_docs("head")
    with torch.device("meta"):
        assert docs == {name: [f"{count(build_head(name, w)):,}" for w in (384, 768)] for name in HEADS}
    assert docs["linear"] == ["770", "1,538"], "2 H + 2"
    assert docs["4l-relu"][1] == f"{768 * 1024 + 1024 + 1024 * 200 + 200 + 200 * 2 + 2:,}"
