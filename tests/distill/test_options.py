"""Options of training: each optimizer resumes exactly, a frozen encoder is left bit for bit, curves stand in
the run's folder."""

import math
from dataclasses import replace

import pytest
import torch
from safetensors import safe_open
from stops import killed_at
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from compress.options import PruneOptions, QATOptions
from distill.options import DistillOptions, FinetuneOptions
from distill.train_on_teacher import distil
from distill.training.checkpoint import CHECKPOINT
from distill.training.lora import add_lora
from distill.training.objectives import supervised
from distill.training.optimizers import build_optimizer
from distill.training.options import TrainingOptions
from distill.training.trainer import Trainer
from qa.base.errors import OptionError
from qa.models.model import QAModel

pytestmark = pytest.mark.usefixtures("fresh_accelerate")


def options(**changes):
    return replace(TrainingOptions(1e-3, 4, 2, precision="fp32", checkpoint_minutes=0), **changes)


def test_a_recipe_decides_what_no_flag_does():
    """Preite's second configuration (table 6.2)."""
    chosen = DistillOptions(recipe="thesis-2").training()
    assert (chosen.learning_rate, chosen.batch_size, chosen.epochs) == (5e-5, 12, 4)
    assert (chosen.warmup, chosen.weight_decay) == (0.1, 0.0)
    given = DistillOptions(recipe="thesis-2", epochs=1.5, warmup=0.0).training()
    assert given == replace(chosen, epochs=1.5, warmup=0.0)


@pytest.mark.parametrize(
    ("optimizer", "trained"),
    [
        ("adamw", {}),
        ("adamw", {"freeze_encoder": True}),
        ("adafactor", {}),
        ("adafactor", {"lora_rank": 2}),
    ],
    ids=["adamw-all", "adamw-head", "adafactor-all", "adafactor-lora"],
)
def test_stop_and_resume_equals_straight_through(make_bundle, windows, tmp_path, optimizer, trained):
    chosen = options(optimizer=optimizer, **trained)
    straight, stopped, resumed = (QAModel.from_pretrained(make_bundle()) for _ in range(3))
    Trainer(straight, windows, supervised, chosen, tmp_path / "a", "t").train()
    with pytest.raises(RuntimeError, match="killed"):
        Trainer(stopped, windows, killed_at(4), chosen, tmp_path / "b", "t").train()
    trainer = Trainer(resumed, windows, supervised, chosen, tmp_path / "b", "t")
    trainer.train(resume=True)
    assert (tmp_path / "b" / CHECKPOINT).is_file()
    trainer.finish()
    assert not (tmp_path / "b" / CHECKPOINT).exists()
    untrained = QAModel.from_pretrained(make_bundle()).state_dict()
    for name, tensor in straight.state_dict().items():
        assert torch.equal(tensor, resumed.state_dict()[name]), name
        if name.startswith("encoder."):
            kept = "freeze_encoder" in trained or ("lora_rank" in trained and not is_linear_of_a_layer(name))
            assert torch.equal(tensor, untrained[name]) == kept, name
        else:
            assert not torch.equal(tensor, untrained[name]), name


def is_linear_of_a_layer(name):
    return ".layer." in name and name.endswith(".weight") and "LayerNorm" not in name


def test_lora_changes_a_weight_by_a_matrix_of_its_rank_and_checkpoints_only_what_it_trains(
    make_bundle, windows, tmp_path
):
    model = QAModel.from_pretrained(make_bundle())
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    Trainer(model, windows, supervised, options(lora_rank=2, epochs=4), tmp_path, "t").train()
    assert model.state_dict().keys() == before.keys()
    changed = [name for name in before if name.startswith("encoder.") and is_linear_of_a_layer(name)]
    assert len(changed) == 6 * len(model.encoder.layers)
    for name in changed:
        assert torch.linalg.matrix_rank(model.state_dict()[name] - before[name], rtol=1e-3) == 2, name
    with safe_open(tmp_path / CHECKPOINT, "pt") as file:
        of_encoder = {name for name in file.keys() if name.startswith("encoder.")}  # noqa: SIM118
    assert of_encoder
    assert all(name.endswith((".down", ".up")) for name in of_encoder)


def test_a_frozen_encoder_gets_no_gradient_and_no_dropout(make_bundle, windows, tmp_path):
    model = QAModel.from_pretrained(make_bundle())
    seen = []

    def watching(wrapped, batch, indices):
        states, _ = model.encoder(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"])
        seen.append((states.requires_grad, model.encoder.training, model.head.training))
        return supervised(wrapped, batch, indices)

    Trainer(model, windows, watching, options(freeze_encoder=True, epochs=1), tmp_path, "t").train()
    assert set(seen) == {(False, False, True)}
    assert all(parameter.grad is None for parameter in model.encoder.parameters())
    with safe_open(tmp_path / CHECKPOINT, "pt") as file:
        assert not [name for name in file.keys() if name.startswith("exp_avg.encoder")]  # noqa: SIM118


def test_adafactors_first_step_is_the_learning_rate_in_the_sign_of_the_gradient():
    """Worked by hand: at step 1 the decay is 0, so a vector's update is g / |g|, of size 1, which the clip at
    1 leaves."""
    parameter = torch.nn.Parameter(torch.tensor([3.0, -5.0, 2.0]))
    optimizer = build_optimizer("adafactor", [parameter], 0.25, weight_decay=0.5)
    parameter.grad = torch.tensor([0.5, -4.0, 100.0])
    optimizer.step()
    assert parameter.tolist() == pytest.approx([2.75, -4.75, 1.75])


def test_curves_of_loss_rate_and_speed_stand_in_the_runs_folder(make_bundle, windows, tmp_path):
    Trainer(QAModel.from_pretrained(make_bundle()), windows, supervised, options(), tmp_path, "t").train()
    curves = EventAccumulator(str(tmp_path)).Reload()
    assert set(curves.Tags()["scalars"]) == {"t/loss", "t/learning_rate", "t/windows_per_second"}
    for tag in curves.Tags()["scalars"]:
        values = [event.value for event in curves.Scalars(tag)]
        assert [event.step for event in curves.Scalars(tag)] == list(range(6))
        assert all(value > 0 and math.isfinite(value) for value in values)


def test_unknown_optimizer_lists_the_known_ones(tmp_path):
    for config in (
        lambda: DistillOptions(optimizer="sgd"),
        lambda: PruneOptions(model=tmp_path, optimizer="sgd"),
    ):
        with pytest.raises(OptionError, match="--optimizer must be one of adamw, adafactor, got sgd"):
            config()


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_a_seed_that_torch_does_not_take_is_refused(tmp_path, seed):
    for stage in (DistillOptions, FinetuneOptions, PruneOptions, QATOptions):
        given = {} if stage is DistillOptions else {"out": tmp_path, "model": tmp_path}
        with pytest.raises(OptionError, match=f"--seed .* got {seed}"):
            stage(seed=seed, **given)


def test_a_rank_above_the_width_is_refused(make_bundle):
    encoder = QAModel.from_pretrained(make_bundle()).encoder
    with pytest.raises(OptionError, match=f"--lora-rank must be at most {encoder.hidden_size}, the width"):
        add_lora(encoder, 10**19, seed=0)


def test_an_encoder_whose_layers_lora_does_not_know_is_named(make_bundle):
    encoder = QAModel.from_pretrained(make_bundle("mobilebert", "linear")).encoder
    with pytest.raises(OptionError, match=r"--lora-rank 2: a mobilebert encoder has layers"):
        add_lora(encoder, 2, seed=0)


def test_the_stage_leaves_a_frozen_students_encoder_bit_identical(make_bundle, few, tmp_path):
    teacher = make_bundle()
    few |= {"epochs": 1, "student_layers": 2, "freeze_encoder": True, "hidden_weight": 0}
    few |= {"optimizer": "adafactor"}
    student = distil(DistillOptions(out=tmp_path / "r", teacher=teacher, **few))
    ours, theirs = (QAModel.from_pretrained(path).state_dict() for path in (student.path, teacher))
    same = {name for name in ours if torch.equal(ours[name], theirs[name])}
    assert {name for name in ours if name.startswith("encoder.")} <= same
    assert not {name for name in ours if name.startswith("head.")} & same
