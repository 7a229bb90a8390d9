"""What the tests of heads feed them: encoder states of windows whose parts have chosen lengths."""

import torch

H = 16


def layout(n_question, n_passage, n_padding=0):
    """Mask and token types (1, T) of [CLS] question [SEP] passage [SEP] padding."""
    first = n_question + 2
    second = n_passage + 1
    mask = torch.tensor([[1] * (first + second) + [0] * n_padding])
    types = torch.tensor([[0] * first + [1] * second + [0] * n_padding])
    return mask, types


def random_states(length, batch=1, seed=0, hidden=H):
    return torch.randn(batch, length, hidden, generator=torch.Generator().manual_seed(seed))


def with_other(states, tokens, seed=9):
    """A copy of the states in which some tokens are quite different."""
    changed = states.clone()
    changed[:, tokens] = 50 * random_states(
        len(range(states.shape[1])[tokens]), len(states), seed, states.shape[2]
    )
    return changed
