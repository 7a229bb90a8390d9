"""Compute a teacher's logits once, before students are trained on them.

    python -m distill.logits --teacher runs/teacher-large --model models/student --data squad_v2

The logits go to the cache that training reads: with the same teacher, data, windows and precision, no stage
computes a training window again. A stopped run continues. Several processes share the work:
`python -m torch.distributed.run --nproc-per-node 2 -m distill.logits ...`.
"""

from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from distill.training.options import PRECISIONS
from qa.base.cli import changed, check_choice, check_option, flag_of
from qa.base.commands import run_command
from qa.base.errors import OptionError
from qa.base.files import check_new_folder
from qa.base.next_step import say_next
from qa.base.progress import Progress
from qa.bundles.hf_import import open_model, output_beside


@dataclass(frozen=True, kw_only=True)
class LogitsOptions:
    """Compute a teacher's logits for a student's windows of a data file."""

    teacher: Path
    """Bundle or checkpoint; its tokenizer may differ from the student's."""
    model: Path
    """Bundle or checkpoint of the student: its tokenizer and settings cut the windows."""
    data: str = "embedded"
    """Training questions: embedded or everyday (ship with the project), squad or squad_v2 (downloaded), or a
    file: SQuAD JSON, JSON lines, CSV, TSV or Parquet."""
    batch_size: int = 32
    """Windows computed at once."""
    precision: str = "auto"
    """bf16, fp32, or auto; the same as in the training that reads the logits."""
    cache: Path = Path("runs/cache")
    """Folder for cached teacher logits, shared by all runs."""

    def __post_init__(self) -> None:
        check_option(self.batch_size >= 1, "--batch-size", self.batch_size, "at least 1")
        check_choice("--precision", self.precision, PRECISIONS)
        check_new_folder(self.cache, "--cache")


def compute_logits(options: LogitsOptions) -> None:
    """Compute what the cache lacks, longest windows first; every process takes its share of the batches."""
    import numpy as np
    import torch

    from distill.data import training_questions
    from distill.making import usual_rate
    from distill.teacher import TeacherBundle
    from distill.training.batches import to_tensors
    from distill.training.process import freed_memory_kept
    from distill.training.trainer import make_accelerator
    from qa.text.features import make_windows

    teacher = open_model(options.teacher, format="pytorch")
    student = open_model(options.model, format="pytorch")
    tokenizer = student.tokenizer
    examples, _, _ = training_questions(options.data, student, unlabelled=True)
    reader = TeacherBundle(teacher)
    reader.read(tokenizer, examples)
    reader.check_windows(student.settings)
    windows = make_windows(examples, tokenizer, student.settings, progress=True)
    accelerator = make_accelerator(options.precision)
    logits = reader.logits(windows, options.cache, options.precision, accelerator)
    order = np.argsort([-len(window.input_ids) for window in windows], kind="stable")
    batches = np.array_split(order, -(-len(order) // options.batch_size))
    missing = [indices for indices in batches if not logits.known[indices].all()]
    accelerator.wait_for_everyone()  # all see the same list before anyone computes
    share = missing[accelerator.process_index :: accelerator.num_processes]
    main_process = accelerator.is_main_process
    try:
        with freed_memory_kept():
            for indices in Progress(share, desc="teacher logits", unit="batch", disable=not main_process):
                batch = to_tensors(
                    [windows[i] for i in indices], accelerator.device, student.settings.max_length
                )
                logits(batch, indices)
    except torch.OutOfMemoryError:
        raise OptionError("the GPU's memory is full; give a smaller --batch-size") from None
    accelerator.wait_for_everyone()
    if main_process:
        n_known = int(logits.known.sum())
        size = (logits.known.nbytes + logits.logits.nbytes) / 1e6
        print(f"{logits.folder}: logits of {n_known:,} of {len(windows):,} windows, {size:.1f} MB")
        models = ("--teacher", options.teacher, "--student", options.model)
        read = ((flag_of(name), value) for name, value in changed(options, ("cache", "precision")).items())
        out = output_beside(options.model, "distilled")
        more = ("--hidden-weight", 0, *chain(*read), *usual_rate(student))
        say_next("distill", *models, "--data", options.data, *more, "--out", out)


if __name__ == "__main__":
    run_command("logits")
