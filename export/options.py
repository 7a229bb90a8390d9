"""Options that both exports have, in a module that imports neither torch nor a converter."""

import importlib.util
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from qa.base.cli import check_exclusive, check_option
from qa.base.errors import OptionError
from qa.base.help import Expert
from qa.formats.precision import INTEGER_BITS, PRECISIONS, TABLE_FORMS


def shares_in_words(shares: Mapping[str, float]) -> str:
    """Return a share, or where formats differ, the share of each."""
    if len(set(shares.values())) == 1:
        return f"{next(iter(shares.values())):g}"
    return ", ".join(f"{share:g} ({name})" for name, share in shares.items())


NOT_IN_ONNX = ", ".join(name for name, precision in PRECISIONS.items() if "onnx" not in precision.meaning)
QUANTIZE_HELP = f"""Precision of the file:
{"; ".join(f"{name}, {p.in_words}" for name, p in PRECISIONS.items())}.
Not in ONNX:
{NOT_IN_ONNX}."""
EMBEDDINGS_HELP = f"""Form of the word embeddings in {" and ".join(INTEGER_BITS)}:
{", ".join(TABLE_FORMS)} (product quantization:
a byte for so many values). By default as the weights, or as the model's own embedding table is compressed."""
SPANS_HELP = f"""Least share of real windows whose best span equals PyTorch's; below it nothing is written.
By default {"; ".join(f"in {name} {shares_in_words(p.equal_spans)}" for name, p in PRECISIONS.items())}."""


@dataclass(frozen=True)
class ExportConfig:
    """Export a PyTorch bundle."""

    model: Path | None = None
    """PyTorch bundle to export, or a transformers checkpoint (folder or hub name); by default the demo's
    newest student, or the shipped student where there is none."""
    out: Path | None = None
    """Bundle to create; by default beside the model, for a shipped model in runs, named after runtime and
    precision."""
    quantize: Annotated[str, arg(help=QUANTIZE_HELP)] = "fp32"
    embeddings: Annotated[str | None, arg(help=EMBEDDINGS_HELP)] = None
    null_threshold: Expert[float | None] = None
    """No-answer threshold: there is no answer where null score - best score exceeds it. `qa.evaluate` finds
    one for your own questions (best_f1_thresh); by default it is searched on held-out training questions.
    The strict threshold and the probabilities are tuned as without it."""
    tune_threshold: Path | None = None
    """Questions to tune the no-answer thresholds on, some without an answer, instead of the held-out ones of
    the model: a SQuAD JSON file."""
    min_equal_spans: Annotated[float | None, arg(help=SPANS_HELP)] = None
    eval_data: str | None = None
    """Questions to score the file on, for its card: embedded, everyday, squad, squad_v2, or a SQuAD JSON
    file."""

    def __post_init__(self) -> None:
        names = ", ".join(PRECISIONS)
        check_option(self.quantize in PRECISIONS, "--quantize", self.quantize, f"one of {names}")
        check_form(self.embeddings, self.quantize)
        is_share = self.min_equal_spans is None or 0 <= self.min_equal_spans <= 1
        check_option(is_share, "--min-equal-spans", self.min_equal_spans, "from 0 to 1")
        both = self.null_threshold is not None and self.tune_threshold is not None
        check_exclusive(both, "--null-threshold", "--tune-threshold")
        is_number = self.null_threshold is None or math.isfinite(self.null_threshold)
        check_option(is_number, "--null-threshold", self.null_threshold, "a finite number")


def check_form(form: str | None, precision: str) -> None:
    """Raise OptionError unless a file of this precision may store its embedding table in this form.

    None is the precision's own form.
    """
    check_option(form in (None, *TABLE_FORMS), "--embeddings", form, f"one of {', '.join(TABLE_FORMS)}")
    if form is not None and precision not in INTEGER_BITS:
        raise OptionError(
            f"--embeddings {form} goes with --quantize {' or '.join(INTEGER_BITS)}, not with {precision}"
        )


def check_installed(target: str, modules: Sequence[str]) -> None:
    """Raise OptionError when one of the modules that an export needs is not installed."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        raise OptionError(f"export to {target} needs {' and '.join(missing)}: pip install 'pocketqa[export]'")
