"""Measuring training: what is measured is what it says, ratios by hand, and failures cost only their own case."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks import training, training_case
from benchmarks.rows import OK, make_row, read_rows
from benchmarks.table import as_text
from benchmarks.training import CaseError, TrainingConfig, measure_case
from benchmarks.training_case import CASES, REFERENCE, CaseConfig, chosen_windows, measure, padded
from benchmarks.views.groups import collect
from benchmarks.views.training import round_ratios, training_tables
from distill.objectives import supervised
from qa.errors import OptionError

pytestmark = pytest.mark.usefixtures("fresh_accelerate")


@pytest.fixture
def make_case(make_bundle):
    return lambda name, **changes: CaseConfig(**({"name": name, "teacher": make_bundle(), "student_layers": 1} | SIZES | changes))


SIZES = {"data": "embedded", "batch_size": 2, "steps": 2, "cores": (0,)}


@pytest.mark.parametrize("name", CASES)
def test_every_case_trains_and_tells_its_speed(make_case, name):
    found = measure(make_case(name))
    assert found["windows_per_s"] > 0
    assert found["peak_memory_mb"] > 100
    assert found["runtime"].split()[0] == ("transformers" if name.startswith("transformers") else "torch")


def test_fixed_batches_are_as_long_as_the_longest_window():
    seen = {}

    def loss(model, batch, indices):
        seen.update({name: tuple(tensor.shape) for name, tensor in batch.items()}, mask=batch["attention_mask"].sum().item())
        return {}

    batch = {"attention_mask": torch.ones(2, 5, dtype=torch.int32), "start_positions": torch.zeros(2)}
    padded(loss, 9)(None, batch, np.arange(2))
    assert seen == {"attention_mask": (2, 9), "start_positions": (2,), "mask": 10}


def test_the_windows_are_those_of_the_steps_and_too_few_are_refused(make_case):
    assert len(chosen_windows(make_case(REFERENCE))) == 2 * (2 + 2)
    many = make_case(REFERENCE, steps=10**6)
    with pytest.raises(OptionError, match=r"--data embedded: has .* windows, 2000004 are needed; give fewer --steps"):
        chosen_windows(many)


def test_ratios_are_taken_round_by_round():
    reference, own = ({"round_windows_per_s": speeds} for speeds in ([10.0, 5.0], [30.0, 20.0]))
    assert list(round_ratios(own, reference)) == [3, 4]
    assert list(round_ratios(own, {})) == []


def test_rows_and_table_of_a_run_with_a_failing_case(make_bundle, monkeypatch, tmp_path, capsys):
    speeds = {REFERENCE: iter([10.0, 8.0]), "fine-tune-bf16": iter([25.0, 24.0])}

    def measure_case(config, name):
        if name not in speeds:
            raise CaseError("no\nmemory")
        return {"windows_per_s": next(speeds[name]), "peak_memory_mb": 500.0, "runtime": "torch 2"}

    monkeypatch.setattr(training, "measure_case", measure_case)
    cases = (REFERENCE, "fine-tune-bf16", "distil-bf16")
    config = TrainingConfig(make_bundle(), student_layers=1, cases=cases, rounds=2, rows=tmp_path / "rows.jsonl")
    with pytest.raises(SystemExit) as stop:
        training.command(config)
    assert stop.value.code == 1
    rows = {row["model"]: row for row in read_rows(config.rows)}
    assert rows["fine-tune-bf16"]["round_windows_per_s"] == [25.0, 24.0]
    assert rows["fine-tune-bf16"]["windows_per_s"] == 24.5
    assert rows["fine-tune-bf16"]["times_reference"] == 2.75
    assert (rows["distil-bf16"]["status"], rows[REFERENCE]["status"]) == ("no memory", OK)
    shown = capsys.readouterr().out
    line = next(line for line in shown.splitlines() if line.startswith("fine-tune-bf16"))
    assert "24.5" in line
    assert "2.75x" in line
    assert "2.50 to 3.00" in line
    assert "distil-bf16 failed: no memory" in shown
    assert [(row["threads"], len(row["affinity"])) for row in rows.values()] == [(1, 1)] * 3
    assert as_text(training_tables(collect(read_rows(config.rows)))[0]) in shown


def test_the_table_shows_the_newest_run_with_intervals_over_enough_rounds():
    facts = {"bundle_sha256": "a", "stage": "training", "precision": "fp32", "target": "cpu", "machine": "m, 2 cores", "batch": 4,
             "data": {"name": "d", "sha256": "d"}, "objective": "loss", "command": "c", "status": OK, "runtime": "torch",
             "n_runs": 10, "windows_per_s": 1.0, "threads": 1, "affinity": [1], "reference": REFERENCE}  # fmt: skip

    def run(date, speeds):
        pairs = ((REFERENCE, 384, [1.0] * len(speeds)), ("fine-tune-fp32", "real", speeds))
        return [make_row(facts | {"date": date, "model": m, "lengths": n, "round_windows_per_s": r}) for m, n, r in pairs]

    old, new = run("2026-01-01", [9.0] * 5), run("2026-01-02", [2.0, 2.0, 3.0, 3.0, 5.0])
    (table,) = training_tables(collect(old + new))
    reference, ours = (dict(zip(table.headings, line, strict=True)) for line in table.cells)
    assert (reference["95 %"], reference["padded to"]) == ("–", "384")
    assert (ours["lowest to highest"], ours["padded to"]) == ("2.00 to 5.00", "batch's longest")
    low, high = map(float, ours["95 %"].split("–"))
    assert 2 <= low < 3 < high <= 5  # the mean of the five is 3
    (few,) = training_tables(collect(run("2026-01-03", [2.0] * 4)))
    assert few.cells[1][table.headings.index("95 %")] == "–"


def test_ctrl_c_keeps_the_whole_rounds(make_bundle, monkeypatch, tmp_path):
    speeds = iter([10.0, 20.0, 8.0])

    def measure_case(config, name):
        speed = next(speeds, None)
        if speed is None:
            raise KeyboardInterrupt
        return {"windows_per_s": speed, "runtime": "torch 2"}

    monkeypatch.setattr(training, "measure_case", measure_case)
    cases = (REFERENCE, "fine-tune-bf16")
    config = TrainingConfig(make_bundle(), student_layers=1, cases=cases, rounds=3, rows=tmp_path / "rows.jsonl")
    assert [row["round_windows_per_s"] for row in training.main(config)] == [[10.0], [20.0]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"student_layers": 9}, "--student-layers must be at most the teacher's 2, got 9"),
        ({"steps": 10**6}, "are needed; give fewer --steps"),
        ({"rows": Path()}, r"--rows \.: is a folder"),
    ],
)
def test_what_no_case_can_do_is_said_before_the_first(make_bundle, monkeypatch, changes, message):
    monkeypatch.setattr(training, "measure_case", None)
    with pytest.raises(OptionError, match=message):
        training.main(TrainingConfig(make_bundle(), **({"student_layers": 1} | changes)))


def test_models_drop_out_as_the_stages_have_it(make_case, monkeypatch):
    seen = {}

    def loss(model, batch, indices):
        seen["attention"] = model.encoder.layer_parts()[0].attention_dropout.p
        seen["any"] = max(m.p for m in model.modules() if isinstance(m, torch.nn.Dropout))
        return supervised(model, batch, indices)

    monkeypatch.setattr(training_case, "supervised", loss)
    measure(make_case("fine-tune-bf16"))
    assert (seen["attention"], seen["any"]) == (0, 0.1)

    def distillation(*_):
        return loss

    monkeypatch.setattr(training_case, "Distillation", distillation)
    measure(make_case("distil-bf16"))
    assert seen["any"] == 0


def test_a_case_runs_in_a_process_of_its_own(make_bundle):
    config = TrainingConfig(make_bundle(), student_layers=1, batch_size=2, steps=1)
    assert measure_case(config, "fine-tune-bf16")["windows_per_s"] > 0
    broken = TrainingConfig(make_bundle(), student_layers=9, batch_size=2, steps=1)
    with pytest.raises(CaseError, match="--student-layers must be between 1 and"):
        measure_case(broken, "fine-tune-bf16")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cases": ("fast",)}, f"--cases must be among {REFERENCE}"),
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
    text = json.dumps(vars(case), default=str)
    assert training_case.read_config(text) == case
