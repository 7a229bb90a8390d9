"""QANet (Yu et al. 2018): convolutions and self-attention, no recurrence.

It is a small student for a BERT: it reads the teacher's tokens, so their logits can be compared. Question and
passage share one window and are told apart by masks. The question is read from the first 66 positions, the
passage (with [CLS], which stands for "no answer") from all of them.

Letters: B batch, T tokens of a window, Q its first 66, D width.

Departures: WordPiece tokens instead of words, with the teacher's embeddings (trained on) instead of GloVe; a
token's characters become a vector as wide as the model, and the word vector gets this width before the
highway and not behind it; no stochastic depth; the cross-attention follows the paper's equations, and as in
BERT a window has an output for [CLS].
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import PretrainedConfig
from transformers.modeling_outputs import BaseModelOutput

from qa.models.architectures import EncoderType, plain_mask
from qa.models.heads.segments import FIRST_SEGMENT_TOKENS, MASKED, answer_tokens, first_segment
from qa.models.standalone.parts import EXACT, StandaloneModel, TokenEmbedding, TrilinearScores


class QANetConfig(PretrainedConfig):
    """Sizes; the defaults are the paper's (section 4.1), except a character's own vector: 64 for its 200."""

    model_type = "qanet"

    vocab_size: int = 30522
    word_size: int = 384
    n_characters: int = EXACT
    word_length: int = 16
    character_size: int = 64
    width: int = 128
    n_heads: int = 8
    n_blocks: int = 7
    dropout: float = 0.1
    max_position_embeddings: int = 512

    @property
    def hidden_size(self) -> int:
        """Width of the output layer's input: three passes of the model encoder."""
        return 3 * self.width


def position_table(length: int, width: int) -> Tensor:
    """Return (length, width): sines, then cosines (Vaswani et al. 2017, section 3.5)."""
    rates = torch.exp(torch.arange(width // 2) * (-math.log(10000) / max(1, width // 2 - 1)))
    angles = torch.arange(length)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1)


class Embedding(TokenEmbedding):
    """The tokens' embedding, brought from twice the model's width to it."""

    def __init__(self, config: QANetConfig) -> None:
        super().__init__(config, config.width)
        self.resize = nn.Linear(2 * config.width, config.width, bias=False)

    def forward(self, input_ids: Tensor) -> Tensor:
        """Map (B, T) to (B, T, D)."""
        return self.resize(super().forward(input_ids))


class SeparableConvolution(nn.Module):
    """Depthwise separable convolution over tokens (Chollet 2017): per channel, then across channels."""

    def __init__(self, width: int, kernel: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=width, bias=False)
        self.pointwise = nn.Linear(width, width)

    def forward(self, states: Tensor) -> Tensor:
        """Map (B, T, D) to (B, T, D)."""
        return self.pointwise(self.depthwise(states.transpose(1, 2)).transpose(1, 2)).relu()


class SelfAttention(nn.Module):
    """Multi-head scaled dot-product attention (Vaswani et al. 2017)."""

    def __init__(self, width: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Map states (B, T, D) and the mask (B, T) of visible tokens to (B, T, D)."""
        query, key, value = (
            layer(states).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )  # each (B, heads, T, D / heads)
        scores = query @ key.transpose(2, 3) * query.shape[-1] ** -0.5 + (1 - mask[:, None, None, :]) * MASKED
        return self.output((scores.softmax(dim=-1) @ value).transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Encoder block: positions, convolutions, self-attention, feed-forward, with LayerNorms and residuals."""

    def __init__(self, config: QANetConfig, n_convolutions: int, kernel: int) -> None:
        super().__init__()
        width = config.width
        self.convolutions = nn.ModuleList(SeparableConvolution(width, kernel) for _ in range(n_convolutions))
        self.attention = SelfAttention(width, config.n_heads)
        self.up = nn.Linear(width, width)
        self.down = nn.Linear(width, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(n_convolutions + 2))
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, states: Tensor, mask: Tensor, positions: Tensor) -> Tensor:
        """Map states (B, T, D), mask (B, T), positions (1, T, D) to (B, T, D)."""
        states = states + positions
        for norm, convolution in zip(self.norms, self.convolutions, strict=False):
            states = states + self.dropout(convolution(norm(states) * mask[..., None]))
        states = states + self.dropout(self.attention(self.norms[-2](states), mask))
        return states + self.dropout(self.down(self.up(self.norms[-1](states)).relu()))


class ContextQueryAttention(TrilinearScores):
    """Attention from context to question, and through it back to the context (section 2.2; Seo et al. 2017).

    S[i, j] = w . [c_i, q_j, c_i * q_j], with P its rows' softmax over the question and R its columns' over
    the context:

        A = P q,   B = P R^T c,   result [c, A, c * A, c * B]
    """

    def forward(
        self, context: Tensor, question: Tensor, context_mask: Tensor, question_mask: Tensor
    ) -> Tensor:
        """Map context (B, T, D), question (B, Q, D), their masks (B, T) and (B, Q) to (B, T, 4 D)."""
        scores = self.scores(context, question)  # (B, T, Q)
        rows = (scores + (1 - question_mask[:, None, :]) * MASKED).softmax(dim=-1)
        scores = scores.transpose(1, 2) + (1 - context_mask[:, None, :]) * MASKED  # (B, Q, T)
        columns = scores.softmax(dim=-1)
        to_question = rows @ question
        to_context = rows @ (columns @ context)
        return torch.cat([context, to_question, context * to_question, context * to_context], dim=-1)


class QANet(StandaloneModel):
    """Model without its output layer; called like transformers' encoders, with the plain mask."""

    def __init__(self, config: QANetConfig) -> None:
        super().__init__(Embedding(config))
        self.encode = Block(config, n_convolutions=4, kernel=7)
        self.attend = ContextQueryAttention(config.width)
        self.resize = nn.Linear(4 * config.width, config.width, bias=False)
        self.blocks = nn.ModuleList(Block(config, n_convolutions=2, kernel=5) for _ in range(config.n_blocks))
        self.register_buffer(
            "positions", position_table(config.max_position_embeddings, config.width), persistent=False
        )

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, position_ids: Tensor
    ) -> BaseModelOutput:
        """Map (B, T) each to the states of three passes side by side, (B, T, 3 D)."""
        states = self.embedding(input_ids)  # (B, T, D)
        positions = functional.embedding(position_ids, self.get_buffer("positions"))  # (1, T, D)
        passage_mask = answer_tokens(states, attention_mask, token_type_ids)  # (B, T)
        segment = first_segment(states, attention_mask, token_type_ids)
        question_mask = segment[:, :FIRST_SEGMENT_TOKENS]  # (B, Q)
        passage = self.encode(states, passage_mask, positions)
        question = states[:, :FIRST_SEGMENT_TOKENS]
        question = self.encode(question, question_mask, positions[:, :FIRST_SEGMENT_TOKENS])
        states = self.resize(self.attend(passage, question, passage_mask, question_mask))
        passes = []
        for _ in range(3):
            for block in self.blocks:
                states = block(states, passage_mask, positions)
            passes.append(states)
        return BaseModelOutput(last_hidden_state=torch.cat(passes, dim=-1), hidden_states=())


class QANetOutput(nn.Module):
    """Start from the first and second pass, end from the first and third (section 2.2, output layer)."""

    def __init__(self, config: QANetConfig) -> None:
        super().__init__()
        self.start = nn.Linear(2 * config.width, 1)
        self.end = nn.Linear(2 * config.width, 1)

    def forward(self, states: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Map (B, T, 3 D) to (B, T, 2)."""
        first, second, third = states.chunk(3, dim=-1)
        start = self.start(torch.cat([first, second], dim=-1))
        end = self.end(torch.cat([first, third], dim=-1))
        return torch.cat([start, end], dim=-1)


ENTRY = EncoderType(
    QANetConfig,
    QANet,
    layers=lambda model: [],
    parts=None,
    mask=plain_mask,
    unprunable="its blocks are small already, and run three times",
    no_qat="a TFLite file also rounds its tables of characters and positions",
    output=QANetOutput,
)
