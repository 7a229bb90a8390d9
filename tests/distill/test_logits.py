"""distill.logits fills the cache that training reads, alone or in several processes, and continues."""

import shutil
from contextlib import nullcontext
from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from compress.options import PruneOptions
from compress.prune.prune import prune
from distill.logits import LogitsOptions, compute_logits
from distill.training.batches import model_inputs, to_tensors
from qa.base.files import file_sha256
from qa.bundles.bundle import open_bundle
from qa.data import datasets
from qa.data.squad import read_squad
from qa.models.model import QAModel
from qa.text.features import make_windows

pytestmark = pytest.mark.usefixtures("fresh_accelerate")


@pytest.fixture
def config(make_bundle, small_squad, tmp_path):
    return LogitsOptions(
        teacher=make_bundle("roberta"),
        model=make_bundle(),
        data=str(small_squad),
        cache=tmp_path / "cache",
        precision="fp32",
        batch_size=5,
    )


def test_training_after_it_loads_no_teacher(config, few, tmp_path, monkeypatch, capsys):
    compute_logits(config)
    assert "windows" in capsys.readouterr().out
    load = QAModel.from_pretrained.__func__

    def only_the_student(cls, folder):
        assert folder != config.teacher
        return load(cls, folder)

    monkeypatch.setattr(QAModel, "from_pretrained", classmethod(only_the_student))
    models = {"model": config.model, "teacher": config.teacher, "cache": config.cache}
    prune(PruneOptions(hidden_weight=0, out=tmp_path / "o", **models, **few))
    assert len(list(config.cache.iterdir())) == 1


def test_a_stopped_run_computes_only_what_is_missing(config, monkeypatch):
    computed = []
    forward = QAModel.forward

    def stops_at_third(self, *arguments, **named):
        computed.append(len(named["input_ids"]))
        if len(computed) == 3:
            raise KeyboardInterrupt
        return forward(self, *arguments, **named)

    monkeypatch.setattr(QAModel, "forward", stops_at_third)
    with pytest.raises(KeyboardInterrupt):
        compute_logits(config)
    (folder,) = config.cache.iterdir()
    known = np.load(folder / "known.npy")
    assert known.sum() == sum(computed[:2])
    compute_logits(config)
    assert sum(computed[:2]) + sum(computed[3:]) == len(known)
    assert np.load(folder / "known.npy").all()
    before = len(computed)
    compute_logits(config)
    assert len(computed) == before


def test_each_of_two_processes_computes_its_share(config, monkeypatch):
    """The second works while the first waits for it to see what is missing."""
    computed = {0: [], 1: []}
    running = [0]
    forward = QAModel.forward

    def counted(self, *arguments, **named):
        computed[running[-1]].append(len(named["input_ids"]))
        return forward(self, *arguments, **named)

    def second():
        running.append(1)
        compute_logits(config)
        running.pop()

    def accelerator(precision):
        process = running[-1]
        waits = count()

        def wait():
            if process == 0 and next(waits) == 1:  # the first wait is for the cache's files
                second()

        return SimpleNamespace(
            process_index=process,
            num_processes=2,
            is_main_process=process == 0,
            device=torch.device("cpu"),
            autocast=nullcontext,
            wait_for_everyone=wait,
        )

    monkeypatch.setattr(QAModel, "forward", counted)
    monkeypatch.setattr("distill.training.trainer.make_accelerator", accelerator)
    compute_logits(config)
    (folder,) = config.cache.iterdir()
    known = np.load(folder / "known.npy")
    assert known.all()
    assert sum(map(sum, computed.values())) == len(known)
    assert len(computed[0]) - len(computed[1]) in (0, 1)


def test_no_development_part_is_needed(config, small_squad, tmp_path, monkeypatch):
    home = tmp_path / "home"
    there = home / ".cache" / "pocketqa" / "train.json"
    there.parent.mkdir(parents=True)
    shutil.copy(small_squad, there)
    parts = {"train": (there.name, file_sha256(there)), "dev": ("dev.json", "0" * 64)}
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setitem(datasets.SQUAD_FILES, "squad", parts)
    monkeypatch.setattr(datasets, "SQUAD_URL", "file:///absent/")
    compute_logits(replace(config, teacher=config.model, data="squad"))
    (folder,) = config.cache.iterdir()
    assert np.load(folder / "known.npy").all()


def test_a_teacher_of_the_same_tokenizer_gives_its_own_logits(small_squad, config):
    compute_logits(replace(config, teacher=config.model))
    (folder,) = config.cache.iterdir()
    bundle = open_bundle(config.model)
    windows = make_windows(read_squad(small_squad), bundle.tokenizer, bundle.settings)
    with torch.no_grad():
        output = QAModel.from_pretrained(bundle.path)(**model_inputs(to_tensors(windows[:1])))
    n = len(windows[0].input_ids)
    cached = np.load(folder / "logits.npy")[:, :n]
    np.testing.assert_allclose(cached[0], output["start_logits"][0, :n], atol=1e-5)
    np.testing.assert_allclose(cached[1], output["end_logits"][0, :n], atol=1e-5)
