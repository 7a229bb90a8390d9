"""Damaged SQuAD files, prediction files, results and phone reports are refused in one line, or read rightly."""

import json

from amounts import refused, tries
from hypothesis import given
from hypothesis import strategies as st
from places import ROOT
from strategies import damaged

from benchmarks.measure.models import find_models
from benchmarks.measure_and_show import measure as compare
from benchmarks.options import CompareOptions
from benchmarks.results.files import read_results, sound_results
from benchmarks.show.collecting import collect, newest_order
from benchmarks.show.report import Page, write_report
from benchmarks.show.tables import as_markdown, as_text
from benchmarks.show.views import VIEWS, view_tables
from qa.data.metrics import evaluate_predictions
from qa.data.squad import read_predictions, read_squad

RESULTS = [
    line
    for path in sorted((ROOT / "benchmarks" / "results").glob("*.jsonl"))
    for line in path.read_bytes().splitlines()
]


def test_answers_of_a_damaged_squad_file_stand_where_they_say(material, tmp_path):
    file = tmp_path / "squad.json"

    @tries(3750)
    @given(damaged((material / "questions.json").read_bytes()))
    def check(raw):
        file.write_bytes(raw)

        def read():
            examples = read_squad(file)
            assert all(
                e.context[a.start : a.start + len(a.text)] == a.text for e in examples for a in e.answers
            )
            evaluate_predictions(examples, {e.id: e.context[:20] for e in examples})

        refused(read)

    check()


def test_damaged_predictions_are_scored_or_refused(material, tmp_path):
    examples = read_squad(material / "questions.json")
    file = tmp_path / "predictions.json"

    @tries(1250)
    @given(damaged(json.dumps({e.id: "an answer" for e in examples}).encode()))
    def check(raw):
        file.write_bytes(raw)

        def read():
            assert 0 <= evaluate_predictions(examples, read_predictions(file))["f1"] <= 100

        refused(read)

    check()


def test_a_damaged_result_is_left_out_or_shown_in_every_table_and_on_the_page(tmp_path):
    file = tmp_path / "rows.jsonl"

    @tries(2500)
    @given(st.data(), st.integers(0, len(RESULTS) - 1), st.sampled_from((1, 5, 20)))
    def check(data, first, n):
        lines = RESULTS[first : first + n]
        at = data.draw(st.integers(0, len(lines) - 1))
        lines[at] = data.draw(damaged(lines[at]))
        file.write_bytes(b"\n".join(lines) + b"\n")

        def show():
            results, _ = sound_results(file)
            groups = collect(results, newest_order(results))
            for table in (table for view in VIEWS for table in view_tables(groups, view)):
                as_text(table)
                as_markdown(table)
            write_report(tmp_path / "page.html", Page(groups))

        refused(show)

    check()


def test_a_damaged_phone_report_becomes_results_that_can_be_read_or_is_refused(material, tmp_path):
    (model,) = find_models([material / "tflite-int8"])
    report = json.loads((ROOT / "tests" / "golden" / "phone_report.json").read_bytes())
    report["model"]["sha256"] = model.bundle.manifest.files[model.bundle.weights.name]
    file = tmp_path / "phone.json"
    rows = tmp_path / "rows.jsonl"
    config = CompareOptions((model.bundle.path,), rows=rows, phone_report=(file,))

    @tries(2500)
    @given(damaged(json.dumps(report).encode()))
    def check(raw):
        file.write_bytes(raw)
        rows.unlink(missing_ok=True)

        def take():
            assert len(compare(config)) == len(read_results(rows))

        refused(take)

    check()
