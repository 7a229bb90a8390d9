"""Options of every stage that prunes heads and neurons."""

from dataclasses import dataclass
from typing import Annotated

from tyro.conf import arg

from qa.base.cli import changed, check_choice, check_exclusive, check_option, flag_of
from qa.base.errors import OptionError
from qa.base.help import EXPERT, Expert
from qa.formats.precision import INTEGER_BITS, TABLE_FORMS

# Without a target: shares, not a size, since these suit any teacher. They leave half of a MiniLM's layers.
KEEP_HEADS = 0.67
KEEP_FFN = 0.5
TARGET_EMBEDDINGS_HELP = (
    f"Form of the embedding table for --target-mb: {', '.join(TABLE_FORMS)}; by default that of "
    "--target-quantize."
)


@dataclass(frozen=True, kw_only=True)
class PruningOptions:
    """Options of every stage that prunes heads and neurons."""

    keep_heads: float | None = None
    """Share of attention heads to keep, in (0, 1]. By default 0.67, or what --target-mb allows."""
    keep_ffn: float | None = None
    """Share of feed-forward neurons to keep, in (0, 1]. By default 0.5, or what
    --target-mb allows."""
    target_mb: float | None = None
    """Largest exported TFLite file, with its package, in MB (millions of bytes). By default no limit."""
    target_quantize: Annotated[
        str, EXPERT, arg(help=f"Precision of the export for --target-mb: {' or '.join(INTEGER_BITS)}.")
    ] = "int8"
    target_embeddings: Annotated[str | None, EXPERT, arg(help=TARGET_EMBEDDINGS_HELP)] = None
    importance_windows: Expert[int] = 256
    """Training windows on which importance is measured."""

    def check_pruning_options(self) -> None:
        """Raise OptionError for values that cannot work."""
        for name in ("keep_heads", "keep_ffn"):
            value = getattr(self, name)
            flag = flag_of(name)
            check_option(value is None or 0 < value <= 1, flag, value, "in (0, 1]")
            check_exclusive(value is not None and self.target_mb is not None, flag, "--target-mb")
        limit = self.target_mb
        check_option(limit is None or 0 < limit < float("inf"), "--target-mb", limit, "above 0 and finite")
        check_choice("--target-quantize", self.target_quantize, INTEGER_BITS)
        if self.target_embeddings is not None:
            check_choice("--target-embeddings", self.target_embeddings, TABLE_FORMS)
        of_file = ("target_quantize", "target_embeddings")
        for name in changed(self, of_file if self.target_mb is None else ()):
            raise OptionError(f"{flag_of(name)} needs --target-mb, whose file it describes")
        n_windows = self.importance_windows
        check_option(n_windows >= 1, "--importance-windows", n_windows, "at least 1")
