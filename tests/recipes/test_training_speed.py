"""Measuring training: what is measured is what it says, ratios by hand, and failures cost only their own
case."""

import os
import subprocess
import sys

import pytest
import torch
from places import ROOT
from recipe_scripts import script_of

from benchmarks.measure.conditions import this_host
from benchmarks.results.files import read_results
from distill.training.objectives import supervised
from qa.base.errors import OptionError
from qa.bundles.bundle import open_bundle

pytestmark = pytest.mark.usefixtures("fresh_accelerate", "same_process")
script = script_of("training_speed")


@pytest.fixture
def same_process(monkeypatch):
    """What a case changes in its own process is undone."""
    cores, threads = os.sched_getaffinity(0), torch.get_num_threads()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    yield
    os.sched_setaffinity(0, cores)
    torch.set_num_threads(threads)


@pytest.fixture
def config(make_bundle, small_squad):
    """A function: tiny options, with changes."""
    small = {"data": str(small_squad), "student_layers": 1, "batch_size": 2, "steps": 2, "rounds": 1}
    return lambda **changes: script.SpeedOptions(make_bundle(), **(small | changes))


@pytest.mark.parametrize(
    ("name", "precision"),
    [*((name, "bf16") for name in script.CASES), ("transformers", "fp32"), ("distil-cached", "fp32")],
)
def test_every_case_trains_and_tells_its_speed(config, name, precision, capfd):
    windows_per_s, peak_mb = script.measure(config(precision=precision), name)
    assert windows_per_s > 0
    assert peak_mb > 100
    assert os.sched_getaffinity(0) == set(this_host().cores_for(1))
    assert capfd.readouterr().out == ""


def test_fixed_batches_are_as_long_as_the_longest_window():
    batch = {"attention_mask": torch.ones(2, 5, dtype=torch.int32), "start_positions": torch.zeros(2)}
    seen = {name: (tuple(one.shape), one.sum().item()) for name, one in script.widened(batch, 9).items()}
    assert seen == {"attention_mask": ((2, 9), 10), "start_positions": ((2,), 0)}


def test_the_windows_are_those_of_the_steps_and_too_few_are_refused(config):
    options = config()
    assert len(script.chosen_windows(options, open_bundle(options.teacher))) == 2 * (2 + 2)
    with pytest.raises(OptionError, match=r"--data embedded: has .* of 2000004 windows; give fewer --steps"):
        script.main(config(data="embedded", steps=10**6))
    with pytest.raises(OptionError, match="--student-layers"):
        script.main(config(student_layers=9))


def test_the_loss_sees_the_lengths_and_the_dropout_of_its_case(config, monkeypatch):
    seen = {}

    def loss(model, batch, indices):
        seen["attention"] = model.encoder.get_submodule("model.encoder.layer.0.attention.self.dropout").p
        seen["any"] = max(m.p for m in model.modules() if isinstance(m, torch.nn.Dropout))
        seen["shortest"] = min(batch["input_ids"].shape[1], seen.get("shortest", 1000))
        return supervised(model, batch, indices)

    def of(name):
        seen.clear()
        script.measure(config(batch_size=1, steps=14), name)
        return seen

    longest = open_bundle(config().teacher).settings.max_length
    monkeypatch.setattr(script, "supervised", loss)
    assert of("fine-tune")["shortest"] < longest
    assert (seen["attention"], seen["any"]) == (0, 0.1)
    assert of("fine-tune-fixed")["shortest"] == longest
    of("fine-tune-attention-dropout")
    assert (seen["attention"], seen["any"]) == (0.1, 0.1)
    monkeypatch.setattr(script, "Distillation", lambda *_: loss)
    assert of("distil")["any"] == 0


class Pool:
    """Processes whose cases have these speeds, or errors, one after the other."""

    speeds = None

    def __init__(self, *_):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def submit(self, _, config, name):
        self.outcome = next(Pool.speeds[name])
        return self

    def result(self):
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome, 1000 - 10 * self.outcome


def test_the_table_and_the_results_of_a_run_with_a_failing_case(config, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(script, "ProcessPoolExecutor", Pool)
    monkeypatch.setattr(
        Pool,
        "speeds",
        {
            "transformers": iter([10.0, 8.0]),
            "fine-tune": iter([25.0, 24.0]),
            "distil": iter([RuntimeError("no\nmemory")]),
        },
    )
    options = config(cases=("transformers", "fine-tune", "distil"), rounds=2, rows=tmp_path / "rows.jsonl")
    with pytest.raises(SystemExit) as stop:
        script.main(options)
    assert stop.value.code == 1
    shown = capsys.readouterr().out
    line = next(line for line in shown.splitlines() if line.startswith("fine-tune"))
    assert line.split()[-4:] == ["0", "24.5", "2.72x", "760"], "24.5 over 9"
    assert "batch's longest  transformers " in line
    assert "distil failed: no memory" in shown
    theirs, ours = read_results(tmp_path / "rows.jsonl")
    assert (theirs.case, theirs.windows_per_s, theirs.peak_memory_mb) == ("transformers", (10.0, 8.0), 920.0)
    assert (ours.case, ours.windows_per_s, ours.batch, ours.steps) == ("fine-tune", (25.0, 24.0), 2, 2)
    assert (theirs.runtime.package, ours.runtime.package) == ("transformers", "torch")
    assert "--rows" in ours.command


@pytest.mark.parametrize(
    ("speeds", "kept"),
    [
        (
            {"transformers": [10.0, 8.0], "fine-tune": [25.0, KeyboardInterrupt()]},
            {"transformers": (10.0,), "fine-tune": (25.0,)},
        ),
        ({"transformers": [10.0], "fine-tune": [KeyboardInterrupt()]}, {"transformers": (10.0,)}),
        ({"transformers": [KeyboardInterrupt()], "fine-tune": []}, {}),
    ],
)
def test_an_interrupted_run_keeps_what_it_has_finished(speeds, kept, config, monkeypatch, tmp_path):
    monkeypatch.setattr(script, "ProcessPoolExecutor", Pool)
    monkeypatch.setattr(Pool, "speeds", {name: iter(outcomes) for name, outcomes in speeds.items()})
    rows = tmp_path / "rows.jsonl"
    with pytest.raises(KeyboardInterrupt):
        script.main(config(cases=tuple(speeds), rounds=2, rows=rows))
    found = read_results(rows) if rows.exists() else []
    assert {row.case: row.windows_per_s for row in found} == kept


def test_every_case_is_divided_by_one_of_the_same_loss_with_one_difference():
    for name, case in script.CASES.items():
        if case.over:
            base = script.CASES[case.over]
            assert base.loss == case.loss
            theirs = [one.startswith("transformers") for one in (name, case.over)]
            assert base.attention_dropout == 0
            assert case.attention_dropout == 0 or (theirs[0] == theirs[1] and base.padded == case.padded)


@pytest.mark.system
def test_the_command_measures_each_case_in_a_process_of_its_own(make_bundle):
    options = "--student-layers 1 --batch-size 2 --steps 1 --rounds 1 --cases transformers fine-tune"
    words = [sys.executable, ROOT / "recipes/training_speed.py", "--teacher", make_bundle(), *options.split()]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=True)
    assert "round 1, fine-tune: " in done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[3:5]] == ["transformers", "fine-tune"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cases": ("fast",)}, "--cases must be among transformers"),
        ({"cases": ()}, "--cases must be among transformers"),
        ({"precision": "fp16"}, "--precision must be bf16 or fp32, got fp16"),
        ({"steps": 0}, "--steps must be at least 1"),
        ({"batch_size": 0}, "--batch-size must be at least 1"),
        ({"threads": 10**6}, "--threads must be between 1 and .* got 1000000"),
    ],
)
def test_options_that_cannot_work_are_refused(config, changes, message):
    with pytest.raises(OptionError, match=message):
        config(**changes)
