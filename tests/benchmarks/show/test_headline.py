"""The headline, the file to ship and the scores on the page, from the project's own committed results."""

import re

import pytest
from benchmark_results import EXPORT, scored
from places import ROOT

from benchmarks.results.files import sound_results
from benchmarks.show.collecting import collect
from benchmarks.show.headline import best_entry, few_questions, headline, reference_for, which_to_ship
from benchmarks.show.report import Page


def committed(name):
    """The groups of a file of benchmarks/results."""
    results, faults = sound_results(ROOT / "benchmarks" / "results" / name)
    assert faults == []
    return collect(results)


@pytest.fixture(scope="module")
def flagship():
    """The group of dev-v2.0, whose teacher is stored in int8 and has fp32 exports."""
    return next(group for group in committed("flagship-0.1.jsonl") if group.data == "dev-v2.0.json.gz")


def test_the_headline_compares_an_export_with_the_teachers_fp32_export_of_its_runtime(flagship):
    best, _ = best_entry(flagship)
    assert reference_for(flagship, best).model == "teacher-mean-tflite-fp32"
    sentence, cards = headline(flagship)
    assert sentence == (
        "small-grid-int4-tflite-int4 keeps 99.8% of teacher's F1 and 99.4% of its EM. Against "
        "teacher-mean-tflite-fp32 (LiteRT, fp32) it is 12.9 times smaller and 4.4 times faster unpadded"
    )
    assert [figure for figure, _ in cards] == ["70.58", "99.8%", "65.44", "75.69%", "7.3 MB", "5.6 ms"]
    assert "the 5,945 questions without an answer are declined; teacher declines 78.07%" in cards[3][1]
    assert "4.4 times faster (95 %: 4.34–4.42) than teacher-mean-tflite-fp32 (24.5 ms" in cards[-1][1]


def test_an_onnx_export_is_compared_with_onnx_and_a_pytorch_model_with_the_teacher(flagship):
    entries = {entry.model: entry for entry in flagship.entries}
    for model, reference in (
        ("student-onnx-int8", "teacher-mean-onnx-fp32"),
        ("student", "teacher"),
        ("teacher-mean-tflite-fp32", "teacher"),
    ):
        assert reference_for(flagship, entries[model]).model == reference


def test_without_a_tflite_file_of_the_teacher_its_onnx_file_is_the_reference(flagship):
    results = [r for r in flagship.results if "tflite-fp" not in r.model]
    group = collect(results)[0]
    assert "Against teacher-mean-onnx-fp32 (ONNX Runtime, fp32)" in headline(group)[0]
    group = collect([r for r in results if "onnx-fp" not in r.model])[0]
    assert "Against teacher (PyTorch, int8-weights) it is 3.3 times smaller" in headline(group)[0]


def test_the_file_to_ship_is_the_smallest_that_loses_at_most_a_point(flagship):
    ship = which_to_ship(flagship)
    assert ship.startswith(
        "small-grid-int4-tflite-int4: 7.3 MB, 5.6 ms unpadded, F1 70.58 (0.11 points below"
    )
    assert ship.endswith("The rule: the smallest export at most 1 point of F1 below teacher")
    assert f"<strong>Which file do I ship?</strong> {ship}." in Page([flagship]).render()


def test_no_file_is_to_ship_where_all_exports_lose_more_than_a_point():
    results = [scored(), scored("student", 79.9)]
    assert which_to_ship(collect(results)[0]) == ""  # none is an export
    results.append(scored("poor-onnx", 78.9, **EXPORT))
    assert which_to_ship(collect(results)[0]).startswith("none: poor-onnx comes nearest, 1.10 points")
    results.append(scored("poor-onnx", 79.0, **EXPORT))
    assert which_to_ship(collect(results)[0]).startswith("poor-onnx: ")


def test_of_files_of_one_size_in_the_table_the_better_is_to_ship():
    """A byte more, as a tuned copy has, decides nothing."""
    sizes = [scored("a-onnx", 79.5, size_bytes=11_580_763, **EXPORT)]
    sizes.append(scored("b-onnx", 80.5, size_bytes=11_580_764, **EXPORT))
    ship = which_to_ship(collect([scored(), *sizes])[0])
    assert ship.startswith("b-onnx: 11.6 MB")
    assert ship.endswith("and of those of this size the one with the highest F1")
    sizes.append(scored("c-onnx", 79.2, size_bytes=11_400_000, **EXPORT))
    assert which_to_ship(collect([scored(), *sizes])[0]).startswith("c-onnx: 11.4 MB")


def test_scores_with_and_without_an_answer_stand_in_the_table_where_the_data_have_both(flagship):
    table = Page([flagship]).models
    at = table.headings.index("F1")
    assert table.headings[at : at + 3] == ["F1", "HasAns F1", "NoAns"]
    assert table.cells[0][at : at + 3] == ["70.69 (68.44–72.97)", "63.29", "78.07"]
    assert "NoAns" not in Page(collect([scored()])).models.headings


def test_bars_above_the_teacher_are_longer_than_its_line(flagship):
    page = Page([flagship]).render()
    chart = page[page.index("<h2>F1 retained") :].split("</section>")[0]
    widths = dict(re.findall(r'"what">([^<]*)</span>.*?<i style="width:([\d.]+)%', chart))
    (line,) = set(re.findall(r'<s style="left:([\d.]+)%', chart))
    assert float(widths["student"]) > float(line) > float(widths["small-grid-int4-tflite-int4"])
    assert max(map(float, widths.values())) <= 100


@pytest.mark.parametrize("file", ["flagship.jsonl", "compression.jsonl"])
def test_each_footnote_stands_once_for_the_models_of_all_tables(file):
    """The second file has toolchains, so a ranking with tables of its own."""
    page = Page(committed(file)).render()
    notes = re.findall(r"<li>(.*?)</li>", page)
    notes = [note for note in notes if note != "more under the tables above"]
    assert len(notes) > 8
    assert len(notes) == len(set(notes))


def test_few_questions_are_a_warning(flagship):
    warning = "dev.json: only 20 questions scored"
    few = [scored(n=20), scored("student", 70.0, n=20)]
    assert warning in Page(collect(few)).render()
    assert warning not in Page(collect([scored(n=200)])).render()
    assert "only" not in few_questions(flagship)
