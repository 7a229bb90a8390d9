"""Shared parts of standalone models: token embedding by word and characters, scores of passage and question.

The models read the teacher's tokens, so their logits can be compared. Question and passage share one window
and are told apart by masks. Characters come from a constant table by token id, so the model's inputs stay
those of every other one.

Letters: B batch, T tokens of a window, Q tokens that may hold the question, E word size, C characters of a
token, D width.
"""

from collections import Counter
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from qa.models.heads.qermit import Highway
from qa.text.tokenization import vocabulary

NO_CHARACTER = 0
OTHER_CHARACTER = 1
# The character table's last column. Int8 rows are scaled by their largest value: with 127 in each, every id
# is stored exactly.
EXACT = 127


def character_table(tokenizer: Tokenizer, n_tokens: int, word_length: int, n_characters: int) -> Tensor:
    """Return (n_tokens, word_length + 1) floats: ids of each token's first characters, 0 for none; EXACT at
    the end.

    The characters of the most tokens get an id each, less than `n_characters` (at most 127); others share
    one.
    """
    tokens = [(token or "").removeprefix("##") for token in vocabulary(tokenizer)]
    counts = Counter(character for token in tokens for character in set(token))
    frequent = sorted(counts, key=lambda c: (-counts[c], c))[: n_characters - 2]
    ids = {character: number for number, character in enumerate(frequent, start=2)}
    table = torch.full((n_tokens, word_length + 1), float(NO_CHARACTER))
    for row, token in zip(table, tokens, strict=False):
        known = [ids.get(character, OTHER_CHARACTER) for character in token[:word_length]]
        row[: len(known)] = torch.tensor(known, dtype=torch.float)
    table[:, -1] = EXACT
    return table


class TokenEmbedding(nn.Module):
    """Word vector and maximum over the characters' convolution of a token, through two highways."""

    KERNEL = 5

    def __init__(self, config: Any, width: int) -> None:
        """`config` has vocab_size, word_size, n_characters, word_length, character_size and dropout."""
        super().__init__()
        self.words = nn.Embedding(config.vocab_size, config.word_size)
        self.word = nn.Linear(config.word_size, width, bias=False)
        self.characters = nn.Embedding(config.n_characters, config.character_size, padding_idx=NO_CHARACTER)
        self.character = nn.Linear(self.KERNEL * config.character_size, width)
        self.highway = nn.Sequential(Highway(2 * width), Highway(2 * width))
        self.dropout = nn.Dropout(config.dropout)
        self.register_buffer("table", torch.zeros(config.vocab_size, config.word_length + 1))

    def forward(self, input_ids: Tensor) -> Tensor:
        """Map (B, T) to (B, T, 2 D)."""
        ids = functional.embedding(input_ids, self.get_buffer("table"))[..., :-1].float()
        characters = self.dropout(self.characters((ids + 0.5).int()))  # (B, T, C, character size)
        n_windows = characters.shape[2] - self.KERNEL + 1
        windows = torch.cat([characters[:, :, k : k + n_windows] for k in range(self.KERNEL)], dim=-1)
        by_character = self.character(windows).relu().amax(dim=2)  # (B, T, D)
        by_word = self.word(self.dropout(self.words(input_ids)))
        return self.highway(torch.cat([by_word, by_character], dim=-1))


class TrilinearScores(nn.Module):
    """S[i, j] = w . [c_i, q_j, c_i * q_j]: score of a context and a question token (Seo et al. 2017)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.context = nn.Linear(width, 1, bias=False)
        self.question = nn.Linear(width, 1, bias=False)
        self.product = nn.Parameter(torch.empty(width).uniform_(-(width**-0.5), width**-0.5))

    def scores(self, context: Tensor, question: Tensor) -> Tensor:
        """Map context (B, T, D) and question (B, Q, D) to (B, T, Q), without joining every pair's vectors."""
        products = (context * self.product) @ question.transpose(1, 2)
        return products + self.context(context) + self.question(question).transpose(1, 2)


class StandaloneModel(nn.Module):
    """Standalone model without output layer; called like transformers' encoders, with the plain mask."""

    truncates_question = True

    def __init__(self, embedding: TokenEmbedding) -> None:
        super().__init__()
        self.embedding = embedding

    @property
    def dtype(self) -> torch.dtype:
        """Type of its states."""
        return self.embedding.word.weight.dtype

    def set_attn_implementation(self, name: str) -> None:
        """Do nothing: its attention consists of plain operators."""

    def get_input_embeddings(self) -> nn.Module:
        """Return the word embedding table."""
        return self.embedding.words

    def set_input_embeddings(self, table: nn.Module) -> None:
        """Replace the word embedding table."""
        self.embedding.register_module("words", table)

    def init_from_teacher(self, words: Tensor, tokenizer: Tokenizer) -> None:
        """Copy a teacher's word vectors (V, E), and set the characters of its tokens."""
        table = self.embedding.get_buffer("table")
        with torch.no_grad():
            self.embedding.words.weight.copy_(words)
            table.copy_(
                character_table(
                    tokenizer, len(table), table.shape[1] - 1, self.embedding.characters.num_embeddings
                )
            )
