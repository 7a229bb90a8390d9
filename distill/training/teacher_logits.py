"""The teacher in distillation, with a memory-mapped cache of its logits.

Without a hidden-state loss the teacher computes each window once: the cache fills as training first meets a
window, survives a stop, and is keyed by the teacher's weights, the windows and the precision. When hidden
states are wanted the teacher runs each time, for they are too large to keep, and the cache is left alone.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor

from distill.training.batches import model_inputs
from qa.bundles.bundle import Bundle
from qa.models.model import QAModel
from qa.text.features import Window


def cache_key(teacher: Bundle, windows: Sequence[Window], precision: str) -> str:
    """What the logits depend on, hashed: the teacher, and all that it is given."""
    read = hashlib.sha256()
    for window in windows:
        read.update(np.array([window.context_begin, len(window.input_ids)], np.int32).tobytes())
        read.update(window.input_ids.tobytes())
    facts = {
        "weights": teacher.manifest["files"][teacher.weights.name],
        "config": teacher.manifest["files"].get("config.json"),
        "windows": read.hexdigest(),
        "precision": precision,
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


class TeacherLogits:
    """A frozen teacher and its cache in `folder`, for one list of windows; without a folder nothing is
    kept.
    """

    def __init__(
        self, teacher: QAModel, windows: Sequence[Window], folder: Path | None, accelerator: Accelerator
    ) -> None:
        self.model = teacher.to(accelerator.device).eval().requires_grad_(False)
        self.accelerator = accelerator
        self.keeps = folder is not None
        if folder is None:
            return
        lengths = np.array([len(w.input_ids) for w in windows])
        self.offsets = np.concatenate([[0], np.cumsum(lengths)])
        if accelerator.is_main_process:
            folder.mkdir(parents=True, exist_ok=True)
            _prepare(folder, int(self.offsets[-1]), len(windows))
        accelerator.wait_for_everyone()
        self.logits = np.load(folder / "logits.npy", mmap_mode="r+")  # (2, total tokens): start, end
        self.known = np.load(folder / "known.npy", mmap_mode="r+")  # (windows,)

    def __call__(
        self, batch: dict[str, Tensor], indices: np.ndarray, hidden_states: bool = False
    ) -> tuple[Tensor, Tensor, Sequence[Tensor]]:
        """Start and end logits (B, T), 0 on padding, and the hidden states when wanted, computing only what
        is not known."""
        if self.keeps and not hidden_states and self.known[indices].all():
            return *self._read(batch["input_ids"].shape, indices), ()
        with torch.no_grad(), self.accelerator.autocast():
            output = self.model(**model_inputs(batch), hidden_states=hidden_states)
        start = output["start_logits"]
        end = output["end_logits"]
        if self.keeps and not hidden_states:
            self._write(start, end, indices)
        return start, end, output.get("hidden_states", ())

    def _read(self, shape: torch.Size, indices: np.ndarray) -> tuple[Tensor, Tensor]:
        values = np.zeros((2, *shape), np.float32)
        for row, index in enumerate(indices):
            begin = self.offsets[index]
            end = self.offsets[index + 1]
            values[:, row, : end - begin] = self.logits[:, begin:end]
        start, end = torch.from_numpy(values).to(self.accelerator.device)
        return start, end

    def _write(self, start: Tensor, end: Tensor, indices: np.ndarray) -> None:
        both = torch.stack([start, end]).float().cpu().numpy()
        for row, index in enumerate(indices):
            if not self.known[index]:
                first = self.offsets[index]
                last = self.offsets[index + 1]
                self.logits[:, first:last] = both[:, row, : last - first]
                self.known[index] = True


def _prepare(folder: Path, n_tokens: int, n_windows: int) -> None:
    """Make empty cache files unless both are there and whole; `known` says of each window whether its logits
    are."""
    shapes = {"known.npy": ((n_windows,), np.bool_), "logits.npy": ((2, n_tokens), np.float32)}
    try:
        if all(np.load(folder / name, mmap_mode="r").shape == shape for name, (shape, _) in shapes.items()):
            return
    except (ValueError, EOFError, OSError):
        pass  # absent, or torn by a stop while it was made
    for name, (shape, dtype) in shapes.items():
        path = folder / name
        np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape).flush()
        try:
            with open(path, "r+b") as stream:
                # The space is taken now: a memory map that meets a full disk kills the process.
                os.posix_fallocate(stream.fileno(), 0, path.stat().st_size)
        except OSError as error:
            path.unlink()  # it has the right shape, and would pass for whole next time
            raise OSError(error.errno, error.strerror, str(path)) from None
