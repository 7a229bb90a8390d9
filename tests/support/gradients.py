"""Values with their gradients, to compare a function with a plain formula."""

import torch


def with_gradients(value: torch.Tensor, *inputs: torch.Tensor) -> list[torch.Tensor]:
    """Return a value and the gradients of a sum of it, in which every number has another weight."""
    weights = torch.linspace(-1, 1, value.numel(), dtype=value.dtype).view_as(value)
    return [value, *torch.autograd.grad((value * weights).sum(), inputs)]


def made(*shape: int, seed: int = 0) -> torch.Tensor:
    """Return random numbers in fp64 that a gradient can be computed for."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()
