"""Options of `python -m compress.prune`, and the registry of pruning methods."""

from dataclasses import dataclass, fields
from typing import Annotated, NamedTuple

from tyro.conf import arg

from compress.options import RecoveryFlags
from distill.prune_plan.options import PruningFlags
from distill.training.options import flag_of
from qa.base.cli import check_exclusive, check_option
from qa.bundles.bundle import Bundle


class Method(NamedTuple):
    """A pruning method."""

    suffix: str
    """Name ending of the result."""
    in_words: str
    """Description for the help."""
    steps: str | type
    """Subclass of compress.prune.method.PruningMethod; or its module:name, imported when it is used."""
    flags: type | None = None
    """Dataclass of its options, which PruneConfig extends; None without any."""


@dataclass(frozen=True, kw_only=True)
class MagnitudeFlags:
    """Options of magnitude pruning."""

    sparsity: float = 0.8
    """Magnitude: share of the weights of Linears and LSTMs set to zero, in (0, 1)."""
    iterations: int = 1
    """Magnitude: stages in which that share is reached during recovery; 1 is one-shot."""


METHODS = {
    "structured": Method(
        "pruned", "heads and neurons removed", "compress.prune.structured:Structured", PruningFlags
    ),
    "magnitude": Method(
        "sparse", "single weights set to zero", "compress.prune.magnitude:Magnitude", MagnitudeFlags
    ),
}
METHOD_HELP = f"{' or '.join(f'{name} ({method.in_words})' for name, method in METHODS.items())}."


@dataclass(frozen=True, kw_only=True)
class PruneConfig(RecoveryFlags, PruningFlags, MagnitudeFlags):
    """Prune a model and let it recover against its teacher."""

    method: Annotated[str, arg(help=METHOD_HELP)] = "structured"
    epochs: float = 1
    """Passes over the data for recovery."""
    learning_rate: float = 2e-4
    """Peak learning rate of recovery."""

    def __post_init__(self) -> None:
        check_option(self.method in METHODS, "--method", self.method, f"one of {', '.join(METHODS)}")
        self.check_pruning_flags()
        check_option(0 < self.sparsity < 1, "--sparsity", self.sparsity, "in (0, 1)")
        check_option(self.iterations >= 1, "--iterations", self.iterations, "at least 1")
        self.check_method()
        self.options()
        self.weights()

    def check_method(self) -> None:
        """Raise OptionError for options of another method, which would be ignored."""
        for name, method in METHODS.items():
            for option in fields(method.flags) if method.flags is not None else ():
                given = getattr(self, option.name) != option.default
                check_exclusive(
                    given and name != self.method, flag_of(option.name), f"--method {self.method}"
                )

    @property
    def suffix(self) -> str:
        """Name ending of the result."""
        return METHODS[self.method].suffix


def main(config: PruneConfig) -> Bundle:
    """Open the parent, prune, recover, save, and print what it gained."""
    from compress.prune.steps import prune

    return prune(config)
