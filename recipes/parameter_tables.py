"""Parameter counts of every encoder, head and standalone model, as tables. Nothing is downloaded.

python recipes/parameter_tables.py
python recipes/parameter_tables.py --write docs/models.md
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import (
    AlbertConfig,
    BertConfig,
    DistilBertConfig,
    MobileBertConfig,
    MPNetConfig,
    RobertaConfig,
)

from benchmarks.show.tables import Table, check_markers, number, show, text_table
from qa.base.cli import run_with
from qa.data.origins import MINILM as MINILM_NAME
from qa.models.architectures import encoder_type
from qa.models.encoders import Encoder
from qa.models.heads import HEADS, build_head
from qa.models.model import QAModel
from qa.models.standalone import STANDALONE_MODELS

# Sizes of the published configurations, by hub name; the defaults of transformers are those of bert-base.
MINILM: dict[str, Any] = {"hidden_size": 384, "num_attention_heads": 12, "intermediate_size": 1536}
ENCODER_CONFIGS = {
    "bert-base-uncased": BertConfig(),
    "distilbert-base-uncased": DistilBertConfig(),
    "microsoft/mpnet-base": MPNetConfig(max_position_embeddings=514),
    "roberta-base": RobertaConfig(max_position_embeddings=514, type_vocab_size=1),
    "albert-base-v2": AlbertConfig(hidden_size=768, num_attention_heads=12, intermediate_size=3072),
    "google/mobilebert-uncased": MobileBertConfig(),
    "microsoft/MiniLM-L12-H384-uncased": BertConfig(**MINILM, num_hidden_layers=12),
    MINILM_NAME: BertConfig(**MINILM, num_hidden_layers=6),
}
HEAD_WIDTHS = {"MiniLM": 384, "BERT-base": 768}
MARKERS_NAME = "parameters"


@dataclass(frozen=True)
class ParametersOptions:
    """Show the parameter counts of all models."""

    write: Path | None = None
    """Markdown file; the tables replace the text between the markers of the name parameters."""

    def __post_init__(self) -> None:
        if self.write is not None:
            check_markers(self.write, MARKERS_NAME)


def count(module: nn.Module) -> int:
    """Count the parameters of a module, each once."""
    return sum(p.numel() for p in module.parameters())


def millions(value: int) -> str:
    """Return a number of parameters in millions."""
    return number(value, ".2f", 1e-6, "M")


def model_table() -> Table:
    """Return the table of all encoders, without a head, and of all standalone models."""
    cells = []
    for name, config in ENCODER_CONFIGS.items():
        counts = QAModel(Encoder(config), "linear").count_parameters()
        head = count(build_head("linear", config.hidden_size))
        total = counts.total - head
        inside = counts.without_embeddings - head
        layers = str(config.num_hidden_layers)
        width = str(config.hidden_size)
        cells.append((name, config.model_type, layers, width, millions(total), millions(inside)))
    for name in STANDALONE_MODELS:
        config = encoder_type(name).config_class()
        counts = QAModel(Encoder(config), name).count_parameters()
        width = str(config.width)
        n_inside = f"{counts.without_embeddings:,}"
        cells.append((f"{name} (standalone)", name, "–", width, millions(counts.total), n_inside))
    footnotes = (
        "non-emb.: without the embedding tables of words, characters, positions and token types; encoders "
        "without the pooler, which no head reads",
        "standalone models with the word embeddings of a MiniLM teacher (30,522 vectors of 384)",
    )
    headings = ("model", "type", "layers", "width", "params", "non-emb.")
    return text_table("Encoders and standalone models", headings, cells, footnotes, n_left=2)


def head_table() -> Table:
    """Return the table of all heads, with their parameters at the width of MiniLM and of BERT-base."""
    cells = [
        (name, *(f"{count(build_head(name, width)):,}" for width in HEAD_WIDTHS.values())) for name in HEADS
    ]
    headings = ("head", *(f"on {name}, {width} wide" for name, width in HEAD_WIDTHS.items()))
    return text_table("Parameters of the heads", headings, cells)


def main(config: ParametersOptions) -> str:
    """Print the tables, or write them into a file. Return them as text."""
    with torch.device("meta"):  # without memory for the weights
        tables = [model_table(), head_table()]
    return show(tables, config.write, MARKERS_NAME)


if __name__ == "__main__":
    run_with(ParametersOptions, lambda: main)
