"""Measuring training: what is measured is what it says, ratios by hand, and failures cost only their own
case."""

from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch

from benchmarks import training_case, training_speed
from benchmarks.results.files import read_results
from benchmarks.results.rows import Failure, TrainingSpeed
from benchmarks.training_case import chosen_windows, measure, padded
from benchmarks.training_speed import CASES, TrainingConfig, measure_case
from distill.training.objectives import supervised
from qa.base.errors import OptionError
from qa.runtime.remote import RemoteError

pytestmark = pytest.mark.usefixtures("fresh_accelerate")
REFERENCE = "transformers-bf16"


@pytest.fixture
def make_case(make_bundle):
    return lambda name, **changes: TrainingConfig(
        make_bundle(), cases=(name,), **({"student_layers": 1, "batch_size": 2, "steps": 2} | changes)
    )


@pytest.mark.parametrize(
    "name", [*(name for name in CASES if "bf16" in name), "transformers-fp32", "distil-cached-fp32"]
)
def test_every_case_trains_and_tells_its_speed(make_case, name):
    found = measure(make_case(name))
    assert found["windows_per_s"] > 0
    assert found["peak_memory_mb"] > 100
    assert found["runtime"][0] == ("transformers" if name.startswith("transformers") else "torch")


def test_fixed_batches_are_as_long_as_the_longest_window():
    def loss(model, batch, indices):
        return {name: (tuple(tensor.shape), tensor.sum().item()) for name, tensor in batch.items()}

    batch = {"attention_mask": torch.ones(2, 5, dtype=torch.int32), "start_positions": torch.zeros(2)}
    seen = padded(loss, 9)(None, batch, np.arange(2))
    assert seen == {"attention_mask": ((2, 9), 10), "start_positions": ((2,), 0)}


def test_the_windows_are_those_of_the_steps_and_too_few_are_refused(make_case):
    assert len(chosen_windows(make_case(REFERENCE))) == 2 * (2 + 2)
    many = make_case(REFERENCE, steps=10**6)
    with pytest.raises(
        OptionError, match=r"--data embedded: has .* windows, 2000004 are needed; give fewer --steps"
    ):
        chosen_windows(many)


@pytest.fixture
def run(make_bundle, monkeypatch, tmp_path):
    """A function: the options of a run, whose cases have these speeds, or errors, one after the other."""

    def options(speeds, *more_cases, rounds):
        def measure_case(config, name):
            speed = next(speeds[name], KeyboardInterrupt()) if name in speeds else RemoteError("no\nmemory")
            if isinstance(speed, BaseException):
                raise speed
            return {"windows_per_s": speed, "peak_memory_mb": 500.0, "runtime": ("torch", "2")}

        monkeypatch.setattr(training_speed, "measure_case", measure_case)
        rows = tmp_path / "rows.jsonl"
        cases = (*speeds, *more_cases)
        return TrainingConfig(make_bundle(), student_layers=1, cases=cases, rounds=rounds, rows=rows)

    return options


def test_rows_and_table_of_a_run_with_a_failing_case(run, capsys):
    speeds = {REFERENCE: iter([10.0, 8.0]), "fine-tune-bf16": iter([25.0, 24.0])}
    config = run(speeds, "distil-bf16", rounds=2)
    with pytest.raises(SystemExit) as stop:
        training_speed.command(config)
    assert stop.value.code == 1
    rows = {row.model: row for row in read_results(config.rows)}
    ours = rows["fine-tune-bf16"]
    assert (ours.round_windows_per_s, ours.windows_per_s, ours.reference) == ((25.0, 24.0), 24.5, REFERENCE)
    assert (ours.hidden_dropout, ours.attention_dropout) == (0.1, 0.0)
    assert [type(row) for row in rows.values()] == [TrainingSpeed, TrainingSpeed, Failure]
    assert rows["distil-bf16"].error == "no memory"
    shown = capsys.readouterr().out
    line = next(line for line in shown.splitlines() if line.startswith("fine-tune-bf16"))
    assert "24.5" in line
    assert "2.75x" in line  # the mean of 25 / 10 and 24 / 8
    assert "distil-bf16 failed: no memory" in shown
    assert [(row.threads, len(row.affinity)) for row in (ours, rows[REFERENCE])] == [(1, 1)] * 2


def test_ctrl_c_keeps_the_whole_rounds(run):
    config = run({REFERENCE: iter([10.0, 8.0]), "fine-tune-bf16": iter([20.0])}, rounds=3)
    assert [row.round_windows_per_s for row in training_speed.main(config)] == [(10.0,), (20.0,)]


def test_every_case_is_divided_by_one_of_the_same_loss_and_dropout_or_tells_its_cost():
    for name, case in CASES.items():
        if case.reference is not None:
            base = CASES[case.reference]
            for shared in ("objective", "precision", "hidden_dropout"):
                assert getattr(base, shared) == getattr(case, shared), name
            same_trainer = (base.transformers, base.bucketed) == (case.transformers, case.bucketed)
            assert base.attention_dropout == 0
            assert case.attention_dropout == 0 or same_trainer, name


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"student_layers": 9}, "--student-layers must be at most the teacher's 2, got 9"),
        ({"steps": 10**6}, "are needed; give fewer --steps"),
        ({"rows": Path()}, r"--rows \.: is a folder"),
    ],
)
def test_what_no_case_can_do_is_said_before_the_first(make_bundle, monkeypatch, changes, message):
    monkeypatch.setattr(training_speed, "measure_case", None)
    with pytest.raises(OptionError, match=message):
        training_speed.main(TrainingConfig(make_bundle(), **({"student_layers": 1} | changes)))


def test_models_drop_out_as_the_stages_have_it(make_case, monkeypatch):
    seen = {}

    def loss(model, batch, indices):
        seen["attention"] = model.encoder.layer_parts()[0].attention_dropout.p
        seen["any"] = max(m.p for m in model.modules() if isinstance(m, torch.nn.Dropout))
        return supervised(model, batch, indices)

    monkeypatch.setattr(training_case, "supervised", loss)
    measure(make_case("fine-tune-bf16"))
    assert (seen["attention"], seen["any"]) == (0, 0.1)
    measure(make_case("fine-tune-attention-dropout-bf16"))
    assert (seen["attention"], seen["any"]) == (0.1, 0.1)

    monkeypatch.setattr(training_case, "Distillation", lambda *_: loss)
    measure(make_case("distil-bf16"))
    assert seen["any"] == 0


@pytest.mark.system
def test_a_case_runs_in_a_process_of_its_own(make_bundle):
    config = TrainingConfig(make_bundle(), student_layers=1, batch_size=2, steps=1)
    assert measure_case(config, "fine-tune-bf16")["windows_per_s"] > 0
    broken = TrainingConfig(make_bundle(), student_layers=9, batch_size=2, steps=1)
    with pytest.raises(RemoteError, match="--student-layers must be between 1 and"):
        measure_case(broken, "fine-tune-bf16")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cases": ("fast",)}, "--cases must be among transformers-fp32"),
        ({"cases": (REFERENCE, REFERENCE)}, "--cases must be names, each once"),
        ({"steps": 0}, "--steps must be at least 1"),
        ({"batch_size": 0}, "--batch-size must be at least 1"),
        ({"threads": 0}, "--threads must be at least 1"),
        ({"threads": 10**6}, "--threads must be at most .* got 1000000"),
    ],
)
def test_options_that_cannot_work_are_refused(make_bundle, changes, message):
    with pytest.raises(OptionError, match=message):
        TrainingConfig(make_bundle(), **changes)


def test_the_case_travels_as_json(make_case):
    case = make_case(REFERENCE)
    assert training_case.read_config(msgspec.json.encode(case, enc_hook=str).decode()) == case
