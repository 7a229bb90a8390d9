"""What single questions tell, on answers whose scores are worked by hand."""

from pathlib import Path

import numpy as np
import pytest
from report_material import ANSWERS, INT8, ODD, STUDENT, TEACHER, write_material

from benchmarks.accuracy import answers_path, save_answers
from benchmarks.report.headline import baseline_entry, best_entry
from benchmarks.report.page import Page, other_baselines
from benchmarks.report.question_views import excerpt, nearest, question_sections
from benchmarks.report.questions import (
    LENGTHS,
    TYPES,
    chosen_three,
    group_intervals,
    passage_length,
    question_type,
    read_kept,
    regressions,
    slices,
)
from benchmarks.report.tables import MODEL_COLUMNS, model_lines
from benchmarks.rows import read_rows
from benchmarks.views.cells import UNKNOWN
from benchmarks.views.groups import Entry, collect
from benchmarks.views.tables import view_tables
from qa.datasets import EMBEDDED
from qa.errors import OptionError
from qa.squad import Example


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
    [(1, "up to 75 words"), (75, "up to 75 words"), (76, "76–100 words"), (200, "151–200 words"), (201, "over 200 words")],
)
def test_passages_are_binned_by_words(n_words, name):
    assert passage_length(ask("", n_words)) == name
    assert name in LENGTHS


def test_scores_are_those_of_each_answer(kept):
    assert kept.f1[TEACHER].tolist() == [100, 100, 100, 100, 100, 100, 0]
    assert kept.f1[STUDENT].tolist() == [100, 0, 100, 100, 100, 100, 0]
    assert kept.f1[INT8].tolist() == pytest.approx([100, 0, 0, 100, 100, 100, 200 / 3])  # "wrote" of "wrote it"


def test_slices_hold_the_mean_of_their_questions(kept, material):
    three = chosen_three(kept, material[2][0])
    assert [e.facts["model"] for e in three] == ["teacher", "student", "student-int8"]
    by_word = {one.name: one for one in slices(kept, three, question_type, TYPES)}
    assert {name: one.n for name, one in by_word.items()} == {"what": 1, "who": 2, "when": 1, "where": 1, "how": 1, "other": 1}
    assert [f1.mean for f1 in by_word["who"].f1] == [100, 100, 50]
    assert (by_word["who"].f1[2].low, by_word["who"].f1[2].high) == (0, 100)
    by_length = slices(kept, three, passage_length, LENGTHS)
    assert [(one.name, one.n) for one in by_length] == [("up to 75 words", 5), ("126–150 words", 2)]
    assert by_length[0].f1[0].mean == 80


def test_regressions_are_counted_and_the_furthest_falls_come_first(kept, material):
    three = chosen_three(kept, material[2][0])
    found = regressions(kept, three)
    assert (found.n_worse, found.n_better, found.n_lost, found.n_lost_before) == (2, 1, 2, 1)
    assert found.worst == (1, 2)
    assert regressions(kept, three[::-1]).worst == (1, 2, 6)[2:]  # the other way round only the last falls
    assert regressions(kept, [three[0], three[0]]).worst == ()
    kept.f1[TEACHER], kept.f1[INT8] = np.full(7, 100.0), np.array([0, 50, 0, 0, 0, 0, 100.0])
    kept.f1[STUDENT] = np.array([0, 0, 100, 0, 100, 0, 0.0])
    assert (regressions(kept, three).n_lost, regressions(kept, three).n_lost_before) == (5, 3)
    assert regressions(kept, three, n_shown=2).worst == (2, 4)  # of 0, 2, 3, 4, 5 evenly
    assert regressions(kept, three, n_shown=6).worst == (0, 2, 3, 4, 5, 1)


def test_a_constant_share_of_the_teacher_is_retained_without_width(kept, material):
    group = material[2][0]
    facts = next(e.facts for e in group.entries if e.facts["bundle_sha256"] == STUDENT)
    kept.f1[STUDENT] = kept.f1[TEACHER] / 2
    facts["f1"] = float(kept.f1[STUDENT].mean())
    kept.f1[TEACHER][6] = 1e-3  # so that no draw leaves nothing to divide by
    kept.f1[STUDENT][6] = 5e-4
    facts["f1"] = float(kept.f1[STUDENT].mean())
    next(e.facts for e in group.entries if e.facts["bundle_sha256"] == TEACHER)["f1"] = float(kept.f1[TEACHER].mean())
    found = group_intervals(kept, group)
    retained = found["student"][1]
    assert (retained.mean, retained.low, retained.high) == pytest.approx((0.5, 0.5, 0.5))
    assert found["student"][0].low < found["student"][0].high
    assert set(found) == {"teacher", "student", "student-int8"}
    assert group_intervals(kept, material[2][1]) == {}  # on ARM other questions were asked
    assert group_intervals(None, group) == {}


def test_an_export_of_the_teacher_is_no_student(kept, material):
    group = material[2][0]
    for entry in group.entries:
        entry.facts["params"] = 2000
    assert [e.facts["model"] for e in chosen_three(kept, group)] == ["teacher", "student-int8"]
    page = question_sections(kept, group, "")
    assert ">int8: <strong>student-int8<" in page
    assert ">student: " not in page
    int8 = next(e for e in group.entries if e.facts["bundle_sha256"] == INT8)
    int8.facts["params"] = 1000  # now the only one that is smaller, and its parent is not among the kept
    assert [e.facts["model"] for e in chosen_three(kept, group)] == ["teacher", "student-int8"]
    int8.facts["precision"] = "fp16"
    assert chosen_three(kept, group) == []


def test_of_models_with_one_name_the_student_is_the_one_that_is_certain(kept, material):
    group = material[2][0]
    teacher, student, int8 = (next(e for e in group.entries if e.facts["bundle_sha256"] == b) for b in (TEACHER, STUDENT, INT8))
    student.facts["model"] = "y/student"
    other = Entry(student.facts | {"model": "x/student", "bundle_sha256": "9" * 64})
    kept.f1["9" * 64], kept.answers["9" * 64] = kept.f1[STUDENT], kept.answers[STUDENT]
    group.entries.insert(1, other)
    assert chosen_three(kept, group) == [teacher, int8]
    other.facts["params"] = 999
    assert chosen_three(kept, group) == [teacher, student, int8]
    int8.facts["same_answers_as"] = "teacher"  # the parent's answers are not kept
    assert chosen_three(kept, group) == [teacher, int8]
    del int8.facts["same_answers_as"]
    assert chosen_three(kept, group) == [teacher, int8]


def test_another_tools_int8_is_not_the_students(kept, material):
    group = material[2][0]
    int8 = next(e for e in group.entries if e.facts["bundle_sha256"] == INT8)
    best = {"model": "student-torchao-int8", "bundle_sha256": "9" * 64, "peer": "torchao-int8", "f1": 100.0}
    peer = Entry(int8.facts | best | {"parent_sha256": STUDENT})
    kept.f1["9" * 64], kept.answers["9" * 64] = np.full(7, 100.0), kept.answers[STUDENT]
    group.entries.append(peer)
    assert chosen_three(kept, group)[-1] is int8


def two_comparisons(rows):
    """The student in int8 and a model half as good again; then the teacher and its student."""
    cpu = [row for row in rows if row["target"] == "cpu"]
    first = [
        row | {"baseline": "student-int8", "baseline_sha256": INT8, "f1": f1, "f1_retained": retained}
        for bundle, f1, retained in ((INT8, 200 / 3, 1.0), (ODD, 100.0, 1.5)) for row in cpu if row["bundle_sha256"] == bundle
    ]  # fmt: skip
    return first + [row for row in cpu if row["bundle_sha256"] in (TEACHER, STUDENT)]


def test_figures_against_another_baseline_are_left_out_and_the_page_says_so(material):
    rows = two_comparisons(read_rows(material[0]))
    (group,) = collect(rows)
    assert baseline_entry(group).facts["bundle_sha256"] == TEACHER
    assert best_entry(group).facts["bundle_sha256"] == STUDENT
    kept, _ = read_kept(material[1], material[0], [group])
    found = group_intervals(kept, group)
    assert {model: ratio is not None for model, (_, ratio) in found.items()} == {
        "teacher": True, "student": True, "student-int8": False,
    }  # fmt: skip
    assert chosen_three(kept, group) == []
    page = Page([group], kept).render()
    bars = page[page.index("F1 retained against teacher") :].split("</section>")[0]
    assert bars.count('class="row') == 1
    notice = ": compared with another model than teacher, so F1 retained and speed against teacher are left out"
    assert page.count(notice) == page.count('class="notice"') == 1
    for view, headings in (("summary", ("retained", "x@384", "x@real")), ("latency", ("x mean", "x p50"))):
        (table,) = view_tables([group], view)
        for line in (dict(zip(table.headings, cells, strict=True)) for cells in table.cells):
            shown = {line[heading] != UNKNOWN for heading in headings}
            assert shown == {line["model"] in ("teacher", "student")}
        assert any("teacher" in text and text.endswith("– where compared with another model") for text in table.notes)
    columns = {column.heading: column for column in MODEL_COLUMNS}
    lines = {line.row["model"]: line for line in model_lines([group], [found])}
    assert [columns[name].value(lines["student-int8"]) for name in ("retained", "retained, 95 %", "x real")] == [None] * 3
    assert columns["retained"].value(lines["teacher"]) == 1.0
    (alone,) = collect([row for row in rows if row["baseline"] == "student-int8"])
    assert other_baselines(alone) == ""
    assert [alone.retained(e) for e in alone.entries] == [1.0, 1.5]


def test_answers_that_are_not_those_of_the_row_do_not_count(material):
    rows_path, data, groups = material
    sha256 = groups[0].newest["data"]["sha256"]
    save_answers(answers_path(rows_path, INT8, sha256), ANSWERS[TEACHER])
    answers_path(rows_path, STUDENT, sha256).write_text("{", encoding="utf-8")
    kept, faults = read_kept(data, rows_path, groups)
    assert set(group_intervals(kept, groups[0])) == {"teacher"}
    assert [fault.split(" left out: ")[0] for fault in faults] == ["answers of student", "answers of student-int8"]
    assert "has F1 85.71, its row 66.67; measure it again" in faults[1]


def test_a_data_file_that_is_not_the_rows_is_refused_when_chosen(material, tmp_path):
    rows_path, data, groups = material
    kept, notices = read_kept(EMBEDDED, rows_path, groups)
    assert kept is None
    (line,) = notices
    assert line.startswith(
        "no single questions, and no intervals but those of the rows, without their data file; give it: --data data.json (SHA-256"
    )
    other = tmp_path / "other.json"
    other.write_text(Path(data).read_text() + " ")
    with pytest.raises(OptionError, match=r"other\.json: has SHA-256 [0-9a-f]{16}…, but the rows were measured on data\.json"):
        read_kept(str(other), rows_path, groups)
    assert read_kept(EMBEDDED, rows_path, [group for group in groups if group.on_phone]) == (None, [])


def test_the_nearest_of_several_places_is_marked():
    context = "Ada met Bob. Bob left. Ada met Bob."
    assert [nearest(context, "Bob", place) for place in (0, 12, 30)] == [8, 13, 31]
    assert nearest(context, "Eve", 0) is None
    assert nearest(context, "", 0) is None


def test_marks_may_overlap_and_far_text_is_cut():
    assert excerpt("a <b> c", [(0, 5, "gold"), (2, 7, "s0")]) == (
        '<mark class="gold">a </mark><mark class="gold s0">&lt;b&gt;</mark><mark class="s0"> c</mark>'
    )
    context = "start " + "x " * 300 + "answer" + " y" * 300 + " far"
    at = context.index("answer")
    cut = excerpt(context, [(at, at + 6, "gold")])
    assert cut.startswith("… x x")
    assert cut.endswith("y y …")
    assert cut.count("x") == cut.count("y") == 45
    both = excerpt(context, [(0, 5, "s0"), (at, at + 6, "gold")])
    assert both.startswith('<mark class="s0">start</mark> x')
    assert both.count("…") == 2
    assert excerpt("No answer is here.", []) == "No answer is here."


def test_rows_written_and_read_are_the_same(material):
    assert [row["model"] for row in read_rows(material[0])] == [r["model"] for r in write_material(material[0].parent)[2]]
