"""The tables and plots of README and docs are those of the committed rows.

`make tables` runs this file, which then writes them again.
"""

import hashlib
from collections import defaultdict

import numpy as np
import pytest
from places import ROOT

from benchmarks.results.files import read_results
from benchmarks.results.rows import Accuracy, Latency
from benchmarks.show.categories import category_tables
from benchmarks.show.collecting import collect
from benchmarks.show.differences import split_seed
from benchmarks.show.tables import MOST_COLUMNS
from benchmarks.table import TableOptions
from benchmarks.table import print_tables as write_table

RESULTS = ROOT / "benchmarks" / "results"
DOCS = ROOT / "docs" / "results"
BESIDE = ("thin", *(f"thin-{of}-int8" for of in ("tflite", "openvino", "executorch", "ort-documented")))
TIMED = (
    "teacher-tflite-int8",
    "teacher-grid-int4-tflite-int4",
    "thin-tflite-int8",
    "thin-tflite-int8-words-pq3",
    "thin-pq3-grid-int8-tflite-int8",
    "thin-pq4-grid-int4-tflite-int4",
    "thin-onnx-int8",
    "thin-onnx-int8-words-pq3",
)
SMALL = (
    "teacher",
    "teacher-tflite-int8",
    "teacher-grid-int4-tflite-int4",
    "thin-pq3-grid-int8-tflite-int8",
    "thin-pq3-grid-int8-onnx-int8",
    "thin-pq4-grid-int4-tflite-int4",
)


def marked_tables(path, name):
    """The tables between the markers of a name, each a list of its lines as {heading: cell}."""
    text = path.read_text(encoding="utf-8")
    part = text.split(f"<!-- results:begin {name} -->")[1].split(f"<!-- results:end {name} -->")[0]
    tables = []
    for block in part.split("\n\n"):
        lines = [
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in block.splitlines()
            if line.startswith("|")
        ]
        if lines:
            tables.append([dict(zip(lines[0], line, strict=True)) for line in lines[2:]])
    return tables


COMPRESSION = "compression"
SMALL_FILES = "docs/results/compression.md"
RELEASE = "docs/results/flagship.md"
DEV = "dev-v1.1.json.gz"
QUICK = "dev-v1.1-1000.json"
FLAGSHIP = "flagship"
TOOLCHAINS = "flagship-toolchains"
STANDALONE = "standalone-models"
LEARNING = "everyday-ablations"
DEV2 = "dev-v2.0.json.gz"
EVERYDAY = "everyday-dev.json.gz"
LARGE = "teacher-everyday"
PHONE_FILE = "student-tflite-int8"
SHIPPED = (LARGE, "teacher", "student", PHONE_FILE, "student-onnx-int8")
SCORED = {
    "wiki": "squadshifts-new-wiki.json.gz",
    "policy": "policyqa-dev.json.gz",
    "nq": "nq-dev.json.gz",
}
# In the order of the pages: a footnote stands under the first table that it explains.
TABLES = [
    ("README.md", FLAGSHIP, {"data": DEV2, "models": (LARGE, *SHIPPED[3:])}),
    (RELEASE, FLAGSHIP, {"view": "summary", "data": DEV2, "models": SHIPPED}),
    (RELEASE, f"{FLAGSHIP} {FLAGSHIP}-arm64-qemu", {"view": "card", "data": DEV2, "models": SHIPPED}),
    (RELEASE, FLAGSHIP, {"view": "accuracy", "name": "dev2", "data": DEV2}),
    (RELEASE, FLAGSHIP, {"view": "accuracy", "name": "everyday", "data": EVERYDAY}),
    (RELEASE, FLAGSHIP, {"view": "accuracy", "name": "dev1", "data": DEV}),
    (RELEASE, FLAGSHIP, {"view": "summary", "name": "forms", "data": DEV2}),
    (RELEASE, FLAGSHIP, {"view": "latency", "data": DEV2}),
    (RELEASE, TOOLCHAINS, {"view": "summary", "name": "beside"}),
    (RELEASE, TOOLCHAINS, {"name": "tools", "view": "toolchains"}),
    (RELEASE, "flagship-arm64-qemu", {"view": "arm"}),
    *((RELEASE, FLAGSHIP, {"view": "accuracy", "name": n, "data": d}) for n, d in SCORED.items()),
    (SMALL_FILES, COMPRESSION, {"name": "goals", "view": "accuracy", "data": DEV}),
    (SMALL_FILES, COMPRESSION, {"view": "summary", "data": DEV, "models": SMALL}),
    (SMALL_FILES, COMPRESSION, {"name": "steps", "view": "accuracy", "data": "dev-v1.1-2000.json"}),
    (SMALL_FILES, COMPRESSION, {"view": "summary", "name": "times", "data": QUICK, "models": TIMED}),
    (SMALL_FILES, COMPRESSION, {"name": "tools", "view": "toolchains", "data": QUICK, "models": BESIDE}),
    (SMALL_FILES, "compression-arm64-qemu", {"view": "arm"}),
    ("docs/results/thesis.md", "sizes", {"view": "summary", "name": "sizes"}),
    ("docs/results/thesis.md", "thesis", {"view": "accuracy", "name": "configurations"}),
    ("docs/results/thesis.md", "football-as-is", {"view": "accuracy", "name": "football"}),
    ("docs/results/heads.md", "heads-squad2", {"view": "accuracy", "name": "squad2"}),
    ("docs/results/heads.md", "heads-base", {"view": "accuracy", "name": "base"}),
    ("docs/results/heads.md", "heads-base-16000", {"view": "accuracy", "name": "base-16000"}),
    ("docs/results/ablations.md", "ablations", {"view": "accuracy"}),
    ("docs/results/ablations.md", LEARNING, {"view": "accuracy", "name": "everyday", "data": EVERYDAY}),
    ("docs/results/ablations.md", LEARNING, {"view": "accuracy", "name": "squad", "data": "dev.json"}),
    ("docs/results/standalone-models.md", STANDALONE, {"view": "accuracy"}),
    ("docs/results/standalone-models.md", STANDALONE, {"view": "latency"}),
]


STEPS = (LARGE, "student", "student-tflite-fp32", PHONE_FILE)
DRAWINGS = [
    ("small-files", COMPRESSION, {"data": DEV, "models": SMALL}, "plot"),
    (FLAGSHIP, FLAGSHIP, {"data": DEV2}, "plot"),
    ("flagship-steps", FLAGSHIP, {"data": DEV2, "models": STEPS}, "steps"),
    ("reliability", FLAGSHIP, {"models": (PHONE_FILE,)}, "reliability"),
]


def files(rows):
    """The files of results of a name, or of several."""
    return tuple(RESULTS / f"{name}.jsonl" for name in rows.split())


@pytest.mark.parametrize(("page", "rows", "table"), TABLES)
def test_tables_are_made_from_the_rows(page, rows, table, tmp_path):
    copy = tmp_path / "page.md"
    copy.write_bytes((ROOT / page).read_bytes())
    write_table(TableOptions(files(rows), write=copy, **table))
    assert copy.read_bytes() == (ROOT / page).read_bytes()


@pytest.mark.parametrize(("name", "rows", "table", "flag"), DRAWINGS)
def test_drawings_are_made_from_the_rows(name, rows, table, flag, tmp_path):
    write_table(TableOptions(files(rows), **{flag: tmp_path / "made.svg"}, **table))
    assert (tmp_path / "made.svg").read_bytes() == (RESULTS / f"{name}.svg").read_bytes()


def test_the_calibration_of_the_file_to_ship_is_that_of_the_rows():
    rows, *_ = files(FLAGSHIP)
    mine = [row for row in read_results(rows) if row.model == PHONE_FILE and isinstance(row, Accuracy)]
    scored = {f"({row.n:,})": row for row in mine}
    (lines,) = marked_tables(ROOT / "docs" / "export.md", "calibration")
    assert len(lines) == len(scored)
    for line in lines:
        row = scored[line["questions"].rpartition(" ")[2]]
        assert line["calibrated"] == f"{row.calibration_error:.1f}"
        assert line["softmax scores"] == f"{row.uncalibrated_calibration_error:.1f}"


def test_no_page_has_a_table_wider_than_ten_columns():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    wide = [
        f"{page.name}: {line[:80]}"
        for page in pages
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and line.replace("\\|", "").count("|") > MOST_COLUMNS + 1
    ]
    assert wide == []


@pytest.mark.parametrize(
    "name",
    [
        "intel-xeon-2core",
        "intel-xeon-amx-2core",
        COMPRESSION,
        FLAGSHIP,
        TOOLCHAINS,
        "flagship-0.1",
        STANDALONE,
    ],
)
def test_committed_rows_keep_the_rules(name):
    timed = [row for row in read_results(RESULTS / f"{name}.jsonl") if isinstance(row, Latency)]
    full = [row for row in timed if not row.quick]
    assert full
    for row in full:
        assert row.n_runs * row.batch >= 1024
        assert row.timed_s >= 60
        assert row.other_load < 0.1
    assert all(row.affinity for row in timed)


def test_results_of_the_release_are_of_the_files_in_models():
    sealed = {path.parent.name: path.read_bytes() for path in (ROOT / "models").glob("*/manifest.json")}
    released = {name: hashlib.sha256(manifest).hexdigest() for name, manifest in sealed.items()}
    released[LARGE] = released.pop(f"{LARGE}-adapter")  # whose manifest is that of the model it makes
    for name in (FLAGSHIP, TOOLCHAINS, f"{FLAGSHIP}-arm64-qemu"):
        for row in read_results(RESULTS / f"{name}.jsonl"):
            if row.model in released:
                assert row.bundle_sha256 == released[row.model], (name, row.model)
            elif row.parent_sha256 and "int4" not in row.model:
                assert row.parent_sha256 in released.values(), (name, row.model)
    for row in read_results(RESULTS / "sizes.jsonl"):  # the student's files there are exported again
        if row.model.startswith("student"):
            assert released["student"] in (row.bundle_sha256, row.parent_sha256), row.model


def head_and_seed(row):
    """Of models called HEAD-seedN, and of their exports."""
    head, rest = row.model.split("-seed")
    return head, rest.split("-")[0]


def test_the_zoos_figures_are_those_of_its_rows():
    rows = [row for row in read_results(RESULTS / "zoo.jsonl") if isinstance(row, Accuracy | Latency)]
    heads, differences = marked_tables(DOCS / "heads.md", "zoo")
    assert {line["head"] for line in heads if line["F1"] != "–"} == {head_and_seed(row)[0] for row in rows}
    for line in heads:
        mine = [row for row in rows if head_and_seed(row)[0] == line["head"]]
        scored = [row for row in mine if isinstance(row, Accuracy) and row.stage != "export"]
        if not scored:
            assert line["F1"] == "–"
            continue
        assert line["seeds"] == str(len(scored))
        for heading, key in (("EM", "exact"), ("F1", "f1")):
            assert float(line[heading]) == pytest.approx(
                np.mean([getattr(row, key) for row in scored]), abs=0.006
            )
        for heading, name in (("ONNX int8", "onnx-int8"), ("TFLite int8", "tflite-int8")):
            timed = [
                row
                for row in mine
                if row.model.endswith(name) and isinstance(row, Latency) and row.lengths == "unpadded"
            ]
            shown = [f"{row.latency_ms_mean:.1f}" for row in timed[-1:]] or ["–", "not supported"]
            assert line[heading] in shown
    by_seed = {
        head_and_seed(row): row.f1 for row in rows if isinstance(row, Accuracy) and row.stage != "export"
    }
    for line in differences:
        found = [float(value) for value in line["by seed"].split(", ")]
        seeds = [seed for head, seed in by_seed if head == line["head"] and ("linear", seed) in by_seed]
        wanted = [by_seed[line["head"], seed] - by_seed["linear", seed] for seed in seeds]
        assert found == pytest.approx(wanted, abs=0.006)


@pytest.mark.parametrize(
    ("page", "name", "rows", "data", "baseline"),
    [
        ("ablations", "differences", "ablations", "dev.json", "teacher"),
        ("ablations", "everyday-differences", LEARNING, EVERYDAY, "gold"),
        ("ablations", "squad-differences", LEARNING, "dev.json", "gold"),
        ("heads", "squad2-differences", "heads-squad2", "dev.json", "linear"),
    ],
)
def test_differences_between_models_are_those_of_the_rows(page, name, rows, data, baseline):
    f1 = defaultdict(dict)
    for row in read_results(RESULTS / f"{rows}.jsonl"):
        model, seed = split_seed(row.model)
        if row.data.name == data and seed is not None:
            f1[model][seed] = row.f1
    (lines,) = marked_tables(DOCS / f"{page}.md", name)
    shown = {next(iter(line.values())): line for line in lines}
    shown.pop(baseline, None)
    assert shown.keys() == f1.keys() - {baseline}
    for model, line in shown.items():
        own = f1[model]
        changes = [own[seed] - f1[baseline][seed] for seed in sorted(own)]
        assert [float(value) for value in line["by seed"].split(", ")] == pytest.approx(changes, abs=0.006)
        assert float(line[f"F1 - {baseline}"]) == pytest.approx(np.mean(changes), abs=0.006)
        assert float(line["F1"]) == pytest.approx(np.mean(list(own.values())), abs=0.006)


def test_the_football_figures_are_those_of_its_rows():
    """The view by category shows them, but EM of answerable questions."""
    rows = read_results(RESULTS / "football.jsonl")
    starts = {"SQuAD": "squad", "football": "football", "SQuAD, then football": "squad-football"}
    lines = marked_tables(DOCS / "football.md", "football")[0]
    (table,) = category_tables(collect(rows)[0])
    (exact_of_answerable,) = (at for at, name in enumerate(table.headings) if name == "HasAns EM")
    shown = [line[:exact_of_answerable] + line[exact_of_answerable + 1 :] for line in table.cells]
    assert shown == [
        [f"{starts[line['trained on']]}-{line['tokens']}", *list(line.values())[2:]] for line in lines
    ]
    assert table.headings[-4:] == list(lines[0])[-4:]


def test_models_that_share_weights_and_differ_in_settings_are_lines_of_their_own():
    """`squad-384` and `squad-512` of the football experiment read the same bundle in windows of two lengths."""
    (group,) = collect(read_results(RESULTS / "football.jsonl"))
    models = [entry.model for entry in group.entries]
    assert sorted(models) == sorted({row.model for row in group.results})
    assert len(models) == 6


if __name__ == "__main__":
    for page, rows, table in TABLES:
        write_table(TableOptions(files(rows), write=ROOT / page, **table))
    for name, rows, table, flag in DRAWINGS:
        write_table(TableOptions(files(rows), **{flag: RESULTS / f"{name}.svg"}, **table))
