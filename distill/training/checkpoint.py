"""Checkpoint of a training run: one safetensors file with the trained weights and the optimizer's state."""

from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor, nn

from distill.training.optimizers import MOMENTS
from qa.base.errors import OptionError
from qa.base.files import write_whole

CHECKPOINT = "checkpoint.safetensors"
# What optimizers keep for a parameter, each some of these, besides the number of steps.
STATE_KEYS = ("exp_avg", "exp_avg_sq", "exp_avg_sq_row", "exp_avg_sq_col")


def trained(model: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """Return the parameters that training changes, by name."""
    return [(name, p) for name, p in model.named_parameters() if p.requires_grad]


def checkpoint_bytes(model: nn.Module, optimizer: str) -> int:
    """Return the bytes of a checkpoint of `model`, before an optimizer has a state."""
    return 4 * (1 + MOMENTS[optimizer]) * sum(parameter.numel() for _, parameter in trained(model))


def save_checkpoint(
    path: Path, model: nn.Module, state: dict[nn.Parameter, Any], step: int, fingerprint: str
) -> None:
    """Replace the file `path` by one of this step; `state` is the optimizer's, by parameter.

    `fingerprint` identifies the run: `load_checkpoint` wants the same.
    """
    tensors: dict[str, Tensor] = {}
    for name, parameter in trained(model):
        tensors[name] = parameter.detach()
        moments = state[parameter]
        tensors |= {f"{key}.{name}": moments[key] for key in STATE_KEYS if key in moments}
    tensors = {name: tensor.cpu().contiguous() for name, tensor in tensors.items()}
    write_whole(path, save(tensors, {"step": str(step), "fingerprint": fingerprint}))


@torch.no_grad()
def load_checkpoint(path: Path, model: nn.Module, state: dict[nn.Parameter, Any], fingerprint: str) -> int:
    """Restore model and optimizer state; return the step to continue with, 0 without a checkpoint.

    Raises OptionError for a broken file and for one of another run.
    """
    if not path.is_file():
        return 0
    try:
        file = safe_open(path, "pt")
    except Exception as error:  # safetensors' own type
        raise OptionError(f"{path}: broken checkpoint ({error}); remove it to start again") from None
    metadata = file.metadata() or {}
    if metadata.get("fingerprint") != fingerprint:
        raise OptionError(
            f"{path}: made with other options, data or model; use the same ones, and the same version, or "
            "remove it to start again"
        )
    step = int(metadata["step"])
    names = set(file.keys())
    for name, parameter in trained(model):
        parameter.copy_(file.get_tensor(name))
        found = {key: file.get_tensor(f"{key}.{name}") for key in STATE_KEYS if f"{key}.{name}" in names}
        found["step"] = torch.tensor(float(step))
        state[parameter] = {key: tensor.to(parameter.device) for key, tensor in found.items()}
    return step
