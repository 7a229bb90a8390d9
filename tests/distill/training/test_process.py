"""Training puts back what it changes in the process: random numbers, signal handlers, attention."""

import os
import subprocess
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch
from places import ROOT

from distill.training.objectives import supervised
from distill.training.options import TrainingOptions
from distill.training.process import (
    M_MMAP_MAX,
    M_TRIM_THRESHOLD,
    MMAP_MAX,
    freed_memory_kept,
)
from distill.training.trainer import Trainer
from qa.base.errors import OptionError
from qa.base.journal import lock
from qa.models.attention import PLAIN
from qa.models.model import QAModel


def test_freed_memory_is_kept_in_the_block_and_then_goes_back_by_the_environment(monkeypatch):
    parameters = {}
    libc = SimpleNamespace(mallopt=parameters.__setitem__, malloc_trim=lambda _: None)
    monkeypatch.setattr("ctypes.CDLL", lambda _: libc)
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "4096")
    with freed_memory_kept():
        assert parameters == {M_TRIM_THRESHOLD: 2**31 - 1, M_MMAP_MAX: 0}
    assert parameters == {M_TRIM_THRESHOLD: 4096, M_MMAP_MAX: MMAP_MAX}


def test_a_locked_folder_is_refused_until_its_process_has_ended(tmp_path):
    holder = (
        f"import sys; from pathlib import Path; from {lock.__module__} import lock; "
        "lock(Path(sys.argv[1])); print('locked', flush=True); sys.stdin.read()"
    )
    words = [sys.executable, "-c", holder, str(tmp_path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as process:
        process.stdout.readline()
        with pytest.raises(OptionError, match="another process is at work"):
            lock(tmp_path)
        process.kill()
    os.close(lock(tmp_path))


@pytest.mark.usefixtures("fresh_accelerate")
@pytest.mark.parametrize("fails", [False, True])
def test_training_leaves_attention_and_random_numbers_as_they_were(make_bundle, windows, tmp_path, fails):
    model = QAModel.from_pretrained(make_bundle())
    model.encoder.set_attention("eager")  # not the default
    former = model.encoder.config._attn_implementation
    seen = []

    def loss(*arguments):
        seen.append(model.encoder.config._attn_implementation)
        if fails:
            raise ZeroDivisionError
        return supervised(*arguments)

    options = TrainingOptions(1e-3, 4, 1, precision="fp32")
    trainer = Trainer(model, windows[:4], loss, options, tmp_path, "t")
    torch.manual_seed(3)
    expected = torch.rand(())
    torch.manual_seed(3)
    with pytest.raises(ZeroDivisionError) if fails else nullcontext():
        trainer.train()
    assert seen == [PLAIN]
    assert model.encoder.config._attn_implementation == former
    assert torch.rand(()) == expected
