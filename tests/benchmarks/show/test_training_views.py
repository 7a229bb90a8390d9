"""Tables of training speed: each case over the case that it names."""

import re

from benchmark_results import (
    lines,
    scored,
)

from benchmarks.results.rows import Runtime, TrainingSpeed
from benchmarks.show.tables import UNKNOWN


def speed(case, rounds, date="2026-01-02", **more):
    facts = {
        name: getattr(scored(), name)
        for name in ("bundle_sha256", "precision", "target", "machine", "data", "command")
    }
    own = {"model": case, "stage": "training", "runtime": Runtime("torch"), "threads": 1, "affinity": (1,)}
    own |= {"batch": 4, "lengths": 384}
    own |= {
        "objective": "loss",
        "windows_per_s": sum(rounds) / len(rounds),
        "round_windows_per_s": rounds,
        "n_runs": 10,
    }
    return TrainingSpeed(**(facts | own | {"date": date} | more))


def test_training_is_divided_by_what_each_case_names_round_by_round():
    old = [speed("theirs", (9.0,) * 5, "2026-01-01")]
    cost = speed("with dropout", (1.0,) * 5, attention_dropout=0.1, reference="theirs")
    new = [
        speed("theirs", (2.0,) * 5),
        speed("ours", (4.0, 4.0, 6.0, 6.0, 10.0), reference="theirs", lengths="unpadded"),
        cost,
    ]
    theirs, ours, dropout = lines(old + new, "training")
    assert (theirs["x"], theirs["windows/s"], theirs["padded to"]) == (UNKNOWN, "2.0", "384")
    low, high = map(float, re.fullmatch(r"3\.00x \((.*)–(.*)\)", ours["x"]).groups())
    assert 2 <= low < 3 < high <= 5
    assert (ours["padded to"], ours["over"]) == ("batch's longest", "theirs")
    assert (dropout["x"], dropout["attention dropout"]) == ("0.50x (0.50–0.50)", "0.1")
    assert (
        lines([speed("theirs", (2.0,) * 4), speed("ours", (4.0,) * 4, reference="theirs")], "training")[1][
            "x"
        ]
        == "2.00x"
    )
    assert "x" not in lines([speed("theirs", (2.0,)), speed("ours", (4.0,))], "training")[0]
