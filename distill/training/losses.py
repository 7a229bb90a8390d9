"""Losses of distillation (Hinton et al. 2015; hidden states after Jiao et al. 2020, TinyBERT).

Only positions an answer may use take part: [CLS], which stands for "no answer", and the context. Question,
[SEP] and padding are masked in teacher and student alike before the softmax, so padding cannot move a loss.

Letters: B batch, T tokens, H hidden size.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from qa.models.heads.segments import MASKED


def masked_log_softmax(logits: Tensor, valid: Tensor) -> Tensor:
    """Return log-probabilities over the valid positions, (B, T); masked positions get probability 0."""
    return functional.log_softmax(torch.where(valid, logits.float(), MASKED), dim=-1)


def hard_loss(
    start: Tensor,
    end: Tensor,
    start_positions: Tensor,
    end_positions: Tensor,
    valid: Tensor,
    n_labelled: Tensor,
) -> Tensor:
    """Return the cross-entropy with the gold positions (B,), mean of start and end, as a mean over
    `n_labelled` windows.

    A window without the answer has position 0: it teaches [CLS], as in BERT's own SQuAD training. A window of
    an unlabelled question has position -1 and is left out. The loss is 0 where no window has a label.
    """
    losses = [
        functional.nll_loss(masked_log_softmax(logits, valid), positions, ignore_index=-1, reduction="sum")
        for logits, positions in ((start, start_positions), (end, end_positions))
    ]
    return torch.stack(losses).mean() / n_labelled


def soft_loss(
    student: tuple[Tensor, Tensor], teacher: tuple[Tensor, Tensor], valid: Tensor, temperature: float
) -> Tensor:
    """Return KL(teacher || student) x T^2 at temperature T: sum over positions, mean over batch, start and
    end.

    It is 0 when student and teacher agree; T^2 keeps the gradient's size independent of T (Hinton et al.
    2015, section 2).
    """
    losses = [
        functional.kl_div(
            masked_log_softmax(ours / temperature, valid),
            masked_log_softmax(theirs / temperature, valid),
            log_target=True,
            reduction="batchmean",
        )
        for ours, theirs in zip(student, teacher, strict=True)
    ]
    return torch.stack(losses).mean() * temperature**2


def hidden_loss(
    student: Sequence[Tensor],
    teacher: Sequence[Tensor],
    attention_mask: Tensor,
    n_tokens: Tensor,
) -> Tensor:
    """Return the squared difference of hidden states (B, T, H), without padding, as a mean over `n_tokens`
    tokens.

    Both sequences hold the states after the embeddings and after every layer. Student state i of n is
    compared with teacher state round(i N / n) of N, so the first meets the first and the last the last.
    """
    n = len(student) - 1
    n_teacher = len(teacher) - 1
    mask = attention_mask[..., None].to(torch.float32)  # (B, T, 1)
    losses = []
    for index, states in enumerate(student):
        difference = (states.float() - teacher[matching_layer(index, n, n_teacher)].float()) * mask
        losses.append(difference.pow(2).sum() / (n_tokens * states.shape[-1]))
    return torch.stack(losses).mean()


def matching_layer(index: int, n_student: int, n_teacher: int) -> int:
    """Return the teacher state of 0..n_teacher that belongs to the student state `index` of 0..n_student."""
    return (2 * index * n_teacher + n_student) // (2 * n_student)  # rounds half up, without floating point
