"""Tiny random models of every encoder, for tests that need no trained weights."""

import torch
from made_tokenizers import byte_pairs, mpnet_pieces
from torch import nn
from transformers import (
    AlbertConfig,
    BertConfig,
    BertModel,
    DistilBertConfig,
    ElectraConfig,
    MobileBertConfig,
    MPNetConfig,
    RobertaConfig,
)

from qa.models.encoders import Encoder
from qa.models.model import QAModel
from qa.models.pretrained import copy_tokenizer, embedded_folder
from qa.models.surgery import keep_heads, keep_neurons

VOCABULARY_SIZE = 30522
SIZES = {"vocab_size": VOCABULARY_SIZE, "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 128}
ENCODER_CONFIGS = {
    "bert": lambda: BertConfig(**SIZES, num_hidden_layers=2),
    "bert-1-layer": lambda: BertConfig(**SIZES, num_hidden_layers=1),
    "bert-128-positions": lambda: BertConfig(**SIZES, num_hidden_layers=1, max_position_embeddings=128),
    "bert-1-type": lambda: BertConfig(**SIZES, num_hidden_layers=1, type_vocab_size=1),
    "albert": lambda: AlbertConfig(**SIZES, num_hidden_layers=2, embedding_size=32),
    "roberta": lambda: RobertaConfig(
        **SIZES, num_hidden_layers=2, type_vocab_size=1, max_position_embeddings=514
    ),
    "mobilebert": lambda: MobileBertConfig(
        **SIZES, num_hidden_layers=1, embedding_size=64, intra_bottleneck_size=32
    ),
    "mpnet": lambda: MPNetConfig(
        **SIZES | {"vocab_size": VOCABULARY_SIZE + 5}, num_hidden_layers=2, max_position_embeddings=514
    ),
    "electra": lambda: ElectraConfig(**SIZES, num_hidden_layers=2, embedding_size=32),
    "distilbert": lambda: DistilBertConfig(
        vocab_size=VOCABULARY_SIZE, dim=64, n_layers=2, n_heads=4, hidden_dim=128
    ),
}


def spread_weights(model, biases=True, norms=False):
    """Draw weights again, for logits with a deviation of 1 or so: the usual tiny ones hide differences."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=module.in_features**-0.5)
            if biases and module.bias is not None:
                nn.init.normal_(module.bias, std=0.1)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight)
        elif norms and isinstance(module, nn.LayerNorm):
            nn.init.normal_(module.weight, mean=1.0, std=0.1)
            nn.init.normal_(module.bias, std=0.1)
    return model


def write_encoder(folder):
    """Write a random BERT without a head as transformers does, with MiniLM's tokenizer."""
    torch.manual_seed(0)
    model = BertModel(BertConfig(**SIZES, num_hidden_layers=2), add_pooling_layer=False)
    spread_weights(model, biases=False)
    model.save_pretrained(folder)
    copy_tokenizer(embedded_folder(), folder)


WRITE_TOKENIZER = {"roberta": byte_pairs, "mpnet": mpnet_pieces}


def one_layer(n_heads, n_positions, head="linear"):
    """A BERT of one layer with random weights, for 64 tokens."""
    config = BertConfig(
        vocab_size=64,
        hidden_size=8 * n_heads,
        num_hidden_layers=1,
        num_attention_heads=n_heads,
        intermediate_size=16,
        max_position_embeddings=n_positions,
    )
    torch.manual_seed(n_heads)
    return QAModel(Encoder(config), head).eval()


def tiny_model(encoder, head, pruned, seed):
    """A random model whose logits have a deviation of 1."""
    torch.manual_seed(seed)
    model = QAModel(Encoder(ENCODER_CONFIGS[encoder]()), head, seed=seed).eval()
    spread_weights(model, norms=True)
    if pruned:
        first, last = model.encoder.layer_parts()
        keep_heads(first, torch.tensor([0, 2, 3]))
        keep_neurons(first, torch.arange(100))
        keep_heads(last, torch.tensor([1]))
        keep_neurons(last, torch.arange(61))
    ids = torch.randint(1000, VOCABULARY_SIZE, (1, 64))
    with torch.no_grad():
        deviation = model(ids, torch.ones_like(ids), torch.zeros_like(ids))["start_logits"].std()
        output = [module for module in model.head.modules() if isinstance(module, nn.Linear)][-1]
        output.weight /= deviation
        output.bias /= deviation
    return model
