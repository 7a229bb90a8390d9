"""Average the weights of models that were trained from one another, or from the same weights.

    python -m distill.average --models runs/first runs/second runs/third --out runs/teacher

The result costs one model's time and often answers better than each of them (model soups, Wortsman et al.
2022).
"""

import sys
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qa.base.cli import check_option
from qa.base.commands import run_command
from qa.base.errors import OptionError, first_few
from qa.bundles.bundle import HELD_OUT, Bundle, check_new_bundle
from qa.bundles.hf_import import open_model
from qa.bundles.manifest import Ancestor, StageRecord
from qa.bundles.next_export import say_next_export

if TYPE_CHECKING:
    from qa.models.model import QAModel


# Keys of a config that change no logit, as do those with "dropout" in them.
OF_A_CHECKPOINT = {
    "_name_or_path",
    "architectures",
    "bos_token_id",
    "dtype",
    "eos_token_id",
    "gradient_checkpointing",
    "id2label",
    "initializer_range",
    "label2id",
    "problem_type",
    "torch_dtype",
    "transformers_version",
    "use_cache",
}
NOT_PRUNED = ("student", "student_encoder", "student_layers")  # options by which a student keeps its width
FRESH_STUDENT = ("student_encoder", "student_head")


@dataclass(frozen=True, kw_only=True)
class AverageOptions:
    """Average the weights of models of one shape."""

    models: tuple[Path, ...]
    """PyTorch bundles or transformers checkpoints, two at least; they are left as they are."""
    out: Path
    """Bundle to create; it has the first model's windows, and thresholds tuned on what that holds out."""

    def __post_init__(self) -> None:
        several = len(set(self.models)) == len(self.models) >= 2
        check_option(several, "--models", len(self.models), "two models or more, each once")


def mean_model(bundles: list[Bundle]) -> "QAModel":
    """Return a model with the mean of the bundles' weights. OptionError names the first of another shape."""
    import torch

    from qa.models.model import QAModel

    models = [QAModel.from_pretrained(bundle.path) for bundle in bundles]
    first = models[0]
    tensors = [model.state_dict() for model in models]
    for bundle, model, state in zip(bundles[1:], models[1:], tensors[1:], strict=True):
        if shape_of(model) != shape_of(first) or any(
            not t.is_floating_point() and not torch.equal(t, tensors[0][name]) for name, t in state.items()
        ):
            raise OptionError(
                f"--models {bundle.path}: is not of the shape of {bundles[0].path}, so their weights have "
                "no mean"
            )
    means = {
        name: torch.stack([state[name] for state in tensors]).mean(0)
        if tensor.is_floating_point()
        else tensor
        for name, tensor in tensors[0].items()
    }
    first.load_state_dict(means)
    return first


def shape_of(model: "QAModel") -> dict[str, Any]:
    """Return a model's config without what a checkpoint says of itself, such as its language."""
    config = model.config()
    known = type(model.encoder.config)().to_dict().keys() - OF_A_CHECKPOINT
    decide = {key: value for key, value in config["encoder"].items() if key in known and "dropout" not in key}
    return config | {"encoder": decide}


def own_stages(bundle: Bundle) -> list[Ancestor]:
    """Return a model's stages back to the one that began with an encoder; those of its teachers follow it."""
    stages = bundle.lineage()
    first = next((n for n, stage in enumerate(stages) if stage.encoder), len(stages))
    return stages[: first + 1]


def pruned_by(bundle: Bundle) -> set[str]:
    """Return the hashes of the stages that removed heads and neurons of a model."""
    found = set()
    for stage in own_stages(bundle):
        config = stage.config or {}
        of_distillation = "keep_heads" in config and not any(config.get(name) for name in NOT_PRUNED)
        of_pruning = stage.stage == "prune" and config.get("method") != "magnitude"
        if of_pruning or (stage.stage == "distill" and of_distillation):
            found.add(stage.sha256)
    return found


def have_other_origins(first: Bundle, second: Bundle) -> bool:
    """Return True where both record their encoders, and these and all their stages differ."""
    lineages = [own_stages(bundle) for bundle in (first, second)]
    encoders = [{stage.encoder.sha256 for stage in lineage if stage.encoder} for lineage in lineages]
    stages = [{stage.sha256 for stage in lineage} for lineage in lineages]
    return all(encoders) and encoders[0].isdisjoint(encoders[1]) and stages[0].isdisjoint(stages[1])


def are_of_checkpoints(first: Bundle, second: Bundle) -> bool:
    """Return True where one began with a checkpoint, of unknown origin, and they share no ancestor."""
    lineages = [own_stages(bundle) for bundle in (first, second)]
    stages = [{stage.sha256 for stage in lineage} for lineage in lineages]
    return stages[0].isdisjoint(stages[1]) and any(s.source for lineage in lineages for s in lineage)


def fresh_head_seeds(bundles: list[Bundle]) -> list[str]:
    """Return the seeds of the fresh heads that the bundles or their ancestors began with, each once."""
    seeds = set()
    for bundle in bundles:
        nearest = next(filter(_began_with_fresh_head, bundle.lineage()), None)
        if nearest is not None and nearest.config and "seed" in nearest.config:
            seeds.add(str(nearest.config["seed"]))
    return sorted(seeds)


def _began_with_fresh_head(stage: Ancestor) -> bool:
    config = stage.config or {}
    if stage.stage == "distill":
        return any(config.get(name) for name in FRESH_STUDENT)
    from_encoder = stage.encoder is not None and not config.get("adapter")
    return stage.stage == "finetune" and (from_encoder or config.get("head") is not None)


def average(options: AverageOptions) -> Bundle:
    """Open the models, save their mean and print where."""
    from distill.save import derive
    from distill.student import same_tokens
    from qa.evaluation.threshold import read_held_out, too_few

    check_new_bundle(options.out)
    bundles = [open_model(path, format="pytorch") for path in options.models]
    for bundle in bundles[1:]:
        if not same_tokens(bundle.tokenizer, bundles[0].tokenizer):
            raise OptionError(f"--models {bundle.path}: its tokenizer differs from that of {bundles[0].path}")
    for first, second in combinations(bundles, 2):
        if have_other_origins(first, second):
            raise OptionError(
                f"--models {second.path}: did not start from the weights of {first.path}; give models of one "
                "encoder"
            )
        if are_of_checkpoints(first, second):
            pair = f"{first.path}, {second.path}"
            print(f"{pair}: checkpoints do not say if they have one origin", file=sys.stderr)
        if pruned_by(first) != pruned_by(second):
            raise OptionError(
                f"--models {second.path}: was not pruned together with {first.path}, so it may have other "
                "heads and neurons; give models trained further from one pruned model"
            )
    if len(seeds := fresh_head_seeds(bundles)) > 1:
        print(
            f"--models: their heads started from different random weights (--seed {first_few(seeds)}), so "
            "their mean may answer worse than each; train all with one --seed",
            file=sys.stderr,
        )
    few = too_few(read_held_out(bundles[0].path))
    if few and bundles[0].settings.null_threshold is not None:
        print(
            f"--models: {bundles[0].path} holds out too few questions, so its thresholds stay ({few}); tune "
            "them with python -m export.tune",
            file=sys.stderr,
        )
    elif len({bundle.manifest.files.get(HELD_OUT) for bundle in bundles}) > 1:
        print(
            f"--models: they hold out different questions; the thresholds are tuned on those of "
            f"{bundles[0].path}, which others may have learnt",
            file=sys.stderr,
        )
    ancestors = {ancestor.sha256: ancestor for bundle in bundles for ancestor in bundle.lineage()}
    record = StageRecord(
        format="pytorch",
        precision="fp32",
        stage="average",
        config={"models": [path.name for path in options.models]},
        averaged=[bundle.reference() for bundle in bundles],
        ancestors=list(ancestors.values()),
        parameters=bundles[0].manifest.parameters,
    )
    model = derive(mean_model(bundles), options.out, bundles[0], record, averaged=bundles)
    print(f"{model.path}: the mean of {len(bundles)} models")
    say_next_export(model)
    return model


if __name__ == "__main__":
    run_command("average")
