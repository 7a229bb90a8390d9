"""Options of every stage that compresses a model and trains it against its teacher."""

from dataclasses import dataclass
from pathlib import Path

from distill.options import DistillationFlags
from qa.base.help import Expert
from qa.bundles.hf_import import output_beside


@dataclass(frozen=True, kw_only=True)
class RecoveryFlags(DistillationFlags):
    """Options of every stage that compresses a model and lets it recover.

    Each stage defines `epochs` and `learning_rate`.
    """

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
    batch_size: Expert[int] = 16
    """Windows in a step."""

    @property
    def suffix(self) -> str:
        """Name ending of the result."""
        raise NotImplementedError

    @property
    def target(self) -> Path:
        """Bundle to create."""
        return self.out or output_beside(self.model, self.suffix)
