"""Compute a teacher's logits once, before students are trained on them.

    python -m distill.logits --teacher runs/teacher-mpnet --model models/student --data squad_v2

The logits go to the cache that training reads: with the same teacher, data, windows and precision, no stage
loads the teacher again. A stopped run continues. Several processes share the work:
`python -m torch.distributed.run --nproc-per-node 2 -m distill.logits ...`.
"""

from dataclasses import dataclass
from pathlib import Path

from distill.training.options import check_precision
from qa.base.cli import check_option, run_command
from qa.base.files import check_new_folder


@dataclass(frozen=True, kw_only=True)
class LogitsConfig:
    """Compute a teacher's logits for a student's windows of a data file."""

    teacher: Path
    """Bundle or checkpoint; its tokenizer may differ from the student's."""
    model: Path
    """Bundle or checkpoint of the student: its tokenizer and settings cut the windows."""
    data: str = "embedded"
    """Training questions: embedded (ships with the project), squad or squad_v2 (downloaded), or a file: SQuAD
    JSON, JSON lines, CSV, TSV or Parquet."""
    batch_size: int = 32
    """Windows computed at once."""
    precision: str = "auto"
    """bf16, fp32, or auto; the same as in the training that reads the logits."""
    cache: Path = Path("runs/cache")
    """Folder for cached teacher logits, shared by all runs."""

    def __post_init__(self) -> None:
        check_option(self.batch_size >= 1, "--batch-size", self.batch_size, "at least 1")
        check_precision(self.precision)
        check_new_folder(self.cache, "--cache")


def main(config: LogitsConfig) -> None:
    """Fill the cache and print its folder and size."""
    from distill.fill_cache import fill_cache

    fill_cache(config)


if __name__ == "__main__":
    run_command(main)
