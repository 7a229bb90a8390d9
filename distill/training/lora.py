"""Low-rank adaptation (LoRA; Hu et al. 2021): train two thin matrices beside every frozen Linear.

The backward pass computes no gradient of a full matrix, and a checkpoint keeps only the thin ones. They and
the head are the adapter: all that training changed, in a fiftieth of the model's bytes. The same encoder and
the adapter make the same model again, bit for bit.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from qa.base.cli import check_option
from qa.base.errors import OptionError
from qa.models.encoders import Encoder
from qa.models.model import QAModel

SCALE = 2.0  # alpha / rank, as in the paper's own runs on language understanding


class _WithLowRank(torch.autograd.Function):
    """x W' + b + (x down') up' of rows x (R, in), with no gradient of the frozen W (out, in) and b.

    Sums go into the result of a product, not into a tensor of their own.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, down: Tensor, up: Tensor) -> Tensor:
        low = x @ down.T
        ctx.save_for_backward(x, weight, down, up, low)
        return linear(x, weight, bias).addmm_(low, up.T)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        x, weight, down, up, low = ctx.saved_tensors
        of_low = gradient @ up
        of_x = (gradient @ weight).addmm_(of_low, down) if ctx.needs_input_grad[0] else None
        return of_x, None, None, of_low.T @ x, gradient.T @ low


class LoraLinear(nn.Linear):
    """A Linear whose weight W (out, in) is frozen, and used as W + SCALE up @ down.

    `down` is (rank, in), random; `up` is (out, rank), zero at first: training starts from W.
    """

    def __init__(self, base: nn.Linear, rank: int) -> None:
        super().__init__(base.in_features, base.out_features, base.bias is not None, device="meta")
        self.weight = base.weight
        self.bias = base.bias
        self.down = nn.Parameter(torch.empty(rank, base.in_features))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))

    def forward(self, x: Tensor) -> Tensor:
        """Map x (..., in) to (..., out)."""
        kind = x.device.type
        dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype
        tensors = (x.flatten(0, -2), self.weight, self.bias, self.down, SCALE * self.up)
        rows: Tensor = _WithLowRank.apply(*(None if t is None else t.to(dtype) for t in tensors))
        return rows.unflatten(0, x.shape[:-1])

    def merged(self) -> nn.Linear:
        """Return a plain Linear with the trained weight."""
        plain = nn.Linear(self.in_features, self.out_features, self.bias is not None, device="meta")
        plain.weight = nn.Parameter(merged_weight(self.weight.detach(), self.up.detach(), self.down.detach()))
        plain.bias = self.bias
        return plain


def merged_weight(weight: Tensor, up: Tensor, down: Tensor) -> Tensor:
    """Return `weight` (out, in) + SCALE up @ down, the same bits on every machine.

    A matrix product adds in an order of its own on each machine. Products of fp16 numbers are exact in fp64,
    and here they are added one by one.
    """
    total = weight.double()
    for column, row in zip(up.half().double().T, down.half().double(), strict=True):
        total += torch.outer(SCALE * column, row)
    return total.float()


def add_lora(encoder: Encoder, rank: int, seed: int) -> None:
    """Freeze `encoder` in place and give every Linear of its layers trainable matrices of this rank.

    Raises OptionError for a rank that is no low one, above the encoder's width, and for an encoder whose
    layers have not the parts of a BERT's.
    """
    width = encoder.hidden_size
    check_option(rank <= width, "--lora-rank", rank, f"at most {width}, the width of the encoder")
    if encoder.architecture.parts is None:
        raise OptionError(
            f"--lora-rank {rank}: a {encoder.config.model_type} encoder has layers of a kind that LoRA "
            "is not made for; give --lora-rank 0"
        )
    encoder.requires_grad_(False)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for layer in dict.fromkeys(encoder.layers):
            _replace(layer, nn.Linear, lambda base: LoraLinear(base, rank))


@torch.no_grad()
def merge_lora(model: QAModel) -> dict[str, Tensor]:
    """Put a plain Linear in the place of every LoraLinear of `model` and return its adapter.

    The adapter has the trained tensors in fp16, by name. The head is rounded to fp16 in place, and so are the
    thin matrices before they are merged.
    """
    adapter = {name: p.half() for name, p in model.named_parameters() if p.requires_grad}
    for parameter in model.head.parameters():
        parameter.copy_(parameter.half())
    for layer in dict.fromkeys(model.encoder.layers):
        _replace(layer, LoraLinear, LoraLinear.merged)
    return adapter


@torch.no_grad()
def add_adapter(model: QAModel, adapter: Mapping[str, Tensor]) -> None:
    """Add what `merge_lora` returned to a model with the encoder that training started from."""
    for name, tensor in adapter.items():
        module, _, kind = name.rpartition(".")
        if kind == "up":
            weight = model.get_parameter(f"{module}.weight")
            weight.copy_(merged_weight(weight, tensor, adapter[f"{module}.down"]))
        elif kind != "down":
            model.get_parameter(name).copy_(tensor)


def _replace(layer: nn.Module, kind: type[nn.Linear], make: Callable[[Any], nn.Linear]) -> None:
    for name, module in list(layer.named_modules()):
        if type(module) is kind:
            parent, _, attribute = name.rpartition(".")
            setattr(layer.get_submodule(parent), attribute, make(module))
