"""QeRMIT: a vector for the question, mapped into every token (Chang and Ai, Question Representation and
Mapping In Transformers).

A question representation turns the states into one vector (B, 1, H); a mapping joins it to each token before
the logits. The report maps it onto the passage's tokens; here it reaches all of them, [CLS] with its "no
answer" included, and the logits of the question's own tokens are read by nobody. Section 3.2 describes both
parts, table 2 the variants that were trained.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from qa.base.errors import OptionError
from qa.models.heads.segments import (
    FIRST_SEGMENT_TOKENS,
    first_segment,
    mask_states,
    question_tokens,
    shifted,
)

KERNEL = 5
KERNELS = (2, 3, 4, 5)
POOL = 4


class ClsQuestion(nn.Module):
    """Question vector: the state of [CLS]."""

    def forward(self, states: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Map (B, T, H) to (B, 1, H)."""
        return states[:, :1]


class MaxPoolQuestion(nn.Module):
    """Question vector: the largest value of each dimension over the question's tokens; 0 without tokens."""

    fixed_lengths = True

    def forward(self, states: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Map (B, T, H) to (B, 1, H)."""
        tokens = question_tokens(states, attention_mask, token_type_ids)
        return pool(states, tokens) * tokens.amax(dim=1)[:, None, None]


class Convolution(nn.Module):
    """1-D convolution over tokens, H channels to H, as a Linear over the `kernel` tokens of each window.

    As a Linear it is quantized and pruned like any other. Outside are zeros, (kernel - 1) // 2 on the left
    and kernel // 2 on the right: the report's two and two for five tokens.
    """

    def __init__(self, hidden_size: int, kernel: int) -> None:
        super().__init__()
        self.offsets = range(-((kernel - 1) // 2), kernel // 2 + 1)
        self.linear = nn.Linear(kernel * hidden_size, hidden_size)

    def forward(self, states: Tensor) -> Tensor:
        """Map (B, T, H) to (B, T, H)."""
        return self.linear(torch.cat([shifted(states, offset) for offset in self.offsets], dim=-1))


class Highway(nn.Module):
    """g ReLU(W x + b) + (1 - g) x with the gate g = sigmoid(W' x + b') (Srivastava et al. 2015).

    The gate's bias starts at -2, as there and in Kim et al. 2015: at first x is mostly carried.
    """

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.transform = nn.Linear(hidden_size, hidden_size)
        self.gate = nn.Linear(hidden_size, hidden_size)
        nn.init.constant_(self.gate.bias, -2.0)

    def forward(self, inputs: Tensor) -> Tensor:
        """Map (B, 1, H) to (B, 1, H)."""
        gate = self.gate(inputs).sigmoid()
        return gate * self.transform(inputs).relu() + (1 - gate) * inputs


class ConvolutionQuestion(nn.Module):
    """Question vector: Highway(max over tokens of ReLU(convolution, kernel 5)).

    The convolution sees [CLS], question and first [SEP], then zeros, as in the report. The report gives
    kernel and padding and then a highway, but not how the tokens become one vector. The maximum over them
    after a ReLU is taken from the encoder that it follows (Kim et al. 2015, with ReLU for tanh as in the
    report's second version).
    """

    fixed_lengths = True
    truncates_question = True

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.convolution = Convolution(hidden_size, KERNEL)
        self.highway = Highway(hidden_size)

    def forward(self, states: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Map (B, T, H) to (B, 1, H)."""
        question, tokens = cut_question(states, attention_mask, token_type_ids)
        # The maximum of ReLUs is the ReLU of the maximum.
        return self.highway(pool(self.convolution(question), tokens).relu())


class MultiConvolutionQuestion(nn.Module):
    """Question vector: four convolutions, kernels 2 to 5, ReLU, maximum over tokens and over every 4
    channels; joined.

    The report gives the kernels, ReLU, "1 filter per region" and a 4-max pool of stride 4 before a
    concatenation as wide as H. The pool is read as one over channels: four kernels of H channels each then
    give H / 4, together H; one filter of a single channel would not. With `highway` a highway follows, as in
    the report's best row.
    """

    fixed_lengths = True
    truncates_question = True

    def __init__(self, hidden_size: int, highway: bool) -> None:
        super().__init__()
        if hidden_size % POOL:
            wanted = f"a hidden size that {POOL} divides, the encoder's is {hidden_size}"
            raise OptionError(f"a qermit-cnn-multi head needs {wanted}")
        self.convolutions = nn.ModuleList(Convolution(hidden_size, kernel) for kernel in KERNELS)
        self.highway = Highway(hidden_size) if highway else nn.Identity()

    def forward(self, states: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Map (B, T, H) to (B, 1, H)."""
        question, tokens = cut_question(states, attention_mask, token_type_ids)
        # Each (B, 1, H), then (B, 1, H / 4).
        pooled = [pool(convolution(question), tokens).relu() for convolution in self.convolutions]
        narrow = [values.unflatten(-1, (-1, POOL)).amax(dim=-1) for values in pooled]
        return self.highway(torch.cat(narrow, dim=-1))


class QuestionSkipHead(nn.Module):
    """W (x * q + x) + b: the question times each token, plus the token, then one Linear (section 3.2)."""

    def __init__(self, hidden_size: int, question: nn.Module) -> None:
        super().__init__()
        self.question = question
        self.output = nn.Linear(hidden_size, 2)

    def forward(self, states: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Map (B, T, H) to (B, T, 2)."""
        question = self.question(states, attention_mask, token_type_ids)  # (B, 1, H)
        return self.output(states * question + states)


class ConcatHead(nn.Module):
    """2H-H-H-2 over token and question side by side, the question as in `qermit-cnn` (section 3.2).

    The first layer is written as the two sums that it is, W x + U q + b, so that U q is computed once and not
    for every token. The report gives neither widths nor activation: the width is H as in the others, and
    ReLU follows the first two layers, without which three Linears are one. Its "three more layers" are read
    as these three.
    """

    def __init__(self, hidden_size: int, activation: str) -> None:
        super().__init__()
        self.question = ConvolutionQuestion(hidden_size)
        self.from_token = nn.Linear(hidden_size, hidden_size)
        self.from_question = nn.Linear(hidden_size, hidden_size, bias=False)
        self.middle = nn.Linear(hidden_size, hidden_size)
        self.output = nn.Linear(hidden_size, 2)

    def forward(self, states: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Map (B, T, H) to (B, T, 2)."""
        question = self.question(states, attention_mask, token_type_ids)  # (B, 1, H)
        joined = (self.from_token(states) + self.from_question(question)).relu()  # (B, T, H)
        return self.output(self.middle(joined).relu())


def cut_question(states: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> tuple[Tensor, Tensor]:
    """Return the states of the first segment (B, up to 66, H), with zeros in the others, and its mask."""
    mask = first_segment(states, attention_mask, token_type_ids)[:, :FIRST_SEGMENT_TOKENS]
    return states[:, :FIRST_SEGMENT_TOKENS] * mask[..., None], mask


def pool(states: Tensor, mask: Tensor) -> Tensor:
    """Map (B, T, H) to (B, 1, H): the largest value of each dimension where `mask` (B, T) is 1."""
    return mask_states(states, mask).amax(dim=1, keepdim=True)


def skip_head(question: Callable[[int], nn.Module]) -> Callable[[int, str], nn.Module]:
    """Return an entry of HEADS: a fresh QuestionSkipHead whose `question` is made for a hidden size."""
    return lambda hidden_size, activation: QuestionSkipHead(hidden_size, question(hidden_size))


cls_head = skip_head(lambda hidden_size: ClsQuestion())
maxpool_head = skip_head(lambda hidden_size: MaxPoolQuestion())
cnn_head = skip_head(ConvolutionQuestion)
cnn_multi_head = skip_head(partial(MultiConvolutionQuestion, highway=False))
cnn_multi_highway_head = skip_head(partial(MultiConvolutionQuestion, highway=True))
