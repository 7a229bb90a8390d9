"""A short part of `make torture`, and that torture notices what it is there to notice."""

import json
import random
import subprocess
import sys

import pytest
from places import TESTS

FOLDER = TESTS / "torture"
SHARE = "0.003"


@pytest.fixture(scope="module")
def parts():
    """The modules of tests/torture, which import each other by their bare names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        import case
        import mutations
        import run
        import sorts
        import stages

        yield {"case": case, "mutations": mutations, "run": run, "sorts": sorts, "stages": stages}


def torture(out, *more):
    words = [sys.executable, str(FOLDER / "run.py"), "--out", str(out), *more]
    return subprocess.run(words, capture_output=True, text=True, timeout=1500, check=False)


def test_a_short_part_of_every_sort_finds_nothing_and_is_not_tried_twice(tmp_path):
    done = torture(tmp_path / "out", "--share", SHARE)
    assert done.returncode == 0, done.stdout + done.stderr
    journal = (tmp_path / "out" / "journal.jsonl").read_bytes()
    tried = [json.loads(line) for line in journal.splitlines()[1:]]
    assert len({(t["sort"], t["case"]) for t in tried}) == len(tried) > 20
    again = torture(tmp_path / "out", "--share", SHARE)
    assert (again.returncode, again.stdout) == (0, done.stdout)
    assert (tmp_path / "out" / "journal.jsonl").read_bytes() == journal
    other = torture(tmp_path / "out", "--seed", "1")
    assert other.returncode == 1
    assert "is of {'seed': 0}, not of {'seed': 1}" in other.stderr


def test_a_full_run_is_ten_thousand_cases_and_says_what_it_could_not_try(parts, monkeypatch):
    sorts = parts["sorts"].SORTS
    run = parts["run"]
    assert sum(sort.n_cases for sort in sorts.values()) >= 10_000
    assert sorts["kills"].n_cases >= 300
    monkeypatch.setenv("PATH", "")
    tried = [run.Tried("texts", 0, "", 1.0), run.Tried("texts", 1, "wrong", 2.0)]
    lines = run.table(tried).splitlines()
    assert "| texts | 2 | 1 | 0.1 |" in lines
    assert any(line.startswith("| texts on the JVM | not tried: needs a JDK") for line in lines)


def test_what_a_case_does_depends_on_its_number_alone(parts):
    damage = parts["mutations"]
    raw = json.dumps({"a": [1, {"b": "c"}], "d": None}).encode()
    for kind in (damage.damaged_bytes, damage.damaged_json):
        first, second = ([kind(raw, random.Random(number)) for number in range(200)] for _ in range(2))
        assert first == second
        assert len(set(first)) > 20
        assert sum(changed == raw for changed in first) < 10


@pytest.mark.parametrize(
    ("code", "stderr", "says"),
    [
        (0, "", ""),
        (2, "error: no such file\n", ""),
        (1, "Traceback (most recent call last):\n  File\nKeyError: 'a'\n", "traceback: KeyError: 'a'"),
        (2, "error: one\nerror: two\n", "2 error lines"),
        (-11, "", "exit code -11: "),
    ],
)
def test_ends_that_are_wrong(parts, code, stderr, says):
    assert parts["case"].wrong_exit(code, stderr) == says


def test_exceptions_that_are_no_refusals_are_told_with_their_place(parts):
    from qa.base.errors import BundleError

    def refuse():
        raise BundleError("one line")

    assert parts["case"].refused_or(refuse) == ""
    assert parts["case"].refused_or(lambda: str(1 // 0)).startswith("ZeroDivisionError at test_torture.py:")


def test_half_a_result_and_drafts_are_seen(parts, tmp_path, tiny_export):
    stages = parts["stages"]
    stage = stages.STAGES["export to ONNX"]
    assert stages.half_finished(stage, tmp_path) == ""
    (tmp_path / "made").mkdir()
    assert "not a finished bundle" in stages.half_finished(stage, tmp_path)
    for file in tiny_export("onnx").path.iterdir():
        (tmp_path / "made" / file.name).write_bytes(file.read_bytes())
    assert stages.half_finished(stage, tmp_path) == ""
    before = stages.written(tmp_path)
    (tmp_path / "made" / "qa.json").write_text("{}")
    assert "changed since it was made" in stages.half_finished(stage, tmp_path)
    assert {name for name, value in stages.written(tmp_path).items() if before.get(name) != value} == {
        "made/qa.json"
    }
    (tmp_path / ".made.unfinished-1").mkdir()
    assert stages.drafts(tmp_path) == [".made.unfinished-1"]
