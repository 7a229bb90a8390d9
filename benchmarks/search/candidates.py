"""Candidates of a search: widths in every form that a TFLite file may store, their table and plot."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.show.plots import Point, Scatter
from distill.prune_plan.allocation import PruningPlan, best_within, between_layers
from distill.prune_plan.costs import UnitCosts, file_costs
from distill.prune_plan.importance import Importance
from qa.base.cli import check_option
from qa.evaluation.bootstrap import Interval
from qa.formats.precision import INTEGER_BITS
from qa.models.model import QAModel

# Shares to keep of the bytes that can be pruned.
SHARES = (1.0, 0.85, 0.7, 0.55, 0.4)
NEAR = 1.5  # times the target: files a little larger are shown too


@dataclass(frozen=True)
class Form:
    """Precision of a file's weights, and form of its embedding table."""

    quantize: str
    embeddings: str

    @property
    def flags(self) -> str:
        """Options of export.tflite that make this form."""
        same = self.embeddings == self.quantize
        return f"--quantize {self.quantize}" + ("" if same else f" --embeddings {self.embeddings}")


@dataclass(frozen=True, eq=False)
class Trial:
    """A width to try, and the predicted MB of its forms near the target."""

    width: PruningPlan
    forms: dict[Form, float]

    @property
    def counts(self) -> tuple[int, int]:
        """Heads and neurons in all layers."""
        return sum(map(len, self.width.heads)), sum(map(len, self.width.neurons))


@dataclass(frozen=True, eq=False)
class Candidate:
    """One width in one form."""

    trial: Trial
    form: Form
    ms: float
    """Milliseconds for one window of the longest length, one thread, int8."""
    f1: float
    lost: Interval
    """F1 minus the unpruned model's, paired by question."""

    @property
    def mb(self) -> float:
        """Predicted size of the file, within 2 percent."""
        return self.trial.forms[self.form]

    def row(self) -> dict[str, Any]:
        """Return its figures for JSON."""
        heads, neurons = self.trial.counts
        return {
            "heads": heads,
            "neurons": neurons,
            "quantize": self.form.quantize,
            "embeddings": self.form.embeddings,
            "predicted_mb": self.mb,
            "ms": self.ms,
            "f1": self.f1,
            "f1_difference": self.lost.mean,
            "f1_difference_interval": [self.lost.low, self.lost.high],
        }


@dataclass(frozen=True, eq=False)
class Check:
    """The chosen candidate on the questions that took no part in the choice."""

    n_questions: int
    f1: float
    whole_f1: float
    """F1 of the unpruned model in fp32."""
    lost: Interval
    """F1 minus the unpruned model's, paired by question."""

    def row(self) -> dict[str, Any]:
        """Return its figures for JSON."""
        return {
            "questions": self.n_questions,
            "f1": self.f1,
            "f1_difference": self.lost.mean,
            "f1_difference_interval": [self.lost.low, self.lost.high],
        }

    def __str__(self) -> str:
        """Describe the check in a line."""
        return (
            f"F1 {self.f1:.1f} on {self.n_questions} other questions, which took no part in the choice; "
            f"{self.whole_f1:.1f} for the unpruned model in fp32: "
            f"{self.lost.mean:+.1f} ({self.lost.low:+.1f} to {self.lost.high:+.1f})"
        )


def trials(
    model: QAModel, importance: Importance, word_forms: Sequence[str], target_mb: float
) -> list[Trial]:
    """Return every width of SHARES with a form near the target; OptionError when none is within it."""
    comparable = between_layers(importance)
    costs = {
        Form(bits, words): file_costs(model, bits, words) for bits in INTEGER_BITS for words in word_forms
    }
    any_int8 = costs[Form("int8", word_forms[0])]
    cuttable = any_int8.of(model) - any_int8.rest
    near_target = []
    least = float("inf")
    for share in SHARES:
        width = best_within(comparable, any_int8.rest + share * cuttable + 1e-6, any_int8)
        sizes = {form: cost_of(width, of) for form, of in costs.items()}
        least = min(least, *sizes.values())
        near = {form: mb for form, mb in sizes.items() if mb <= NEAR * target_mb}
        if near:
            near_target.append(Trial(width, near))
    check_option(
        least <= target_mb,
        "--target-mb",
        target_mb,
        f"at least {least:.2f}, which the narrowest width tried takes",
    )
    return near_target


def cost_of(width: PruningPlan, costs: UnitCosts) -> float:
    """Return the cost of a model of this width."""
    heads = sum(map(len, width.heads))
    neurons = sum(map(len, width.neurons))
    return costs.rest + costs.head * heads + costs.neuron * neurons


def table(candidates: Sequence[Candidate], front: Sequence[Candidate], best: Candidate) -> str:
    """Format the candidates, the smallest first."""
    lines = ["      MB     ms  heads  neurons  linears  words    F1  minus the unpruned (95 % interval)"]
    for c in sorted(candidates, key=lambda c: c.mb):
        mark = ">" if c is best else "*" if c in front else " "
        heads, neurons = c.trial.counts
        lines.append(
            f"{mark} {c.mb:6.2f} {c.ms:6.1f} {heads:6} {neurons:8}  {c.form.quantize:7}  "
            f"{c.form.embeddings:5} {c.f1:5.1f} "
            f"{c.lost.mean:+6.1f} ({c.lost.low:+.1f} to {c.lost.high:+.1f})"
        )
    return "\n".join(lines)


def plot(candidates: Sequence[Candidate], best: Candidate, whole_f1: float) -> Scatter:
    """Return the plot of F1 against bytes, with a colour for each form of the embedding table.

    Candidates on the front have the 95 % interval of their difference from the unpruned model; those of all
    would hide each other.
    """

    def point(c: Candidate) -> Point:
        heads, neurons = c.trial.counts
        name = f"{heads} heads, {neurons} neurons, {c.form.quantize}, {c.form.embeddings} words"
        return Point(name, c.mb, c.f1, None, f"{c.form.embeddings} words", c.form.quantize, chosen=c is best)

    def with_interval(c: Candidate, drawn: Point) -> Point:
        return replace(drawn, interval=Interval(c.f1, whole_f1 + c.lost.low, whole_f1 + c.lost.high))

    title = f"F1 against size; the unpruned model in fp32 has {whole_f1:.1f}"
    plain = Scatter(title, "size of the TFLite file, MB", [point(c) for c in candidates])
    front = plain.front
    points = [with_interval(c, p) if p in front else p for c, p in zip(candidates, plain.points, strict=True)]
    return replace(plain, points=points)
