"""Two processes of torchrun on CPUs: the model of one process, and a clear end when one of them is killed."""

import os
import subprocess
import sys

import pytest
import torch
from places import ROOT
from tiny_models import SIZES
from transformers import BertConfig, BertModel

from distill.options import DistillOptions, FinetuneOptions
from distill.train_on_gold import finetune
from distill.train_on_teacher import distil
from distill.training.checkpoint import CHECKPOINT
from qa.models.model import QAModel
from qa.models.pretrained import copy_tokenizer, embedded_folder

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("fresh_accelerate")]

ONE_EPOCH = {"epochs": 1, "batch_size": 7, "precision": "fp32"}
KILLED_STEP = 3
KILLED = f"""
import os, signal
from distill.training.trainer import Trainer
from qa.base.commands import run_command

step = Trainer._step

def killed(trainer, number):
    if os.environ["RANK"] == "1" and number == {KILLED_STEP}:
        os.kill(os.getpid(), signal.SIGKILL)
    return step(trainer, number)

Trainer._step = killed
run_command("distill")
"""
# What softmax takes no notice of moves by rounding alone, which Adam makes steps of.
WITHOUT_EFFECT = ("key.bias", "head.output.bias")


def torchrun(folder, *words):
    launcher = "-m torch.distributed.run --standalone --nproc-per-node 2"
    command = [sys.executable, *launcher.split(), *map(str, words)]
    root = str(ROOT)
    environment = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": root}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def words_of(options):
    return [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]


def assert_same(one, two):
    ours, theirs = (dict(QAModel.from_pretrained(path).named_parameters()) for path in (one, two))
    assert ours.keys() == theirs.keys()
    for name, values in ours.items():
        if not name.endswith(WITHOUT_EFFECT):
            torch.testing.assert_close(
                values, theirs[name], rtol=0, atol=3e-5, msg=lambda text, name=name: f"{name}: {text}"
            )


def test_distillation_in_two_processes_is_that_in_one_and_goes_on_when_one_was_killed(
    make_bundle, small_squad, tmp_path
):
    options = {"teacher": make_bundle(head="linear"), "data": small_squad, "student_layers": 1, **ONE_EPOCH}
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    words = [*words_of(options), "--out", "two"]
    killed = torchrun(tmp_path, script, *words)
    assert killed.returncode != 0
    # What comes first: the lost connection, or the signal with which torchrun ends all others.
    last_words = [
        line for line in killed.stderr.splitlines() if line.startswith("error: ") or line == "interrupted"
    ]
    assert last_words in (
        ["error: student: another process of this run has ended; start the run again with --resume"],
        ["interrupted"],
    ), killed.stderr
    assert "student: stopped after " in killed.stderr
    assert (tmp_path / "two" / "training" / "student" / CHECKPOINT).is_file()
    done = torchrun(tmp_path, "-m", "distill.run", *words, "--resume")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("student:") == 1
    alone = distil(DistillOptions(**options | {"data": str(small_squad)}, out=tmp_path / "one"))
    assert_same(alone.path, tmp_path / "two" / "student")


def test_fine_tuning_in_two_processes_is_that_in_one(small_squad, tmp_path):
    """Without dropout, which each process draws for its own windows."""
    torch.manual_seed(0)
    config = BertConfig(**SIZES, num_hidden_layers=1, hidden_dropout_prob=0.0)
    encoder = BertModel(config, add_pooling_layer=False)
    encoder.save_pretrained(tmp_path / "encoder")
    copy_tokenizer(embedded_folder(), tmp_path / "encoder")
    lengths = {"max_length": 96, "doc_stride": 32, "max_question_length": 24}
    given = {"model": tmp_path / "encoder", "head": "linear", "data": small_squad}
    options = given | lengths | ONE_EPOCH
    done = torchrun(tmp_path, "-m", "distill.finetune", *words_of(options), "--out", "two")
    assert done.returncode == 0, done.stderr
    texts = {"model": str(options["model"]), "data": str(small_squad)}
    alone = finetune(FinetuneOptions(**options | texts, out=tmp_path / "one"))
    assert_same(alone.path, tmp_path / "two")
