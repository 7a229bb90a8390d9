"""What a training step does: the loss it minimizes and where, its rate, decay and clipping, what it draws;
what is cut."""

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from distill.prune_plan.importance import measure_importance, sample_labelled, sample_windows
from distill.training.batches import to_tensors
from distill.training.losses import hard_loss, hidden_loss, soft_loss
from distill.training.objectives import Distillation, supervised
from distill.training.optimizers import build_optimizer
from distill.training.options import DistillationWeights, TrainingOptions
from distill.training.teacher_logits import Teacher, TeacherLogits
from distill.training.trainer import Trainer, learning_rate_at, make_accelerator
from qa.base.errors import OptionError
from qa.models.heads.segments import answer_tokens
from qa.models.model import QAModel

pytestmark = pytest.mark.usefixtures("fresh_accelerate")
OPTIONS = TrainingOptions(1e-3, 4, 2, precision="fp32")


def tiny(make_bundle, seed=0):
    return QAModel.from_pretrained(make_bundle(seed=seed)).eval()


# The loss


def test_the_loss_is_the_weighted_sum_of_its_terms(make_bundle, windows, tmp_path):
    teacher = tiny(make_bundle)
    student = tiny(make_bundle, seed=1)
    batch = to_tensors(windows)
    batch |= {"n_tokens": batch["attention_mask"].sum(), "n_labelled": len(windows)}
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
    with torch.no_grad():
        ours, theirs = (model(**inputs, hidden_states=True) for model in (student, teacher))
    pairs = [(one["start_logits"], one["end_logits"]) for one in (ours, theirs)]
    soft = soft_loss(*pairs, batch["valid"], 2.0)
    states = (ours["hidden_states"], theirs["hidden_states"])
    hidden = hidden_loss(*states, batch["attention_mask"], batch["n_tokens"])
    positions = (batch["start_positions"], batch["end_positions"])
    hard = hard_loss(*pairs[0], *positions, batch["valid"], batch["n_labelled"])
    assert min(soft, hidden, hard) > 0.1
    logits = TeacherLogits(lambda: Teacher(teacher), windows, tmp_path, make_accelerator("fp32"))
    for weights, wanted in (
        (DistillationWeights(0.1, 2.0, 3.0), 0.1 * hard + 0.9 * soft + 3 * hidden),
        (DistillationWeights(0.7, 2.0, 0.0), 0.7 * hard + 0.3 * soft),
        (DistillationWeights(1.0, 2.0, 0.0), hard),
    ):
        terms = Distillation(logits, weights)(student, batch, np.arange(len(windows)))
        assert terms["loss"].item() == pytest.approx(wanted.item(), rel=1e-4)


def test_an_answer_may_stand_in_the_passage_or_nowhere(windows):
    batch = to_tensors(windows)
    states = torch.zeros(1)
    assert torch.equal(
        batch["valid"], answer_tokens(states, batch["attention_mask"], batch["token_type_ids"]).bool()
    )
    for row, window in zip(batch["valid"], windows, strict=True):
        passage = range(window.context_begin, len(window.input_ids) - 1)
        assert row.nonzero().flatten().tolist() == [0, *passage]
    for name in ("start_positions", "end_positions"):
        assert batch["valid"].gather(1, batch[name][:, None]).all()


# The step


def test_the_rate_of_a_step_is_that_of_all_parameters(make_bundle, windows, tmp_path):
    seen = []

    def watched(*arguments):
        seen.append([group["lr"] for group in trainer.optimizer.param_groups])
        return supervised(*arguments)

    trainer = Trainer(tiny(make_bundle), windows, watched, OPTIONS, tmp_path, "t")
    trainer.train()
    assert len(seen) == 6
    assert all(rates == [learning_rate_at(step, 6, OPTIONS)] * 2 for step, rates in enumerate(seen))
    assert len({rates[0] for rates in seen}) > 4


def test_matrices_decay_and_vectors_do_not():
    matrix = nn.Parameter(torch.ones(2, 2))
    vector = nn.Parameter(torch.ones(2))
    optimizer = build_optimizer("adamw", [matrix, vector], 0.1, 0.01)
    matrix.grad = torch.zeros(2, 2)
    vector.grad = torch.zeros(2)
    optimizer.step()
    assert matrix.tolist() == [[pytest.approx(1 - 0.1 * 0.01)] * 2] * 2
    assert vector.tolist() == [1, 1]


def gradients(model, windows, folder, options, scale=1.0):
    """The first step's gradient, as the optimizer is given it."""

    class Seen(Exception):
        pass

    def scaled(*arguments):
        return {name: scale * value for name, value in supervised(*arguments).items()}

    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    trainer = Trainer(model, windows, scaled, options, folder, "t")
    found = []

    def look():
        found.extend(p.grad.clone() for p in model.parameters() if p.grad is not None)
        raise Seen

    trainer.optimizer.step = look
    with pytest.raises(Seen):
        trainer.train()
    return torch.cat([g.flatten() for g in found])


def test_long_gradients_are_cut_to_length_one_and_keep_their_direction(make_bundle, windows, tmp_path):
    short, long = (
        gradients(tiny(make_bundle), windows, tmp_path / str(scale), OPTIONS, scale) for scale in (1e-3, 1e3)
    )
    assert short.norm() < 1
    assert long.norm().item() == pytest.approx(1, rel=1e-3)
    assert torch.cosine_similarity(short, long, dim=0) > 0.999


def test_the_gradient_of_accumulated_batches_is_that_of_one(make_bundle, windows, tmp_path):
    some = [replace(w, start_position=-1, end_position=-1) for w in windows[:3]] + windows[3:12]
    once = TrainingOptions(1e-3, 12, 1, precision="fp32")
    thrice = TrainingOptions(1e-3, 4, 1, accumulation=3, precision="fp32")
    wanted, found = (
        gradients(tiny(make_bundle), some, tmp_path / str(o.accumulation), o, 1e-2) for o in (once, thrice)
    )
    assert wanted.norm() < 1
    torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-6)


def test_no_two_steps_epochs_or_processes_draw_alike_and_a_run_draws_as_it_did(
    make_bundle, windows, tmp_path
):
    def drawn(process=0):
        found = []

        def drawing(*arguments):
            found.append(torch.rand(1).item())
            return supervised(*arguments)

        trainer = Trainer(tiny(make_bundle), windows, drawing, OPTIONS, tmp_path / f"{process}", "t")
        if process:
            of_one = trainer.accelerator
            stand_in = SimpleNamespace(
                num_processes=2, process_index=1, backward=of_one.backward, device=of_one.device
            )
            stand_in.clip_grad_norm_ = of_one.clip_grad_norm_
            stand_in.no_sync = of_one.no_sync
            trainer.accelerator = stand_in
            trainer._step(0)
        else:
            trainer.train()
        return found

    first = drawn()
    assert len(set(first)) == len(first) == 6
    assert drawn() == first
    assert drawn(process=1)[0] != first[0]
    trainer = Trainer(tiny(make_bundle), windows, supervised, OPTIONS, tmp_path / "t", "t")
    epochs = [[trainer._batch(3 * epoch + i).tolist() for i in range(3)] for epoch in range(3)]
    assert all(sorted(np.concatenate(epoch)) == list(range(12)) for epoch in epochs)
    assert all(one != other for one, other in pairwise(epochs))


def test_a_gradient_that_is_not_finite_ends_the_run_before_it_is_learnt(make_bundle, windows, tmp_path):
    """As where the loss of another process is infinite: here it is finite, the mean gradient is not."""
    model = tiny(make_bundle)

    def infinite_gradient(*arguments):
        terms = supervised(*arguments)
        return {"loss": terms["loss"] + 0 * torch.sqrt(0 * terms["loss"])}

    for optimizer in ("adamw", "adafactor"):
        options = TrainingOptions(1e-3, 4, 2, precision="fp32", optimizer=optimizer)
        with pytest.raises(
            OptionError,
            match=r"t: step 0: loss \d.*, gradient norm nan; lower --learning-rate",
        ):
            Trainer(model, windows, infinite_gradient, options, tmp_path / optimizer, "t").train()
    assert all(p.isfinite().all() for p in model.parameters())


def test_batches_are_no_longer_than_a_models_positions(windows):
    odd = next(w for w in windows if len(w.input_ids) % 32 not in (0, 31))
    n = len(odd.input_ids)
    lengths = [to_tensors([odd], most=most)["input_ids"].shape[1] for most in (None, n + 1, n)]
    assert lengths == [-(-n // 32) * 32, n + 1, n]


# What is cut


def test_importance_is_sampled_on_labelled_windows_only(windows):
    unlabelled = [replace(window, start_position=-1, end_position=-1) for window in windows]
    assert sample_labelled(windows, 5, seed=1) == sample_windows(windows, 5, seed=1)
    mixed = sample_labelled([*unlabelled, *windows[:4]], 5, seed=1)
    assert sorted(map(id, mixed)) == sorted(map(id, windows[:4]))
    with pytest.raises(OptionError, match="--data: no question has a label"):
        sample_labelled(unlabelled, 5, seed=1)


def test_importance_adds_up_over_windows(make_bundle, windows):
    model = tiny(make_bundle)
    unlabelled = [replace(window, start_position=-1, end_position=-1) for window in windows[3:8]]
    together = measure_importance(model, [*windows[:3], *unlabelled])
    alone = [measure_importance(model, [window]) for window in windows[:3]]
    for kind in ("heads", "neurons"):
        for layer, scores in enumerate(getattr(together, kind)):
            torch.testing.assert_close(
                scores, sum(getattr(one, kind)[layer] for one in alone), rtol=1e-2, atol=1e-6
            )
