"""Training computes in bf16 where the hardware does, and in fp32 elsewhere, whatever machine a checkpoint
came from."""

from pathlib import Path

import pytest
import torch
from accelerate.state import AcceleratorState

from distill.training.checkpoint import CHECKPOINT
from distill.training.objectives import supervised
from distill.training.options import TrainingOptions
from distill.training.precision import resolve_precision
from distill.training.trainer import Trainer
from qa.base.errors import OptionError
from qa.models.model import QAModel

pytestmark = pytest.mark.usefixtures("fresh_accelerate")


@pytest.fixture
def cpu(monkeypatch):
    """Sets what the CPU can do, and hides any GPU."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    return lambda **flags: monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: flags)


def trainer(make_bundle, windows, work, precision):
    options = TrainingOptions(1e-3, 4, 2, precision=precision, checkpoint_minutes=0)
    return Trainer(QAModel.from_pretrained(make_bundle()), windows, supervised, options, work, "t")


def test_auto_agrees_with_the_kernel_about_this_cpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    flags = set(Path("/proc/cpuinfo").read_text(encoding="utf-8").split())
    assert resolve_precision("auto") == ("bf16" if flags & {"avx512_bf16", "amx_bf16"} else "fp32")


@pytest.mark.parametrize(
    ("flags", "precision"),
    [
        ({}, "fp32"),
        ({"avx2": True, "avx512_f": True, "avx512_bf16": False}, "fp32"),
        ({"avx512_bf16": True}, "bf16"),
    ],
)
def test_auto_follows_the_cpu(flags, precision, cpu):
    cpu(**flags)
    assert resolve_precision("auto") == precision
    assert (resolve_precision("fp32"), resolve_precision("bf16")) == ("fp32", "bf16")


@pytest.mark.parametrize(("major", "precision"), [(7, "fp32"), (9, "bf16")])
def test_auto_follows_the_gpu_where_there_is_one(major, precision, cpu, monkeypatch):
    cpu(avx512_bf16=major == 7)  # the opposite, which must not matter
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(
        torch.cuda, "get_device_properties", lambda _: type("Properties", (), {"major": major})
    )
    assert resolve_precision("auto") == precision


def test_an_unknown_precision_is_refused():
    with pytest.raises(OptionError, match="--precision must be one of auto, bf16, fp32, got fp16"):
        TrainingOptions(1e-4, 16, 1, precision="fp16")


def test_auto_on_a_cpu_without_bf16_trains_in_fp32(make_bundle, windows, tmp_path, cpu):
    cpu()
    training = trainer(make_bundle, windows, tmp_path, "auto")
    assert (training.options.precision, training.accelerator.mixed_precision) == ("fp32", "no")


def test_a_checkpoint_does_not_go_on_in_another_precision(make_bundle, windows, tmp_path, cpu):
    cpu(avx512_bf16=True)
    trainer(make_bundle, windows, tmp_path, "auto").train()
    assert (tmp_path / CHECKPOINT).is_file()
    AcceleratorState._reset_state(reset_partial_state=True)  # another process, on another machine
    cpu()
    with pytest.raises(OptionError, match="made with other options"):
        trainer(make_bundle, windows, tmp_path, "auto").train(resume=True)
