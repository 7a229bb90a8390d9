"""Finding the models to compare, their names, and which of them is the baseline."""

import shutil

import pytest
from comparisons import rebundle

from benchmarks.measure import models
from benchmarks.measure.models import choose_baseline, display_names, find_models, toolchain_models
from benchmarks.measure.run import Run
from benchmarks.results.files import ResultFile, exit_if_failed, read_results
from benchmarks.results.rows import Data, Machine
from compress.cast import CastOptions
from compress.cast import cast as store
from qa.base.errors import UnsupportedExport
from qa.bundles.bundle import open_bundle


@pytest.fixture
def teacher(make_bundle, tmp_path):
    return rebundle(make_bundle(), tmp_path / "run" / "teacher", stage="finetune")


def baseline(*paths, named=None):
    """The folder of the baseline among these bundles."""
    return choose_baseline(find_models(paths), named).bundle.path


def test_names_are_as_long_as_it_takes(tmp_path):
    paths = [tmp_path / part for part in ("a/x/student", "b/x/student", "a/teacher")]
    assert display_names(paths) == ["a/x/student", "b/x/student", "teacher"]


def test_of_two_teachers_the_first_is_the_baseline(teacher, make_bundle, tmp_path):
    other = rebundle(make_bundle(seed=2), tmp_path / "other" / "teacher", stage="finetune")
    assert baseline(teacher, other) == teacher
    assert baseline(other, teacher) == other
    assert baseline(teacher, other, named=other) == other
    assert baseline(teacher, other, teacher) == teacher, "one that is named twice keeps its place"
    assert choose_baseline(find_models([teacher], [other]), None).bundle.path == other
    assert choose_baseline(find_models([teacher, other], [other]), None).bundle.path == teacher


def test_the_same_model_under_two_names_is_named_once(teacher, tmp_path, capsys):
    copy = shutil.copytree(teacher, tmp_path / "copy")
    assert [model.bundle.path for model in find_models([teacher, copy, teacher])] == [teacher]
    assert capsys.readouterr().err == f"{copy}: is the same model as {teacher}, and left out\n"


def test_a_teacher_stored_in_fewer_bytes_is_no_second_baseline(teacher, tmp_path):
    stored = store(CastOptions(teacher, tmp_path / "stored")).path
    assert baseline(stored, teacher) == teacher


def test_of_teachers_that_taught_each_other_the_first_is_the_baseline(teacher, make_bundle, tmp_path):
    def taught(seed, name, by):
        model = make_bundle(seed=seed)
        reference = open_bundle(by).as_teacher(open_bundle(model))
        return rebundle(model, tmp_path / name, stage="prune", recovered_against=reference)

    small = taught(1, "small", by=teacher)
    student = taught(2, "student", by=small)
    assert baseline(student, small, teacher) == teacher
    assert baseline(student, small) == small
    assert baseline(student) == student


def test_a_model_that_no_toolchain_expresses_is_a_finding_and_no_fault(make_bundle, tmp_path, monkeypatch):
    def refuse(toolchain, *others):
        raise UnsupportedExport(f"{toolchain.name}: no BERT")

    monkeypatch.setattr(models, "build", refuse)
    found = toolchain_models(*find_models([make_bundle()]))
    file = ResultFile(tmp_path / "rows.jsonl")
    run = Run(file, [], Data("d", "d" * 64), found, "cpu", Machine("Z80"), "a command")
    for model in found:
        run.fail(model, model.error)
    rows = read_results(file.path)
    assert rows[0].error == "torch-compile: no BERT"
    assert all(row.unsupported for row in rows)
    exit_if_failed(rows)
