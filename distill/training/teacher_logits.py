"""A teacher's logits for training windows, and a memory-mapped cache of them.

Without a hidden-state loss the teacher computes each window once. The cache fills as training first meets a
window, or beforehand by distill.logits; where it is complete, training loads no teacher. It survives a stop.
Its key covers the teacher's weights, the windows and the precision. Hidden states are too large to keep: with
them the teacher runs each time, and the cache is not used.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor

from distill.training.alignment import Alignment, project
from distill.training.batches import model_inputs
from qa.bundles.bundle import Bundle
from qa.data.squad import Example
from qa.models.model import QAModel
from qa.text.features import Window
from qa.text.settings import QASettings
from qa.text.tokenization import special_tokens


def cache_key(
    teacher: Bundle, windows: Sequence[Window], precision: str, aligned: Sequence[Example] = ()
) -> str:
    """Hash what the logits depend on: the teacher and its input.

    `aligned` are the windows' examples where the teacher has another tokenizer: it reads their text, and
    truncates questions by its own settings.
    """
    read = hashlib.sha256()
    for example in aligned:
        read.update(f"{example.question}\0{example.context}\0".encode())
    for window in windows:
        read.update(np.array([window.context_begin, len(window.input_ids)], np.int32).tobytes())
        read.update(window.input_ids.tobytes())
    facts: dict[str, Any] = {
        "weights": teacher.manifest.files[teacher.weights.name],
        "config": teacher.manifest.files.get("config.json"),
        "windows": read.hexdigest(),
        "precision": precision,
    }
    if aligned:
        facts["tokenizer"] = teacher.manifest.files["tokenizer.json"]
        longest = teacher.settings.max_question_length
        if longest != QASettings.max_question_length:  # the default is not named: older caches stay valid
            facts["max_question_length"] = longest
        # Other logits than an earlier version's, where a character has several tokens or no token.
        if not special_tokens(teacher.tokenizer).wordpiece or any(
            (np.diff(window.char_starts) == 0).any() for window in windows
        ):
            facts["ends"] = "last token of a character, or the one before it"
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


class Teacher:
    """A frozen model that reads the student's windows, through `alignment` where its tokenizer is another."""

    def __init__(self, model: QAModel, alignment: Alignment | None = None) -> None:
        self.model = model.eval().requires_grad_(False)
        self.alignment = alignment

    @torch.no_grad()
    def __call__(
        self, batch: dict[str, Tensor], indices: np.ndarray, hidden_states: bool = False
    ) -> dict[str, Any]:
        """Return start_logits and end_logits (B, T) on the student's tokens; `hidden_states` on request."""
        if self.alignment is None:
            return self.model(**model_inputs(batch), hidden_states=hidden_states)
        length = batch["input_ids"].shape[1]
        device = batch["input_ids"].device
        inputs, aligned = self.alignment.batch(list(indices), device)
        output = self.model(**inputs)
        return {
            "start_logits": project(output["start_logits"], aligned, "starts", length),
            "end_logits": project(output["end_logits"], aligned, "ends", length),
        }


class TeacherLogits:
    """A teacher and the cache of its logits in `folder`, for one list of windows.

    `load` makes the teacher when a window is not in the cache. Without a folder nothing is kept.
    """

    def __init__(
        self,
        load: Callable[[], Teacher],
        windows: Sequence[Window],
        folder: Path | None,
        accelerator: Accelerator,
    ) -> None:
        self.load = load
        self.accelerator = accelerator
        self.folder = folder
        if folder is None:
            return
        lengths = np.array([len(w.input_ids) for w in windows])
        self.offsets = np.concatenate([[0], np.cumsum(lengths)])
        if accelerator.is_main_process:
            folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)  # of two runs that start together, one makes the files
                _prepare(folder, int(self.offsets[-1]), len(windows))
            finally:
                os.close(descriptor)
        accelerator.wait_for_everyone()
        self.logits = np.load(folder / "logits.npy", mmap_mode="r+")  # (2, total tokens): start, end
        self.known = np.load(folder / "known.npy", mmap_mode="r+")  # (windows,)

    @cached_property
    def teacher(self) -> Teacher:
        """The teacher, loaded when first used."""
        teacher = self.load()
        teacher.model.to(self.accelerator.device)
        return teacher

    def __call__(
        self, batch: dict[str, Tensor], indices: np.ndarray, hidden_states: bool = False
    ) -> tuple[Tensor, Tensor, Sequence[Tensor]]:
        """Return start and end logits (B, T), cached ones with 0 on padding, and hidden states on request."""
        if self.folder and not hidden_states and self.known[indices].all():
            return *self._read(batch["input_ids"].shape, indices), ()
        with torch.no_grad(), self.accelerator.autocast():
            output = self.teacher(batch, indices, hidden_states)
        start = output["start_logits"]
        end = output["end_logits"]
        if self.folder and not hidden_states:
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
    """Create empty cache files unless both are complete; `known` tells which windows have logits."""
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
