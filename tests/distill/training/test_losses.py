"""Distillation losses: hand-worked values, and the properties that make them right."""

import math

import numpy as np
import pytest
import torch

from distill.student import kept_layers
from distill.thesis_settings import RECIPES
from distill.training.batches import bucketed_batches
from distill.training.losses import hard_loss, hidden_loss, masked_log_softmax, matching_layer, soft_loss

VALID = torch.tensor([[True, False, True, True], [True, False, True, False]])


def random_logits(seed, shape=(2, 4)):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator), torch.randn(shape, generator=generator)


def test_soft_loss_of_two_positions_by_hand():
    # teacher (0, 0) -> 1/2, 1/2; student (ln 3, 0) -> 3/4, 1/4; KL = 1/2 ln(2/3) + 1/2 ln 2 = 1/2 ln(4/3)
    valid = torch.tensor([[True, True]])
    teacher = torch.zeros(1, 2)
    student = torch.tensor([[math.log(3), 0.0]])
    loss = soft_loss((student, student), (teacher, teacher), valid, 1.0)
    assert loss.item() == pytest.approx(0.5 * math.log(4 / 3), rel=1e-6)
    # at T = 2 with logits twice as large the distributions are the same, and the factor is 4
    warm = soft_loss((2 * student, 2 * student), (teacher, teacher), valid, 2.0)
    assert warm.item() == pytest.approx(4 * loss.item(), rel=1e-6)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 4.0])
def test_student_equal_to_teacher_is_the_minimum(temperature):
    teacher = random_logits(0)
    student = [t.clone().requires_grad_() for t in teacher]
    loss = soft_loss(tuple(student), teacher, VALID, temperature)
    loss.backward()
    assert loss.item() == pytest.approx(0.0, abs=1e-6)
    for tensor in student:
        assert tensor.grad.abs().max() < 1e-6
    for seed in range(1, 20):
        assert soft_loss(random_logits(seed), teacher, VALID, temperature).item() > 0


def test_padding_and_question_do_not_move_any_loss():
    student = random_logits(0)
    teacher = random_logits(1)
    positions = torch.tensor([2, 0]), torch.tensor([3, 0])
    padded = torch.cat([VALID, torch.zeros(2, 5, dtype=torch.bool)], dim=1)

    def pad(pair, value):
        return tuple(
            torch.cat([torch.where(VALID, t, value), torch.full((2, 5), value)], dim=1) for t in pair
        )

    for value in (-50.0, 77.0):
        soft = soft_loss(pad(student, value), pad(teacher, -value), padded, 2.0)
        assert torch.equal(soft, soft_loss(student, teacher, VALID, 2.0))
        assert torch.equal(
            hard_loss(*pad(student, value), *positions, padded, 2), hard_loss(*student, *positions, VALID, 2)
        )


def test_hard_loss_by_hand():
    # three valid positions with equal logits: ln 3 for start; end has the answer ahead by ln 2: 2/4
    start = torch.zeros(1, 4)
    end = torch.tensor([[0.0, 9.0, math.log(2), 0.0]])
    loss = hard_loss(start, end, torch.tensor([2]), torch.tensor([2]), VALID[:1], 1)
    assert loss.item() == pytest.approx((math.log(3) + math.log(2)) / 2, rel=1e-6)


def test_masked_positions_have_probability_zero():
    probabilities = masked_log_softmax(random_logits(3)[0], VALID).exp()
    assert (probabilities[~VALID] == 0).all()
    assert torch.allclose(probabilities.sum(-1), torch.ones(2))


def test_hidden_loss_ignores_padding_and_averages_over_states():
    teacher = [torch.zeros(1, 3, 2) for _ in range(3)]
    student = [torch.zeros(1, 3, 2), torch.full((1, 3, 2), 2.0)]
    student[1][0, 2] = 100.0  # padding
    mask = torch.tensor([[1, 1, 0]])
    assert hidden_loss(student, teacher, mask, 2).item() == pytest.approx((0 + 4) / 2)


def test_layers_are_matched_evenly_ends_with_ends():
    assert [matching_layer(i, 3, 6) for i in range(4)] == [0, 2, 4, 6]
    assert [matching_layer(i, 4, 6) for i in range(5)] == [0, 2, 3, 5, 6]
    assert kept_layers(3, 6) == [1, 3, 5]
    assert kept_layers(6, 12) == [1, 3, 5, 7, 9, 11]
    assert kept_layers(6, 6) == list(range(6))


def test_every_window_is_in_one_batch_and_lengths_are_alike():
    lengths = np.random.default_rng(0).integers(20, 384, 5000)
    batches = bucketed_batches(lengths, 16, seed=1, epoch=0)
    assert sorted(np.concatenate(batches).tolist()) == list(range(5000))
    padded = sum(lengths[b].max() * len(b) for b in batches)
    assert padded < 1.1 * lengths.sum()
    again = bucketed_batches(lengths, 16, seed=1, epoch=0)
    assert all((a == b).all() for a, b in zip(batches, again, strict=True))
    other = bucketed_batches(lengths, 16, seed=1, epoch=1)
    assert any(len(a) != len(b) or (a != b).any() for a, b in zip(batches, other, strict=True))


def test_thesis_recipes_are_its_table():
    table = [(3e-5, 12, 3), (5e-5, 12, 4), (3e-5, 24, 3), (5e-5, 32, 3), (5e-5, 32, 6), (5e-5, 32, 4)]
    for number, row in enumerate(table, start=1):
        recipe = RECIPES[f"thesis-{number}"]
        assert (recipe.learning_rate, recipe.batch_size, recipe.epochs) == row
        assert (recipe.warmup, recipe.weight_decay) == (0.1, 0)
