"""Training puts back what it changes in the process: random numbers, signal handlers, attention."""

import random
import signal

import numpy as np
import pytest
import torch

from distill.training.objectives import supervised
from distill.training.options import TrainingOptions
from distill.training.process import freed_memory_kept, random_state_kept, signal_ignored
from distill.training.trainer import Trainer
from qa.bundles.bundle import open_bundle
from qa.data.datasets import resolve
from qa.data.squad import read_squad
from qa.models.model import QAModel
from qa.text.features import make_windows


def draws():
    return random.random(), float(np.random.rand()), float(torch.rand(()))


def seed_all():
    random.seed(1)
    np.random.seed(2)
    torch.manual_seed(3)


def test_random_numbers_go_on_after_the_block_as_without_it():
    seed_all()
    expected = draws()
    seed_all()
    with random_state_kept():
        draws()
    assert draws() == expected


def test_a_signal_has_its_former_handler_after_the_block():
    former = signal.getsignal(signal.SIGTERM)
    with signal_ignored(signal.SIGTERM):
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is former


def test_memory_can_be_allocated_inside_and_after_the_block():
    with freed_memory_kept():
        assert np.ones(1 << 20).sum() == 1 << 20
    assert np.ones(1 << 20).sum() == 1 << 20


@pytest.mark.usefixtures("fresh_accelerate")
@pytest.mark.parametrize("fails", [False, True])
def test_training_leaves_attention_and_random_numbers_as_they_were(make_bundle, tmp_path, fails):
    bundle = open_bundle(make_bundle())
    windows = make_windows(read_squad(resolve("embedded", "train"))[:4], bundle.tokenizer, bundle.settings)[
        :4
    ]
    model = QAModel.from_pretrained(bundle.path)
    former = model.encoder.config._attn_implementation
    seen = []

    def loss(*arguments):
        seen.append(model.encoder.config._attn_implementation)
        if fails:
            raise ZeroDivisionError
        return supervised(*arguments)

    trainer = Trainer(model, windows, loss, TrainingOptions(1e-3, 4, 1, precision="fp32"), tmp_path, "t")
    seed_all()
    expected = draws()
    seed_all()
    if fails:
        with pytest.raises(ZeroDivisionError):
            trainer.train()
    else:
        trainer.train()
    assert seen == ["eager"]
    assert model.encoder.config._attn_implementation == former
    assert draws() == expected
