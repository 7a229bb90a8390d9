"""Masks of a window's parts, from its attention mask and token types only.

A window is [CLS] question [SEP] passage [SEP] padding; token types are 0 up to the first [SEP] and 1 up to
the second. Masks are (B, T), 1 or 0 in the states' dtype. They are products of shifted copies: every runtime
has these operators, at any length. No token id is read. RoBERTa's windows have two separators in the middle,
both of type 0, so the first counts as the last of a question's own tokens.
"""

from torch import Tensor
from torch.nn import functional

# Hides a position in a maximum, in attention or before a softmax: fits fp16, exp of it is exactly 0 in fp32,
# and 0 times it is not NaN.
MASKED = -1e4
# Longest question that convolutions and standalone models read. QAModel.check_windows refuses longer ones.
LONGEST_QUESTION = 64
FIRST_SEGMENT_TOKENS = LONGEST_QUESTION + 2  # with [CLS] and [SEP]


def shifted(values: Tensor, offset: int) -> Tensor:
    """Return (B, T, ...) whose token t is token t + offset of `values`, with zeros from outside; |offset| <=
    T."""
    others = (0, 0) * (values.ndim - 2)
    if offset >= 0:
        return functional.pad(values[:, offset:], (*others, 0, offset))
    return functional.pad(values[:, :offset], (*others, -offset, 0))


def first_segment(states: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
    """Return the mask of [CLS], the question and the first [SEP]."""
    return attention_mask.to(states.dtype) * (1 - token_type_ids.to(states.dtype))


def question_tokens(states: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
    """Return the mask of the question's own tokens: the first segment without its ends, [CLS] and [SEP]."""
    segment = first_segment(states, attention_mask, token_type_ids)
    return segment * shifted(segment, -1) * shifted(segment, 1)


def answer_tokens(states: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
    """Return the mask of possible answers: the passage without its [SEP], and [CLS] for "no answer".

    The losses see the same tokens.
    """
    passage = attention_mask.to(states.dtype) * token_type_ids.to(states.dtype)
    ones = passage * 0 + 1
    cls = ones - shifted(ones, -1)  # 1 at the first token alone
    return passage * shifted(passage, 1) + cls


def mask_states(values: Tensor, mask: Tensor) -> Tensor:
    """Return (B, T, C) with MASKED where `mask` (B, T) is 0.

    Added to the values it would not hide those of an encoder without norms, whose [CLS] reaches 1e5.
    """
    return values * mask[..., None] + (1 - mask[..., None]) * MASKED
