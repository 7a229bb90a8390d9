"""Rounds in turns with real processes: equal work for all, one that fails drops out alone, a stopped run goes
on."""

import json
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.measure.conditions import cores_busy, this_host
from benchmarks.measure.hosts import on_this_machine
from benchmarks.measure.plan import Plan, Setting
from benchmarks.measure.rounds import Timing, run_interleaved_rounds
from benchmarks.measure.run import ModelUnderTest
from benchmarks.results.rows import Runtime
from qa.base.errors import OptionError
from qa.base.journal import Journal
from qa.runtime.remote import LostError
from qa.text.features import Window

SETTINGS = (Setting("unpadded"), Setting(8))
PLAN = Plan(n_rounds=3, n_windows=2, min_s=0, quick=True, settings=SETTINGS)
WINDOWS = [(list(range(1, n + 1)), 2) for n in (2, 3, 4, 5, 6, 7)]
CALLS_OF_A_ROUND = (2 + 3 + 2) + (3 + 2)  # the first of a length, warm-up and windows
CALLS_OF_THE_FIRST = CALLS_OF_A_ROUND + 1  # the first that is padded to 8
ADAPTER = """
from pathlib import Path
from benchmarks.measure.worker import Model

def load(path, threads):
    log = Path(str(path) + ".log")
    def call(inputs):
        n = len(log.read_text().splitlines()) if log.exists() else 0
        if path.name.startswith("fails") and n >= int(path.name[5:]):
            raise RuntimeError("out of memory")
        with log.open("a") as file:
            print(*inputs["input_ids"].shape, file=file)
        return 0.0 * inputs["input_ids"], 0.0 * inputs["input_ids"]
    return Model(("logging", "1.0", ""), None, call, 2, 2)
"""


@pytest.fixture
def contender(tmp_path, monkeypatch):
    (tmp_path / "logging_adapter.py").write_text(ADAPTER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def make(name):
        deployment = on_this_machine(tmp_path / name, "logging_adapter")
        facts = {"model": name, "bundle_sha256": name}
        return ModelUnderTest(None, facts, deployment, runtime=Runtime("logging", "1.0"))

    return make


def measure(models, journal, plan=PLAN, sampled=()):
    """What was timed of each model by its hash, and the load of others."""
    windows = {setting: (WINDOWS, 1 if setting.lengths == "unpadded" else 8) for setting in plan.settings}
    timings = {model.sha256: Timing(model, windows, sampled) for model in models}
    cores = this_host().cores_for(1)
    return timings, run_interleaved_rounds(list(timings.values()), plan, 1, cores, journal, here=True)


@pytest.fixture
def journal(tmp_path):
    """A function that opens a run's journal, as the next process does: the one before is closed."""
    opened = []

    def open_journal():
        if opened:
            opened.pop().close()
        opened.append(Journal(tmp_path / "rows.jsonl", {"models": "a b"}, "2026-01-01T00:00:00Z"))
        return opened[-1]

    return open_journal


def shapes(tmp_path, name):
    return [tuple(map(int, line.split())) for line in (tmp_path / f"{name}.log").read_text().splitlines()]


def test_all_compute_the_same_windows_in_every_round(contender, journal, tmp_path):
    timings, _ = measure([contender("a"), contender("b")], journal())
    calls = shapes(tmp_path, "a")
    assert calls == shapes(tmp_path, "b")
    assert calls.pop(7) == (1, 8)
    rounds = [calls[first : first + CALLS_OF_A_ROUND] for first in range(0, len(calls), CALLS_OF_A_ROUND)]
    assert len(rounds) == PLAN.n_rounds
    assert sorted(shape for one in rounds for shape in one[5:7]) == [(1, n) for n in range(2, 8)], "once each"
    assert all(one[:2] == one[5:7] for one in rounds), "each length was computed once before"
    assert all(one[7:] == [(1, 8)] * 5 for one in rounds)
    for timing in timings.values():
        assert {setting: len(turns) for setting, turns in timing.turns.items()} == dict.fromkeys(SETTINGS, 3)
        assert timing.process_metrics.keys() >= {"load_ms", "latency_ms_first"}
        assert timing.model.error is None


def test_sampled_windows_are_computed_one_by_one(contender, journal, tmp_path):
    nothing = np.zeros(0, np.int64)
    sampled = [Window(0, np.arange(n), 1, nothing, nothing, nothing, 0, 0) for n in (5, 3)]
    timings, _ = measure([contender("a")], journal(), sampled=sampled)
    assert shapes(tmp_path, "a")[:3] == [(1, 5), (1, 5), (1, 3)], "the first warms up"
    assert [len(start) for start, _ in timings["a"].logits] == [5, 3]


@pytest.mark.parametrize(("name", "n_rounds"), [("fails0", 0), ("fails15", 1)])
def test_one_that_fails_drops_out_alone(contender, journal, name, n_rounds):
    bad = contender(name)
    good = contender("good")
    times, _ = measure([bad, good], journal())
    assert bad.error == "out of memory"
    assert len(times[name].turns.get(SETTINGS[0], [])) == n_rounds
    assert good.error is None
    assert len(times["good"].turns[SETTINGS[0]]) == PLAN.n_rounds


def test_a_setting_that_fails_leaves_the_others(contender, journal, tmp_path):
    """The memory does not hold a batch of two."""
    adapter = ADAPTER.replace(
        'path.name.startswith("fails") and n >= int(path.name[5:])', "len(inputs['input_ids']) > 1"
    )
    (tmp_path / "logging_adapter.py").write_text(adapter)
    one, two = Setting("unpadded"), Setting("unpadded", 2)
    plan = replace(PLAN, settings=(two, one))
    for _ in range(2):  # measured, then read from the journal
        model = contender("a")
        timings, _ = measure([model], journal(), plan)
        assert timings["a"].failed == {two: "out of memory"}
        assert len(timings["a"].turns[one]) == PLAN.n_rounds
        assert model.error is None
    assert set(shapes(tmp_path, "a")) == {(1, n) for n in range(2, 8)}


def test_a_stopped_run_goes_on_with_the_rounds_it_lacks(contender, journal, tmp_path):
    whole = journal()
    measure([contender("a"), contender("b")], whole)
    lines = whole.path.read_bytes().splitlines(keepends=True)
    whole.close()
    # Two rounds, a third that was being written when the power was cut, and what the file system left of it.
    whole.path.write_bytes(b"".join(lines[:3]) + lines[3][:50] + bytes(100) + b"\n")
    for name in "ab":
        (tmp_path / f"{name}.log").unlink()
    resumed = Journal(tmp_path / "rows.jsonl", {"models": "a b"}, "2027-01-01T00:00:00Z")
    assert resumed.date == "2026-01-01T00:00:00Z"
    again = [contender("a"), contender("b")]
    times, _ = measure(again, resumed)
    assert len(shapes(tmp_path, "a")) == CALLS_OF_THE_FIRST
    kept = [json.loads(line)["turns"]["a"][SETTINGS[0].name] for line in lines[1:3]]
    assert times["a"].turns[SETTINGS[0]][:2] == kept
    assert len(times["a"].turns[SETTINGS[0]]) == 3
    assert len(resumed.path.read_text().splitlines()) == 4  # whole again
    resumed.close()
    both = [contender("a"), contender("b")]
    laps = [json.loads(line)["load"] for line in lines[1:3]]
    third = json.loads(resumed.path.read_text().splitlines()[3])["load"]
    assert measure(both, journal())[1] == cores_busy([*laps, third]), (
        "of all rounds, also those before the stop"
    )
    resumed.remove()
    assert not resumed.path.parent.exists()


def test_another_runtime_than_the_answers_were_measured_with_is_not_timed(contender, journal, tmp_path):
    changed = contender("a")
    other = contender("b")
    changed.runtime = Runtime("logging", "0.9")
    measure([changed, other], journal())
    wanted = "its accuracy was measured with logging 0.9, but it now runs with logging 1.0; measure it again"
    assert changed.error == wanted
    assert not (tmp_path / "a.log").exists()
    assert other.error is None


def test_a_lost_connection_ends_the_run_and_keeps_its_rounds(contender, journal, tmp_path):
    adapter = ADAPTER.replace('raise RuntimeError("out of memory")', "os._exit(255)")
    (tmp_path / "logging_adapter.py").write_text("import os\n" + adapter)
    lost = contender(f"fails{CALLS_OF_THE_FIRST + 2}")
    good = contender("good")
    lost.deployment = replace(lost.deployment, exit_when_lost=255)  # as ssh ends when the network is gone
    kept = journal()
    lost_half_way = r"the connection was lost half-way \(exit code 255: .*\); the same command goes on"
    with pytest.raises(LostError, match=lost_half_way):
        measure([lost, good], kept)
    assert len(kept.entries) == len(journal().entries) == 1
    (tmp_path / f"{lost.name}.log").unlink()  # the network is there again
    again = [contender(lost.name), contender("good")]
    again[0].deployment = lost.deployment
    with pytest.raises(LostError):
        measure(again, journal())
    assert len(journal().entries) == 2


def test_rounds_with_another_number_of_threads_are_not_counted(contender, journal):
    turns = {"a": {s.name: {"times_ms": [[1.0, 1.0]], "n_warmup": 3} for s in SETTINGS}}
    begun = journal()
    begun.add({"threads": 2, "turns": turns, "failed": {}})
    timings, _ = measure([contender("a")], begun)
    assert len(timings["a"].turns[SETTINGS[0]]) == PLAN.n_rounds


def test_the_same_run_is_measured_by_one_process_at_a_time_and_others_are_apart(journal, tmp_path):
    first = journal()
    first.add({"threads": 1})
    refusal = r"rows\.jsonl: another process is at work on the same; let it end first"
    with pytest.raises(OptionError, match=refusal):
        Journal(tmp_path / "rows.jsonl", {"models": "a b"}, "2027-01-01T00:00:00Z")
    first.add({"threads": 2})
    again = journal()
    assert (again.date, again.entries) == (first.date, [{"threads": 1}, {"threads": 2}])
    with closing(Journal(tmp_path / "rows.jsonl", {"models": "a c"}, "2027-01-01T00:00:00Z")) as other:
        assert other.entries == []
        again.remove()
        other.add({"threads": 3})  # the folder is still there
        assert [path.name for path in other.path.parent.iterdir()] == [other.path.name]


@pytest.mark.parametrize("torn", [b"", b'{"date": "2025', b'{"date": "2025", "models": "a b"}'])
def test_a_journal_without_a_whole_line_begins_anew(tmp_path, torn):
    def opened():
        return closing(Journal(tmp_path / "rows.jsonl", {"models": "a b"}, "2026-01-01T00:00:00Z"))

    with opened() as empty:
        assert empty.path.exists()
    assert not empty.path.parent.exists()
    empty.path.parent.mkdir()
    empty.path.write_bytes(torn)
    with opened() as begun:
        assert (begun.date, begun.entries) == ("2026-01-01T00:00:00Z", [])
        begun.add({"threads": 1})
    with opened() as again:
        assert again.entries == [{"threads": 1}]
