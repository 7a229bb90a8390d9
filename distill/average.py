"""One model of several that were trained from one another, or from the same weights: the mean of their
weights.

    python -m distill.average --models runs/first runs/second runs/third --out runs/teacher

It costs one model's time and often answers better than each of them (model soups, Wortsman et al. 2022).
"""

from dataclasses import dataclass
from pathlib import Path

import torch

from distill.derive import derive
from distill.student import same_tokens
from qa.base.cli import check_option, run_command
from qa.base.errors import OptionError
from qa.bundles.bundle import Bundle, refuse_existing
from qa.bundles.hf_import import open_model
from qa.models.model import QAModel


@dataclass(frozen=True, kw_only=True)
class AverageConfig:
    """Average the weights of models of one shape."""

    models: tuple[Path, ...]
    """PyTorch bundles or transformers checkpoints, two at least; they are left as they are."""
    out: Path
    """Bundle to create; it has the windows of the first model, and a no-answer threshold of its own."""

    def __post_init__(self) -> None:
        several = len(set(self.models)) == len(self.models) >= 2
        check_option(several, "--models", len(self.models), "two models or more, each once")


def mean_model(bundles: list[Bundle]) -> QAModel:
    """A model with the mean of the bundles' weights. OptionError, naming the first that differs, unless all
    are of one shape."""
    models = [QAModel.from_pretrained(bundle.path) for bundle in bundles]
    first = models[0]
    tensors = [model.state_dict() for model in models]
    for bundle, model, own in zip(bundles[1:], models[1:], tensors[1:], strict=True):
        codes_differ = any(
            not t.is_floating_point() and not torch.equal(t, tensors[0][name]) for name, t in own.items()
        )
        if model.config() != first.config() or codes_differ:
            raise OptionError(
                f"--models {bundle.path}: is not of the shape of {bundles[0].path}, so their weights have "
                "no mean"
            )
    means = {
        name: torch.stack([own[name] for own in tensors]).mean(0) if tensor.is_floating_point() else tensor
        for name, tensor in tensors[0].items()
    }
    first.load_state_dict(means)
    return first


def main(config: AverageConfig) -> Bundle:
    """Open the models, save their mean; prints where."""
    refuse_existing(config.out)
    bundles = [open_model(path, kind="pytorch") for path in config.models]
    for bundle in bundles[1:]:
        if not same_tokens(bundle.tokenizer(), bundles[0].tokenizer()):
            raise OptionError(f"--models {bundle.path}: its tokenizer differs from that of {bundles[0].path}")
    ancestors = {one["sha256"]: one for bundle in bundles for one in bundle.lineage()}
    facts = {
        "precision": "fp32",
        "stage": "average",
        "config": {"models": [path.name for path in config.models]},
        "averaged": [bundle.reference() for bundle in bundles],
        "ancestors": list(ancestors.values()),
        "parameters": bundles[0].manifest["parameters"],
    }
    model = derive(mean_model(bundles), config.out, bundles[0], facts)
    print(f"{model.path}: the mean of {len(bundles)} models")
    return model


if __name__ == "__main__":
    run_command(main)
