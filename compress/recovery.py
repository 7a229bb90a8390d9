"""What the stages share that change a finished model and train it against its teacher: options, and opening
what they need."""

import os
from dataclasses import dataclass
from pathlib import Path

from distill.stage import DistillationFlags, finished, refuse_unless_resumed, summary
from distill.training.trainer import TrainingOptions
from qa.base.errors import OptionError
from qa.bundles.bundle import Bundle
from qa.bundles.hf_import import open_model, output_beside


@dataclass(frozen=True, kw_only=True)
class RecoveryFlags(DistillationFlags):
    """Options of every stage that compresses a model and lets it recover; `epochs` and `learning_rate` are
    each stage's own."""

    model: Path
    """PyTorch bundle to start from, or a transformers checkpoint (folder or hub name); it is left as it is.
    """
    out: Path | None = None
    """Bundle to create; by default beside the parent, named after it and what was done."""
    teacher: Path | None = None
    """Bundle or checkpoint to recover against; by default the model itself, as it was."""
    epochs: float
    """Passes over the data."""
    learning_rate: float
    """Peak learning rate."""
    batch_size: int = 16
    """Windows in a step."""

    def options(self) -> TrainingOptions:
        """How it trains."""
        return TrainingOptions(
            self.learning_rate,
            self.batch_size,
            self.epochs,
            precision=self.precision,
            seed=self.seed,
            optimizer=self.optimizer,
        )

    @property
    def suffix(self) -> str:
        """What was done, for the name of the result."""
        raise NotImplementedError

    @property
    def target(self) -> Path:
        """Where the result goes."""
        return self.out or output_beside(self.model, self.suffix)


def finished_before(config: RecoveryFlags, stage: str) -> Bundle | None:
    """The bundle that an interrupted run had finished, printed; None where there is work to do.

    OptionError when torchrun started several processes, BundleError when the result exists and is not to be
    gone on with.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise OptionError(
            f"{stage} runs as one process, on one GPU where there is one; start it without torchrun"
        )
    refuse_unless_resumed(config.target, config.resume)
    if not config.target.exists():
        config.check_cache()
        return None
    bundle = finished(config, config.target)
    print(summary(bundle))
    return bundle


def open_with_teacher(config: RecoveryFlags) -> tuple[Bundle, Bundle]:
    """Open the model to compress, and the teacher that it recovers against."""
    parent = open_model(config.model, kind="pytorch")
    teacher = open_model(config.teacher, kind="pytorch") if config.teacher else parent
    return parent, teacher
