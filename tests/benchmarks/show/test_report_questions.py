"""What single questions tell, on answers whose scores are worked by hand."""

from pathlib import Path

import numpy as np
import pytest
from report_material import ANSWERS, INT8, STUDENT, TEACHER, write_material

from benchmarks.measure.accuracy import answers_path, save_answers
from benchmarks.show import questions
from benchmarks.show.groups import collect
from benchmarks.show.headline import best_entry
from benchmarks.show.questions import (
    LENGTHS,
    TYPES,
    chosen_three,
    compared,
    passage_length,
    question_type,
    read_kept,
    regressions,
    slices,
)
from benchmarks.show.report import Page, other_baselines
from qa.base.errors import OptionError
from qa.data.datasets import EMBEDDED
from qa.data.squad import Example


@pytest.fixture
def material(tmp_path):
    rows_path, data, rows = write_material(tmp_path)
    return rows_path, str(data), collect(rows)


@pytest.fixture
def kept(material):
    found, faults = read_kept(material[1], material[0], material[2])
    assert faults == []
    return found


def ask(question, n_words=5):
    return Example("q", "t", " ".join(["word"] * n_words), question, (), False)


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("In what year did it end?", "what"),
        ("Who knew when?", "who"),
        ("To whom was it given?", "who"),
        ("Whose?", "who"),
        ("WHERE'S it?", "where"),
        ("Name the show and how it ended.", "how"),
        ("Name somewhat showy shows.", "other"),
        ("", "other"),
    ],
)
def test_the_first_question_word_decides(question, word):
    assert question_type(ask(question)) == word
    assert word in TYPES


@pytest.mark.parametrize(
    ("n_words", "name"),
    [
        (1, "up to 75 words"),
        (75, "up to 75 words"),
        (76, "76–100 words"),
        (200, "151–200 words"),
        (201, "over 200 words"),
    ],
)
def test_passages_are_binned_by_words(n_words, name):
    assert passage_length(ask("", n_words)) == name
    assert name in LENGTHS


def test_scores_are_those_of_each_answer(kept):
    assert kept.f1[TEACHER].tolist() == [100, 100, 100, 100, 100, 100, 0]
    assert kept.f1[STUDENT].tolist() == [100, 0, 100, 100, 100, 100, 0]
    assert kept.f1[INT8].tolist() == pytest.approx(
        [100, 0, 0, 100, 100, 100, 200 / 3]
    )  # "wrote" of "wrote it"


def test_slices_hold_the_mean_of_their_questions(kept, material):
    three = chosen_three(kept, material[2][0])
    assert [e.model for e in three] == ["teacher", "student", "student-int8"]
    by_word = {one.name: one for one in slices(kept, three, question_type, TYPES)}
    assert {name: one.n for name, one in by_word.items()} == {
        "what": 1,
        "who": 2,
        "when": 1,
        "where": 1,
        "how": 1,
        "other": 1,
    }
    assert [f1.mean for f1 in by_word["who"].f1] == [100, 100, 50]
    assert (by_word["who"].f1[2].low, by_word["who"].f1[2].high) == (0, 100)
    by_length = slices(kept, three, passage_length, LENGTHS)
    assert [(one.name, one.n) for one in by_length] == [("up to 75 words", 5), ("126–150 words", 2)]
    assert by_length[0].f1[0].mean == 80


def test_regressions_are_counted_and_the_furthest_falls_come_first(kept, material, monkeypatch):
    three = chosen_three(kept, material[2][0])
    found = regressions(kept, three)
    assert (found.n_worse, found.n_better, found.n_lost, found.n_lost_before) == (2, 1, 2, 1)
    assert found.worst == (1, 2)
    assert regressions(kept, three[::-1]).worst == (1, 2, 6)[2:]  # the other way round only the last falls
    assert regressions(kept, [three[0], three[0]]).worst == ()
    kept.f1[TEACHER], kept.f1[INT8] = np.full(7, 100.0), np.array([0, 50, 0, 0, 0, 0, 100.0])
    kept.f1[STUDENT] = np.array([0, 0, 100, 0, 100, 0, 0.0])
    assert (regressions(kept, three).n_lost, regressions(kept, three).n_lost_before) == (5, 3)
    monkeypatch.setattr(questions, "N_SHOWN", 2)
    assert regressions(kept, three).worst == (2, 4)  # of 0, 2, 3, 4, 5 evenly
    monkeypatch.setattr(questions, "N_SHOWN", 6)
    assert regressions(kept, three).worst == (0, 2, 3, 4, 5, 1)


def entry_of(group, bundle):
    return next(e for e in group.entries if e.newest.bundle_sha256 == bundle)


def test_the_student_is_what_the_int8_file_was_made_of_and_smaller_than_the_teacher(kept, material):
    group = material[2][0]
    teacher, student, int8 = (entry_of(group, bundle) for bundle in (TEACHER, STUDENT, INT8))
    student.newest.params = int8.newest.params = 2000
    assert chosen_three(kept, group) == [teacher, int8]
    page = Page([group], kept).render()
    assert "int8: <strong>student-int8<" in page
    assert "student: <strong>" not in page
    student.newest.params = 1000
    int8.newest.params = 1000
    int8.newest.parent_sha256 = None
    assert chosen_three(kept, group) == [teacher, int8]  # nothing says what it was made of
    int8.newest.precision = "fp16"
    assert chosen_three(kept, group) == []
    int8.newest.precision = "int8"
    int8.newest.toolchain = "torchao-int8"
    assert chosen_three(kept, group) == []  # another tool's is not the student's


def test_figures_against_another_baseline_are_left_out_and_the_page_says_so(material):
    (group, *_) = material[2]
    other = entry_of(group, INT8)
    other.accuracy.baseline = "t"
    other.accuracy.baseline_sha256 = "9" * 64
    assert best_entry(group).newest.bundle_sha256 == STUDENT
    kept, _ = read_kept(material[1], material[0], [group])
    assert chosen_three(kept, group) == []
    notice = "student-int8: compared with another model than teacher, so F1 retained is left out"
    assert other_baselines(group) == notice
    assert Page([group], kept).render().count(notice) == 1


def test_answers_that_are_not_those_of_the_row_do_not_count(material):
    rows_path, data, groups = material
    sha256 = groups[0].newest.data.sha256
    save_answers(answers_path(rows_path, INT8, sha256), ANSWERS[TEACHER])
    answers_path(rows_path, STUDENT, sha256).write_text("{", encoding="utf-8")
    kept, faults = read_kept(data, rows_path, groups)
    assert [e.model for e in groups[0].entries if kept.holds(e)] == ["teacher"]
    assert [fault.split(" left out: ")[0] for fault in faults] == [
        "answers of student",
        "answers of student-int8",
    ]
    assert "has F1 85.71, its row 66.67; measure it again" in faults[1]


def test_a_data_file_that_is_not_the_rows_is_refused_when_chosen(material, tmp_path):
    rows_path, data, groups = material
    kept, notices = read_kept(EMBEDDED, rows_path, groups)
    assert kept is None
    (line,) = notices
    assert line.startswith("no single questions without their data file; give it: --data data.json (SHA-256")
    other = tmp_path / "other.json"
    other.write_text(Path(data).read_text() + " ")
    with pytest.raises(
        OptionError, match=r"other\.json: has SHA-256 [0-9a-f]{16}…, but the rows were measured on data\.json"
    ):
        read_kept(str(other), rows_path, groups)
    assert read_kept(EMBEDDED, rows_path, [group for group in groups if group.on_phone]) == (None, [])


def test_an_example_has_the_passage_and_every_answer_with_its_f1(kept, material):
    one = compared(kept, 1, chosen_three(kept, material[2][0]))
    assert (one.example.id, one.golds) == ("p2", ["Monday"])
    assert one.answers == [("Monday", 100.0), ("Paris", 0.0), ("Paris", 0.0)]
    before, gold, after = one.passage
    assert gold == "Monday"
    assert before.endswith("It rained on ")
    assert before + gold + after == one.example.context
