"""BiDAF (Seo et al. 2017): bidirectional LSTMs, and attention between passage and question in both
directions.

It is a small student for a BERT: it reads the teacher's tokens, so their logits can be compared. The question
([CLS], question, [SEP]) is read from the first 66 positions of a window. The passage's tokens are moved up
behind [CLS], which stands for "no answer", so that its LSTMs read one text. The states go back to their
places in the window.

Letters: B batch, T tokens of a window, Q its first 66, D width of an LSTM's one direction.

Departures: WordPiece tokens instead of words, with the teacher's embeddings (trained on) instead of GloVe;
[CLS] in front of the passage, and [CLS] and [SEP] around the question; one bias for each gate where torch's
LSTM has two. A character vector's 8 values are those of the paper's published code. The end is predicted as
in the paper, which that code does not do.
"""

import torch
from torch import Tensor, nn
from transformers import PretrainedConfig
from transformers.modeling_outputs import BaseModelOutput

from qa.models.architectures import EncoderType, plain_mask
from qa.models.heads.segments import FIRST_SEGMENT_TOKENS, MASKED, answer_tokens, first_segment
from qa.models.standalone.parts import EXACT, StandaloneModel, TokenEmbedding, TrilinearScores


class BiDAFConfig(PretrainedConfig):
    """Sizes; the defaults are the paper's (section 4)."""

    model_type = "bidaf"

    vocab_size: int = 30522
    word_size: int = 384
    n_characters: int = EXACT
    word_length: int = 16
    character_size: int = 8
    width: int = 100
    dropout: float = 0.2
    max_position_embeddings: int = 512

    @property
    def hidden_size(self) -> int:
        """Width of the output layer's input: G, M and M2."""
        return 12 * self.width


class BiLSTM(nn.Module):
    """Bidirectional LSTM that ignores padding, which is behind the tokens.

    torch's LSTM has no mask: backwards it would reach the last token with a state made from padding. Here a
    token has one more input, 1, whose weights are the gates' biases, and padding has zeros only. Without any
    other bias an LSTM in its initial state (0, 0) maps zeros to 0 and stays in it.
    """

    def __init__(self, input_size: int, width: int, dropout: float) -> None:
        super().__init__()
        self.lstm = nn.LSTM(input_size + 1, width, batch_first=True, bidirectional=True, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Map states (B, T, input size) to (B, T, 2 D), undefined where `mask` (B, T) ends in zeros."""
        tokens = mask[..., None]
        return self.lstm(torch.cat([self.dropout(states) * tokens, tokens], dim=-1))[0]


class AttentionFlow(TrilinearScores):
    """Attention from passage to question and back.

    Section 2, layer 4, with h the passage, u the question and S[i, j] = w . [h_i, u_j, h_i * u_j]:

        u~_i = softmax_j(S[i, :]) u,   h~ = softmax_i(max_j S[i, j]) h,   G = [h, u~, h * u~, h * h~]
    """

    def forward(
        self, passage: Tensor, question: Tensor, passage_mask: Tensor, question_mask: Tensor
    ) -> Tensor:
        """Map passage (B, T, 2 D), question (B, Q, 2 D), their masks (B, T) and (B, Q) to (B, T, 8 D)."""
        scores = self.scores(passage, question) + (1 - question_mask[:, None, :]) * MASKED  # (B, T, Q)
        to_question = scores.softmax(dim=-1) @ question  # (B, T, 2 D)
        asked = (scores.amax(dim=-1) + (1 - passage_mask) * MASKED).softmax(dim=-1)  # (B, T)
        to_passage = asked[:, None, :] @ passage  # (B, 1, 2 D)
        return torch.cat([passage, to_question, passage * to_question, passage * to_passage], dim=-1)


def passage_order(attention_mask: Tensor, token_type_ids: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    """Return the positions of [CLS] and the passage's tokens in the window, and the way back; (B, T) each.

    The passage moves up by question and [SEP]. Positions behind it point behind it in the window; positions
    before it lead back to [CLS]. Of [CLS] a b [SEP] x y [SEP]: there 0 4 5 6 6 6 6, back 0 0 0 0 1 2 3.
    """
    moved = ((attention_mask * (1 - token_type_ids)).sum(dim=1, keepdim=True) - 1).clamp(min=0)  # (B, 1)
    there = torch.minimum((positions + moved) * positions.clamp(max=1), positions[:, -1:])
    return there, (positions - moved).clamp(min=0)


def reordered(states: Tensor, order: Tensor) -> Tensor:
    """Map states (B, T, ...) to another order of tokens, (B, T) indices."""
    return states.gather(1, order[..., None].expand(-1, -1, states.shape[2]))


class BiDAF(StandaloneModel):
    """Model without its output layer; called as transformers' encoders are, with the plain padding mask."""

    def __init__(self, config: BiDAFConfig) -> None:
        width = config.width
        dropout = config.dropout
        super().__init__(TokenEmbedding(config, width))
        self.contextual = BiLSTM(2 * width, width, dropout)
        self.attend = AttentionFlow(2 * width)
        self.modelling = nn.ModuleList([BiLSTM(8 * width, width, dropout), BiLSTM(2 * width, width, dropout)])
        self.end = BiLSTM(2 * width, width, dropout)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, position_ids: Tensor
    ) -> BaseModelOutput:
        """Map (B, T) each to G, M and M2 side by side, (B, T, 12 D); 0 where no answer is possible."""
        states = self.embedding(input_ids)  # (B, T, 2 D)
        window_mask = answer_tokens(states, attention_mask, token_type_ids)[..., None]  # (B, T, 1)
        there, back = passage_order(attention_mask, token_type_ids, position_ids)
        passage_mask = reordered(window_mask, there)[..., 0]  # (B, T)
        segment = first_segment(states, attention_mask, token_type_ids)
        question_mask = segment[:, :FIRST_SEGMENT_TOKENS]  # (B, Q)
        passage = self.contextual(reordered(states, there), passage_mask)
        question = self.contextual(states[:, :FIRST_SEGMENT_TOKENS], question_mask)
        flow = self.attend(passage, question, passage_mask, question_mask)  # G
        model = self.modelling[1](self.modelling[0](flow, passage_mask), passage_mask)  # M
        joined = torch.cat([flow, model, self.end(model, passage_mask)], dim=-1)
        return BaseModelOutput(last_hidden_state=reordered(joined, back) * window_mask, hidden_states=())


class BiDAFOutput(nn.Module):
    """Start from [G, M], end from [G, M2] (section 2, layer 6)."""

    def __init__(self, config: BiDAFConfig) -> None:
        super().__init__()
        self.sizes = (8 * config.width, 2 * config.width, 2 * config.width)
        self.start = nn.Linear(10 * config.width, 1)
        self.end = nn.Linear(10 * config.width, 1)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, states: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Map (B, T, 12 D) to (B, T, 2)."""
        flow, model, end = self.dropout(states).split(self.sizes, dim=-1)
        start = self.start(torch.cat([flow, model], dim=-1))
        return torch.cat([start, self.end(torch.cat([flow, end], dim=-1))], dim=-1)


ENTRY = EncoderType(
    BiDAFConfig,
    BiDAF,
    layers=lambda model: [],
    parts=None,
    mask=plain_mask,
    unprunable="it has LSTMs instead",
    no_tflite="the converter unrolls an LSTM, and a window has up to 384 steps",
    output=BiDAFOutput,
)
