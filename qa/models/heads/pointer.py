"""Answer pointer in its boundary form (Wang and Jiang 2016, Answer Pointer layer; Vinyals et al. 2015)."""

import torch
from torch import Tensor, nn

from qa.models.heads.segments import answer_tokens, mask_states


class LSTMCell(nn.Module):
    """One step of an LSTM (Hochreiter and Schmidhuber 1997); gates in torch's order: input, forget,
    candidate, output.

    It consists of two Linears: quantization and pruning would pass over the bare matrices of torch's cell.
    """

    def __init__(self, input_size: int, width: int) -> None:
        super().__init__()
        self.input_gates = nn.Linear(input_size, 4 * width)
        self.hidden_gates = nn.Linear(width, 4 * width, bias=False)

    def forward(self, inputs: Tensor, state: tuple[Tensor, Tensor] | None) -> tuple[Tensor, Tensor]:
        """Map inputs (B, 1, input size) and hidden and cell state (B, 1, L), None for zeros, to the next."""
        gates = self.input_gates(inputs)  # (B, 1, 4 L)
        if state is not None:
            gates = gates + self.hidden_gates(state[0])
        in_gate, forget_gate, candidate, out_gate = gates.chunk(4, dim=-1)  # each (B, 1, L)
        cell = in_gate.sigmoid() * candidate.tanh()
        if state is not None:
            cell = cell + forget_gate.sigmoid() * state[1]
        return out_gate.sigmoid() * cell.tanh(), cell


class PointerHead(nn.Module):
    """An LSTM cell of two steps that attends over the tokens for the start, then for the end.

    With states S (T, H) and hidden state h_k, L wide:

        score_k = v tanh(V S + W h_k + b) + c                               additive attention
        h_1 = LSTM(S[CLS], 0),   h_2 = LSTM(softmax(score_1) S, h_1)

    score_1 are the start logits and score_2 the end logits, so that the ordinary loss is the paper's. The
    softmax inside runs over the tokens an answer may stand at, as in the paper, where the pointer sees the
    passage alone; padding's logits are the mask constant. L = H / 2, the paper's proportion of its LSTM (l)
    to the states it points into (2 l).

    One departure: the paper's first attention has no LSTM step behind it (h_0). Here the cell reads the
    encoder's summary, the state of [CLS], before it points, as the decoder of Vinyals et al. starts from its
    encoder's last state.
    """

    fixed_lengths = True

    def __init__(self, hidden_size: int, activation: str) -> None:
        super().__init__()
        width = hidden_size // 2
        self.cell = LSTMCell(hidden_size, width)
        self.token = nn.Linear(hidden_size, width, bias=False)  # V
        self.query = nn.Linear(width, width)  # W, b
        self.output = nn.Linear(width, 1)  # v, c

    def forward(self, states: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Map (B, T, H) to (B, T, 2)."""
        tokens = self.token(states)  # (B, T, L)
        first = self.cell(states[:, :1], None)
        start = self._scores(tokens, first)
        allowed = mask_states(start, answer_tokens(states, attention_mask, token_type_ids)).squeeze(-1)
        weights = allowed.softmax(dim=-1)[..., None]  # (B, T, 1); TFLite's runs over the last axis alone
        second = self.cell((weights * states).sum(dim=1, keepdim=True), first)
        end = self._scores(tokens, second)
        return mask_states(torch.cat([start, end], dim=-1), attention_mask.to(states.dtype))

    def _scores(self, tokens: Tensor, state: tuple[Tensor, Tensor]) -> Tensor:
        """Map tokens (B, T, L) and hidden state (B, 1, L) to (B, T, 1)."""
        return self.output((tokens + self.query(state[0])).tanh())
