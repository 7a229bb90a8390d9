"""Steps of `python -m distill.logits`."""

import numpy as np
import torch

from distill.logits import LogitsConfig
from distill.stage import load_splits
from distill.teacher import TeacherBundle
from distill.training.batches import to_tensors
from distill.training.trainer import make_accelerator
from qa.base.errors import OptionError
from qa.base.next_step import say_next
from qa.base.progress import Progress
from qa.bundles.hf_import import open_model
from qa.text.features import make_windows


def fill_cache(config: LogitsConfig) -> None:
    """Compute what the cache lacks, longest windows first; every process takes its share of the batches."""
    teacher = open_model(config.teacher, format="pytorch")
    student = open_model(config.model)
    tokenizer = student.tokenizer
    examples = load_splits(config.data, None, student, unlabelled=True).train
    reader = TeacherBundle(teacher, tokenizer, examples)
    reader.check_windows(student.settings)
    windows = make_windows(examples, tokenizer, student.settings, progress=True)
    accelerator = make_accelerator(config.precision)
    logits = reader.logits(windows, config.cache, config.precision, accelerator)
    order = np.argsort([-len(window.input_ids) for window in windows], kind="stable")
    batches = np.array_split(order, -(-len(order) // config.batch_size))
    missing = [indices for indices in batches if not logits.known[indices].all()]
    accelerator.wait_for_everyone()  # all see the same list before anyone computes
    share = missing[accelerator.process_index :: accelerator.num_processes]
    try:
        for indices in Progress(
            share, desc="teacher logits", unit="batch", disable=not accelerator.is_main_process
        ):
            batch = to_tensors([windows[i] for i in indices], accelerator.device, student.settings.max_length)
            logits(batch, indices)
    except torch.OutOfMemoryError:
        raise OptionError("the GPU's memory is full; give a smaller --batch-size") from None
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        n_known = int(logits.known.sum())
        size = (logits.known.nbytes + logits.logits.nbytes) / 1e6
        print(f"{logits.folder}: logits of {n_known:,} of {len(windows):,} windows, {size:.1f} MB")
        say_next(
            "distill.run",
            "--teacher",
            config.teacher,
            "--student",
            config.model,
            "--data",
            config.data,
            "--hidden-weight",
            0,
            "--out",
            "RUN",
        )
