"""A teacher's F1 is known before a student learns from it."""

import json

from comparisons import copied

from distill.data import load_splits
from distill.teacher_score import teacher_score
from qa.bundles.bundle import open_bundle
from qa.evaluate import EvaluateOptions, evaluate


def test_a_teacher_is_scored_on_the_questions_of_the_evaluation(make_bundle, small_squad):
    teacher = open_bundle(make_bundle())
    line = teacher_score(teacher, load_splits(str(small_squad), str(small_squad), None))
    n = sum(len(p["qas"]) for a in json.loads(small_squad.read_text())["data"] for p in a["paragraphs"])
    f1 = evaluate(EvaluateOptions(str(small_squad), teacher.path))["f1"]
    assert line.startswith(f"teacher {teacher.path}: F1 {f1:.2f} on {n} questions of {small_squad.name};")


def test_it_declines_where_its_student_may(make_bundle, small_squad, small_squad_v2, tmp_path):
    teacher = copied(open_bundle(make_bundle()), tmp_path / "teacher", null_threshold=-1e9)
    for train, declines in ((small_squad, False), (small_squad_v2, True)):
        line = teacher_score(teacher, load_splits(str(train), str(small_squad), None))
        assert ("F1 0.00 on" in line) == declines


def test_without_an_evaluation_it_is_scored_on_training_questions(make_bundle, small_squad):
    teacher = open_bundle(make_bundle())
    assert f"questions of {small_squad.name}" in teacher_score(
        teacher, load_splits(str(small_squad), None, None)
    )
