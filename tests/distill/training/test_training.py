"""Training: it learns, a stopped run continues exactly, the teacher's cache holds what it computed, the stage
makes a student."""

import errno
import os
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from comparisons import copied
from quick import quick
from stops import killed_at, stopped_at

from compress.options import PruneOptions, QATOptions
from compress.prune.magnitude import IterativePruning
from compress.prune.prune import prune
from compress.qat.train import train as on_grid
from distill.options import DistillOptions
from distill.train_on_teacher import distil
from distill.training.batches import to_tensors
from distill.training.checkpoint import CHECKPOINT
from distill.training.objectives import supervised
from distill.training.options import TrainingOptions, high_rate
from distill.training.teacher_logits import Teacher, TeacherLogits, cache_key
from distill.training.trainer import Trainer, learning_rate_at, make_accelerator
from qa.base.errors import OptionError
from qa.bundles.bundle import open_bundle
from qa.data.squad import read_squad
from qa.models.model import QAModel
from qa.text.features import make_windows
from qa.text.settings import QASettings

OPTIONS = TrainingOptions(1e-3, 4, 2, precision="fp32", checkpoint_minutes=0)


pytestmark = pytest.mark.usefixtures("fresh_accelerate")


def tiny(make_bundle):
    return QAModel.from_pretrained(make_bundle())


def test_checkpoint_of_other_options_is_refused(make_bundle, windows, tmp_path):
    Trainer(tiny(make_bundle), windows, supervised, OPTIONS, tmp_path, "t").train()
    other = TrainingOptions(1e-3, 4, 3, precision="fp32")
    with pytest.raises(OptionError, match="made with other options"):
        Trainer(tiny(make_bundle), windows, supervised, other, tmp_path, "t").train(resume=True)
    (tmp_path / CHECKPOINT).write_bytes(b"torn")
    with pytest.raises(OptionError, match="broken checkpoint"):
        Trainer(tiny(make_bundle), windows, supervised, OPTIONS, tmp_path, "t").train(resume=True)


def test_resuming_pruning_keeps_the_same_zeros(make_bundle, windows, tmp_path):
    options = TrainingOptions(1e-3, 4, 4, precision="fp32", checkpoint_minutes=0)

    def trainer(model, work, loss=supervised):
        return Trainer(model, windows, loss, options, work, "t", after_step=IterativePruning(model, 0.6, 3))

    straight, stopped, resumed = (tiny(make_bundle) for _ in range(3))
    trainer(straight, tmp_path / "a").train()
    with pytest.raises(RuntimeError, match="killed"):
        trainer(stopped, tmp_path / "b", killed_at(5)).train()
    trainer(resumed, tmp_path / "b").train(resume=True)
    for name, tensor in straight.state_dict().items():
        assert torch.equal(tensor, resumed.state_dict()[name]), name


def test_weights_that_are_not_masked_yet_are_not_kept(make_bundle, windows, tmp_path):
    def stops(step, n_steps):
        if step == 3:
            raise KeyboardInterrupt

    options = replace(OPTIONS, checkpoint_minutes=60)
    trainer = Trainer(tiny(make_bundle), windows, supervised, options, tmp_path, "t", after_step=stops)
    assert trainer.n_steps > 3
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    assert not (tmp_path / CHECKPOINT).exists()


def test_learning_rate_rises_then_falls_to_zero():
    options = TrainingOptions(1.0 / 2, 1, 1, warmup=0.2)
    rates = [learning_rate_at(step, 10, options) for step in range(11)]
    assert rates[:3] == [0.25, 0.5, 0.5]
    assert rates == [rates[0], *sorted(rates[1:], reverse=True)]
    assert rates[10] == 0


@pytest.mark.parametrize(
    ("width", "change", "is_high"),
    [
        (768, {}, True),
        (384, {}, False),
        (768, {"learning_rate": 5e-5}, False),
        (768, {"freeze_encoder": True}, False),
        (768, {"lora_rank": 8}, False),
    ],
)
def test_a_high_learning_rate_of_a_large_encoder_is_said(width, change, is_high):
    line = high_rate(
        width, TrainingOptions(**{"learning_rate": 4e-4, "batch_size": 16, "epochs": 3} | change)
    )
    assert (line is not None and "--learning-rate 0.0004" in line) == is_high


def test_cache_returns_what_the_teacher_computed(make_bundle, windows, tmp_path):
    accelerator = make_accelerator("fp32")
    teacher = TeacherLogits(lambda: Teacher(tiny(make_bundle)), windows, tmp_path / "c", accelerator)
    indices = np.array([3, 0, 7])
    batch = to_tensors([windows[i] for i in indices])
    start, end, _ = teacher(batch, indices)

    def unavailable():
        raise AssertionError("loaded again")

    again = TeacherLogits(unavailable, windows, tmp_path / "c", accelerator)
    cached_start, cached_end, _ = again(batch, indices)
    keep = batch["attention_mask"].bool()
    assert torch.equal(start[keep], cached_start[keep])
    assert torch.equal(end[keep], cached_end[keep])
    with pytest.raises(AssertionError, match="loaded again"):
        again(batch, np.array([3, 0, 8]))


def test_a_teacher_without_a_folder_keeps_nothing(make_bundle, windows, tmp_path):
    kept, alone = (
        TeacherLogits(lambda: Teacher(tiny(make_bundle)), windows, f, make_accelerator("fp32"))
        for f in (tmp_path / "c", None)
    )
    indices = np.arange(3)
    batch = to_tensors([windows[i] for i in indices])
    tokens = batch["attention_mask"].bool()
    for _ in range(2):
        for ours, theirs in zip(alone(batch, indices)[:2], kept(batch, indices)[:2], strict=True):
            assert torch.equal(ours[tokens], theirs[tokens])


def test_cache_key_follows_teacher_windows_and_precision(make_bundle, small_squad):
    teachers = [open_bundle(make_bundle(seed=seed)) for seed in (0, 1)]
    tokenizer = teachers[0].tokenizer
    settings = teachers[0].settings
    examples = read_squad(small_squad)
    windows = make_windows(examples, tokenizer, settings)
    shorter = make_windows(examples, tokenizer, replace(settings, max_length=100))
    longer_step = make_windows(examples, tokenizer, replace(settings, doc_stride=64))
    keys = [
        cache_key(teachers[0], windows, "fp32"),
        cache_key(teachers[1], windows, "fp32"),
        cache_key(teachers[0], shorter, "fp32"),
        cache_key(teachers[0], longer_step, "fp32"),
        cache_key(teachers[0], windows[1:], "fp32"),
        cache_key(teachers[0], windows, "bf16"),
    ]
    assert len(set(keys)) == len(keys)
    assert cache_key(teachers[0], make_windows(examples, tokenizer, settings), "fp32") == keys[0]


@pytest.mark.parametrize(("aligned", "n_keys"), [(False, 1), (True, 2)])
def test_cache_key_follows_the_longest_question_of_a_teacher_that_reads_text(
    make_bundle, small_squad, windows, aligned, n_keys
):
    teacher = open_bundle(make_bundle())
    examples = read_squad(small_squad) if aligned else ()
    lengths = (QASettings.max_question_length, 9)
    teachers = [replace(teacher, settings=replace(teacher.settings, max_question_length=n)) for n in lengths]
    assert len({cache_key(one, windows, "fp32", examples) for one in teachers}) == n_keys


@pytest.mark.parametrize("stage", quick("distill", rest=["magnitude", "grid"]))
def test_a_stopped_run_goes_on_with_its_own_teacher_and_loss_alone(make_bundle, small_squad, tmp_path, stage):
    shutil.copytree(make_bundle(seed=1), tmp_path / "other")
    out = tmp_path / "r"
    config, run, own_change = {
        "distill": (
            DistillOptions(out=out, teacher=make_bundle(), student_layers=1),
            distil,
            {"temperature": 9},
        ),
        "magnitude": (
            PruneOptions(model=make_bundle(), out=out, method="magnitude", iterations=2),
            prune,
            {"sparsity": 0.31},
        ),
        "grid": (
            QATOptions(model=make_bundle(), out=out, calibration_windows=0),
            on_grid,
            {"quantize": "int4"},
        ),
    }[stage]
    config = replace(config, data=str(small_squad), epochs=1, batch_size=8, precision="fp32")
    with stopped_at(2):
        run(config)
    for change in ({"alpha": 0.5}, {"teacher": tmp_path / "other"}, own_change):
        with pytest.raises(OptionError, match="made with other options, data or model; use the same ones"):
            run(replace(config, resume=True, **change))
    assert run(replace(config, resume=True)).path == (out / "student" if stage == "distill" else out)


def test_a_threshold_of_other_data_is_not_the_students(make_bundle, few, tmp_path):
    teacher = copied(open_bundle(make_bundle()), tmp_path / "teacher", null_threshold=-1.5)
    given = {"teacher": teacher.path, "student_layers": 1, "cache": tmp_path / "c"}
    assert distil(DistillOptions(out=tmp_path / "r", **given, **few)).settings.null_threshold is None
    assert not (tmp_path / "c").exists()  # with hidden states to compare no logits are kept


@pytest.mark.parametrize(("n_windows", "n_processes"), [(8, 1), (8, 2), (12, 8), (2, 3)])
def test_processes_weigh_windows_and_labels_as_one(make_bundle, windows, tmp_path, n_windows, n_processes):
    n_unlabelled = n_windows // 2
    some = [replace(w, start_position=-1, end_position=-1) for w in windows[:n_unlabelled]]
    some += windows[n_unlabelled:n_windows]
    model = tiny(make_bundle)
    trainer = Trainer(model, some, supervised, replace(OPTIONS, batch_size=n_windows), tmp_path, "t")
    losses = np.random.default_rng(0).random(n_windows)
    seen, mean, loss = [], 0.0, 0.0
    for process in range(n_processes):
        trainer.accelerator = SimpleNamespace(num_processes=n_processes, process_index=process)
        whole = trainer._batch(0)
        indices, weight, divisors = trainer._share(whole, whole)
        seen += list(indices) if weight else []
        mean += weight * losses[indices].mean() / n_processes
        batch = to_tensors([some[i] for i in indices])
        batch |= {name: torch.tensor(divisor) for name, divisor in divisors.items()}
        loss += weight * supervised(model, batch, indices)["loss"].item() / n_processes
    assert sorted(seen) == list(range(n_windows))
    assert mean == pytest.approx(losses.mean())
    whole = to_tensors(some) | {"n_labelled": max(1, n_windows - n_unlabelled)}
    assert loss == pytest.approx(supervised(model, whole, None)["loss"].item(), rel=1e-4)


def test_a_folder_is_locked_until_its_run_is_finished(make_bundle, windows, tmp_path):
    first = Trainer(tiny(make_bundle), windows, supervised, OPTIONS, tmp_path, "t")
    second = Trainer(tiny(make_bundle), windows, supervised, OPTIONS, tmp_path, "t")
    first.train()
    with pytest.raises(OptionError, match="another process is at work"):
        second.train(resume=True)
    first.finish()
    second.train()


@pytest.mark.parametrize(
    "change", [{}, {"optimizer": "adafactor"}, {"freeze_encoder": True}, {"lora_rank": 2}]
)
def test_free_space_is_asked_for_what_training_writes(make_bundle, windows, tmp_path, monkeypatch, change):
    asked = []
    monkeypatch.setattr("distill.training.trainer.check_free_space", lambda *given: asked.append(given[1]))
    options = replace(OPTIONS, epochs=0.1, **change)

    def train():
        Trainer(tiny(make_bundle), windows, supervised, options, tmp_path, "t").train(resume=True)

    train()
    checkpoint = (tmp_path / CHECKPOINT).stat().st_size
    model = (make_bundle() / "model.safetensors").stat().st_size
    n_checkpoints = (asked[0] - model) / checkpoint
    assert 1.8 < n_checkpoints < (4 if change.get("optimizer") == "adafactor" else 2.2)
    train()
    assert asked[1] == asked[0] - checkpoint


def test_a_full_gpu_is_said_in_words(make_bundle, windows, tmp_path):
    def too_large(model, batch, indices):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

    with pytest.raises(OptionError, match="t: the GPU's memory is full; give a smaller --batch-size"):
        Trainer(tiny(make_bundle), windows, too_large, OPTIONS, tmp_path, "t").train()


def test_unanswerable_training_questions_give_a_threshold(make_bundle, few, small_squad_v2, tmp_path):
    data = {"data": str(small_squad_v2), "eval_data": str(small_squad_v2)}
    given = {"teacher": make_bundle(), "student_layers": 1, **few, **data}
    student = distil(DistillOptions(out=tmp_path / "r", **given))
    assert student.settings.null_threshold is not None
    assert "held_out.json.gz" in student.manifest.files
    assert student.manifest.scores.no_answer_total > 0


def test_cache_on_a_full_disk_leaves_no_file_that_passes_for_whole(
    make_bundle, windows, tmp_path, monkeypatch
):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space left"):
        TeacherLogits(lambda: Teacher(tiny(make_bundle)), windows, tmp_path, make_accelerator("fp32"))
    assert list(tmp_path.iterdir()) == []
