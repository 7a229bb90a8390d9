"""What single questions tell, on answers whose scores are worked by hand."""

from pathlib import Path

import numpy as np
import pytest
from report_material import ANSWERS, INT8, STUDENT, TEACHER, write_material

from benchmarks.measure.accuracy import answers_path, save_answers
from benchmarks.show import questions
from benchmarks.show.collecting import collect
from benchmarks.show.headline import best_entry
from benchmarks.show.questions import chosen_three, read_kept, regressions
from benchmarks.show.report import Page, other_baselines
from qa.base.errors import OptionError
from qa.data.datasets import EMBEDDED


@pytest.fixture
def material(tmp_path):
    rows_path, data, rows = write_material(tmp_path)
    return rows_path, str(data), collect(rows)


@pytest.fixture
def group(material):
    return material[2][0]


@pytest.fixture
def kept(material):
    found, faults = read_kept(material[1], material[0], material[2])
    assert faults == []
    return found


@pytest.fixture
def three(group):
    """Teacher, student and int8 export."""
    entries = {e.newest.bundle_sha256: e for e in group.entries}
    return [entries[bundle] for bundle in (TEACHER, STUDENT, INT8)]


def test_scores_are_those_of_each_answer(kept, three):
    teacher, student, int8 = (kept.f1[e].tolist() for e in three)
    assert teacher == [100, 100, 100, 100, 100, 100, 0]
    assert student == [100, 0, 100, 100, 100, 100, 0]
    assert int8 == pytest.approx([100, 0, 0, 100, 100, 100, 200 / 3]), '"wrote" of "wrote it"'


def test_regressions_are_counted_and_the_furthest_falls_come_first(kept, group, three, monkeypatch):
    assert chosen_three(kept, group) == three
    found = regressions(kept, three)
    assert (found.n_worse, found.n_better, found.n_lost, found.n_lost_before) == (2, 1, 2, 1)
    assert found.worst == [1, 2]
    assert regressions(kept, three[::-1]).worst == [6], "the other way round only the last falls"
    assert regressions(kept, [three[0], three[0]]).worst == []
    for entry, f1 in zip(
        three, ([100] * 7, [0, 0, 100, 0, 100, 0, 0], [0, 50, 0, 0, 0, 0, 100]), strict=True
    ):
        kept.f1[entry] = np.array(f1, float)
    assert (regressions(kept, three).n_lost, regressions(kept, three).n_lost_before) == (5, 3)
    monkeypatch.setattr(questions, "N_SHOWN", 2)
    assert regressions(kept, three).worst == [2, 4], "of 0, 2, 3, 4, 5 evenly"
    monkeypatch.setattr(questions, "N_SHOWN", 6)
    assert regressions(kept, three).worst == [0, 2, 3, 4, 5, 1]


def test_the_student_is_what_the_int8_file_was_made_of_and_smaller_than_the_teacher(kept, group, three):
    teacher, student, int8 = three
    student.newest.params = int8.newest.params = 2000
    assert chosen_three(kept, group) == [teacher, int8]
    page = Page([group], kept).render()
    assert "int8: <strong>student-int8<" in page
    assert "student: <strong>" not in page
    student.newest.params = int8.newest.params = 1000
    for name, value, chosen in (
        ("parent_sha256", None, [teacher, int8]),  # nothing says what it was made of
        ("precision", "fp16", []),
        ("precision", "int8", [teacher, int8]),
        ("toolchain", "torchao-int8", []),  # another tool's is not the student's
    ):
        setattr(int8.newest, name, value)
        assert chosen_three(kept, group) == chosen


def test_figures_against_another_baseline_are_left_out_and_the_page_says_so(kept, group, three):
    other = three[2].accuracy
    other.baseline = "t"
    other.baseline_sha256 = "9" * 64
    assert best_entry(group)[0] is three[1]
    assert chosen_three(kept, group) == []
    notice = "student-int8: compared with another model than teacher, so its scores retained are left out"
    assert other_baselines(group) == notice
    assert Page([group], kept).render().count(notice) == 1


def test_answers_that_are_not_those_of_the_row_do_not_count(material, three):
    rows_path, data, groups = material
    sha256 = groups[0].newest.data.sha256
    save_answers(answers_path(rows_path, INT8, sha256), ANSWERS[TEACHER])
    answers_path(rows_path, STUDENT, sha256).write_text("{", encoding="utf-8")
    kept, (broken, another) = read_kept(data, rows_path, groups)
    assert list(kept.f1) == list(kept.answers) == three[:1]
    assert broken.startswith("answers of student left out: ")
    assert another.startswith("answers of student-int8 left out: ")
    assert another.endswith("has F1 85.71, the newest result of student-int8 66.67; measure it again")


def test_a_data_file_that_is_not_the_rows_is_refused_when_chosen(material, tmp_path):
    rows_path, data, groups = material
    kept, (line,) = read_kept(EMBEDDED, rows_path, groups)
    assert kept is None
    assert line.startswith("no single questions without their data file; give it: --data data.json (SHA-256")
    other = tmp_path / "other.json"
    other.write_text(Path(data).read_text() + " ")
    message = r"other\.json: has SHA-256 [0-9a-f]{16}…, but the rows were measured on data\.json"
    with pytest.raises(OptionError, match=message):
        read_kept(str(other), rows_path, groups)
    assert read_kept(EMBEDDED, rows_path, [group for group in groups if group.on_phone]) == (None, [])


def test_an_example_has_the_passage_and_every_answer_with_its_f1(kept, group):
    page = Page([group], kept).render()
    example = page[page.index("When did it rain?") :].split("</article>")[0]
    assert "It rained on <mark>Monday</mark>. It rained on Monday. " in example
    for answer in ("gold</dt><dd>Monday<", "baseline</dt><dd>Monday<", "int8 student</dt><dd>Paris<"):
        assert answer in example
    assert [f"F1 {f1}<" in example for f1 in (100, 0)] == [True, True]
