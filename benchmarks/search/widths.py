"""Widths of a search: time, recover and score each. A journal keeps what is finished."""

import copy
import gc
import shutil
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from benchmarks.search.candidates import Form, Trial
from benchmarks.search.questions import Half, Questions
from benchmarks.search.simulate import Scores, f1_scores, simulated
from benchmarks.search.stage import SearchConfig
from distill.prune_plan.importance import sample_windows
from distill.prune_plan.plan import prune_to
from distill.stage import distillation_trainer, without_autocast
from distill.teacher import TeacherBundle
from distill.training.options import DistillationWeights, TrainingOptions
from export.tflite.convert import convert_to
from export.tflite.quiet import quietly
from qa.base.files import file_sha256
from qa.base.journal import Journal
from qa.base.progress import Progress
from qa.bundles.bundle import Bundle
from qa.formats.tflite import any_length_signature
from qa.models.model import QAModel

ROUNDS = 30  # rounds in which each width is timed
RECOVERY_RATE = 2e-4


def run_of(config: SearchConfig, parent: Bundle, data: Path) -> dict[str, Any]:
    """Return all that decides what a search finds: a stopped search continues where this is the same."""
    names = ("target_mb", "target_ms", "questions", "recovery_windows", "seed")
    options = {name: getattr(config, name) for name in names}
    return {"model": parent.sha256, "data": file_sha256(data), **options}


def measure(files: list[bytes], length: int, rounds: int) -> np.ndarray:
    """Return the median milliseconds of a window of `length` tokens on one thread, by file."""
    from ai_edge_litert.interpreter import Interpreter

    with quietly():
        models = [Interpreter(model_content=file, num_threads=1) for file in files]
        runners = [model.get_signature_runner() for model in models]
    ones = np.ones((1, length), np.int32)
    inputs = {"input_ids": ones, "attention_mask": ones, "token_type_ids": 0 * ones}
    times = np.zeros((rounds + 1, len(runners)))
    for row in Progress(times, desc=f"{length} tokens", unit="round"):
        for which, runner in enumerate(runners):
            began = time.perf_counter()
            runner(**inputs)
            row[which] = 1000 * (time.perf_counter() - began)
    return np.median(times[1:], axis=0)  # the first round warms up


@dataclass(frozen=True, eq=False)
class Widths:
    """The parent, what its pruned copies are trained and scored on, and what is finished."""

    parent: Bundle
    model: QAModel
    on: Questions
    words: dict[str, nn.Module]
    config: SearchConfig
    journal: Journal
    """First entry: milliseconds of every width. Then the scores of one width each."""
    curves: Path
    """Folder of the training curves."""

    @property
    def store(self) -> Path:
        """Folder of the finished models of this search."""
        return self.journal.path.with_suffix("")

    def pruned(self, trial: Trial) -> QAModel:
        """Return a copy of the parent with the width of a trial."""
        narrow = copy.deepcopy(self.model)
        prune_to(narrow, trial.width)
        return narrow

    def times(self, tried: Sequence[Trial]) -> list[float]:
        """Return the milliseconds of a window of the longest length by width, in int8 on one thread."""
        if not self.journal.entries:
            longest = self.parent.settings.max_length
            signatures = [any_length_signature(longest)]
            files = [convert_to(self.pruned(trial), "int8", signatures).file.to_bytes() for trial in tried]
            self.journal.add({"ms": [float(ms) for ms in measure(files, longest, ROUNDS)]})
        ms: list[float] = self.journal.entries[0]["ms"]
        return ms

    def recovered(self, number: int) -> QAModel:
        """Read the model of a width that has its scores."""
        return QAModel.from_pretrained(self.store / f"width-{number}")

    def scores(self, number: int, trial: Trial) -> dict[Form, Scores]:
        """Recover and score width `number`, counted from 1, in every form near the target; those of a
        finished one are read.
        """
        if len(self.journal.entries) <= number:
            narrow = self.recover(number, self.pruned(trial))
            scored = scores_of(narrow, trial.forms, self.words, self.on.choice)
            folder = self.store / f"width-{number}"
            folder.mkdir(parents=True, exist_ok=True)
            narrow.save_pretrained(folder)
            rows = [
                [form.quantize, form.embeddings, s.f1.tolist(), s.threshold] for form, s in scored.items()
            ]
            self.journal.add({"scores": rows})
        return {
            Form(quantize, embeddings): Scores(np.array(f1), threshold)
            for quantize, embeddings, f1, threshold in self.journal.entries[number]["scores"]
        }

    def recover(self, number: int, narrow: QAModel) -> QAModel:
        """Train a pruned model for one pass over some windows against its parent, and return it.

        Its word vectors stay as they are: a few windows contain few of them.
        """
        seed = self.config.seed
        windows = sample_windows(self.on.train, self.config.recovery_windows, seed + 1)
        if not windows or narrow.count_parameters() == self.model.count_parameters():
            return narrow
        narrow.encoder.words.requires_grad_(False)
        work = self.curves / f"width-{number}"
        trainer = distillation_trainer(
            narrow,
            TeacherBundle(self.parent, self.parent.tokenizer, []),
            windows,
            self.on.data,
            options=TrainingOptions(RECOVERY_RATE, 16, 1, seed=seed),
            weights=DistillationWeights(0.1, 4.0, 10.0),
            cache=work,
            work=work,
            name="recovery",
        )
        trainer.train()
        trainer.finish()
        return without_autocast(narrow)

    def remove(self) -> None:
        """Remove what is kept, once the search has written its bundle."""
        shutil.rmtree(self.store, ignore_errors=True)
        self.journal.remove()


def scores_of(
    model: QAModel, forms: Collection[Form], words: dict[str, nn.Module], half: Half
) -> dict[Form, Scores]:
    """Score a model in every form."""
    found = {}
    for form in Progress(forms, desc="scoring", unit="form"):
        computed = simulated(model, form.quantize, words[form.embeddings])
        found[form] = f1_scores(computed, half)
        del computed
        gc.collect()  # hooks and modules hold each other
    return found
