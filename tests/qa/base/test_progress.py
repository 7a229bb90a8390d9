"""Progress in a log: whole lines, now and then, and nothing for short tasks."""

import io
import sys

import pytest

from qa.base.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is moved."""

    class Clock:
        now = 0.0

    monkeypatch.setattr("tqdm.std.time", lambda: Clock.now)
    return Clock


def test_a_log_gets_a_line_every_30_seconds_and_one_at_the_end(clock, capsys):
    for _ in Progress(range(100), desc="training", unit="step"):
        clock.now += 1
    assert capsys.readouterr().err.splitlines() == [
        "training: 30 of 100 steps (30 %), 00:30 so far, 01:10 left",
        "training: 60 of 100 steps (60 %), 01:00 so far, 00:40 left",
        "training: 90 of 100 steps (90 %), 01:30 so far, 00:10 left",
        "training: 100 of 100 steps (100 %), 01:40 so far, 00:00 left",
    ]


def test_a_long_task_logs_at_most_a_line_for_each_percent(clock, capsys):
    with Progress(total=1000, desc="training", unit="step") as bar:
        for _ in range(1000):
            clock.now += 29
            bar.update()
    assert len(capsys.readouterr().err.splitlines()) == 100


def test_a_resumed_task_foresees_its_end_by_its_own_speed(clock, capsys):
    with Progress(total=100, initial=50, desc="training", unit="step") as bar:
        clock.now = 40.0
        bar.set_postfix_str("loss 0.125", refresh=False)
        bar.update(10)
    assert (
        capsys.readouterr().err == "training: 60 of 100 steps (60 %), 00:40 so far, 02:40 left, loss 0.125\n"
    )


def test_batches_have_their_plural(clock, capsys):
    with Progress(total=2, desc="importance", unit="batch") as bar:
        clock.now = 40.0
        bar.update(2)
    assert "2 of 2 batches" in capsys.readouterr().err


def test_a_task_that_ends_early_logs_how_far_it_came(clock, capsys):
    with Progress(total=100, desc="training", unit="step") as bar:
        for _ in range(42):
            clock.now += 1
            bar.update()
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" steps")[0] for line in lines] == ["training: 30 of 100", "training: 42 of 100"]


def test_short_and_disabled_tasks_leave_nothing_in_a_log(clock, capsys):
    assert list(Progress([1, 2, 3], desc="scoring", unit="form")) == [1, 2, 3]
    for _ in Progress(range(9), desc="scoring", unit="form", disable=True):
        clock.now += 60
    assert capsys.readouterr().err == ""


def test_a_terminal_shows_a_bar(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    list(Progress(range(3), desc="scoring", unit="form"))
    assert "\rscoring: 100%" in sys.stderr.getvalue()


@pytest.mark.parametrize(("columns", "shown"), [(120, 4), (100, 3), (60, 0)])
def test_losses_leave_the_bar_its_room(monkeypatch, columns, shown):
    """Losses that would take the bar's room are left out whole, the last ones first."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    losses = ["loss 5.123", "hard 3.456", "soft 1.789", "hidden 0.123"]
    with Progress(total=1000, desc="student in fp32", unit="step", ncols=columns) as bar:
        bar.set_postfix_str(", ".join(losses), refresh=False)
        bar.update(500)
        bar.refresh()
    line = sys.stderr.getvalue().rpartition("\r")[2].strip()
    assert len(line) <= columns
    assert len(line.split("|")[1]) >= 10
    assert line.endswith(", ".join(["00:00", *losses[:shown]]) + "]")
