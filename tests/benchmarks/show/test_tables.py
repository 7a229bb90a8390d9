"""Tables out of hand-made results: what is compared with what, newest first, unknown as a dash, and Markdown
markers."""

import pytest
from benchmark_results import (
    DATA,
    INT8,
    LITERT,
    NO_BASELINE,
    ORT,
    batched,
    failure,
    footnotes,
    lines,
    on_phone,
    records,
    run,
    scored,
    timed,
    toolchain,
)

from benchmarks.results.files import append_result
from benchmarks.results.rows import Data, Machine, Runtime
from benchmarks.show.groups import collect, newest_order
from benchmarks.show.tables import UNKNOWN, as_markdown, as_text, check_markers, text_table, write_marked
from benchmarks.show.views import view_tables
from benchmarks.table import TableConfig, main
from qa.base.errors import OptionError


def test_like_is_divided_by_like_and_the_gain_of_exact_lengths_stands_apart():
    """Student padded: 20 of the teacher's 100 ms; unpadded 8 of 50. Unpadded for padded: 2.5 times, the
    teacher 2 times."""
    results = [
        scored(),
        timed(ms=100.0),
        timed(ms=50.0, lengths="unpadded"),
        scored("s", 78.0, size_bytes=20_900_000, same_answers=0.968, **INT8),
        timed("s", 20.0, size_bytes=20_900_000, **INT8),
        timed("s", 8.0, "unpadded", size_bytes=20_900_000, **INT8),
    ]
    teacher, student = lines(results)
    assert student == {
        "model": "s",
        "runtime": "LiteRT",
        "precision": "int8",
        "params": "23.5M",
        "non-emb.": "11.6M",
        "MB": "20.9",
        "EM": "70.00",
        "F1": "78.00",
        "retained": "97.5%",
        "agreement": "96.8%",
        "ms padded": "20.0",
        "x padded": "5.00x",
        "ms unpadded": "8.0",
        "x unpadded": "6.25x",
    }
    assert (teacher["x padded"], teacher["x unpadded"], teacher["agreement"]) == ("1.00x", "1.00x", UNKNOWN)
    assert (
        "unpadded instead of padded to 384: 2.00x for teacher, 2.00x to 2.50x over all models"
        in footnotes(results)
    )
    assert [line["gain"] for line in lines(results, "padding")] == ["2.00x", "2.50x"]
    (latency,) = [
        line for line in lines(results, "latency") if line["model"] == "s" and line["padded to"] == "384"
    ]
    assert (latency["x"], latency["p50 ms"], latency["mean ms"]) == ("5.00x", "18.0", "20.0")


def test_the_share_of_the_peak_is_the_rate_of_the_int8_products_over_it():
    """8 million weights, 500 tokens: 8 G operations in 18 ms are 444 G a second, 74 % of 600."""
    int8 = INT8 | {"params_without_embeddings": 8_000_000, "int8_peak_gops": 600.0}
    results = [
        timed(int8_peak_gops=600.0),
        timed("s", 20.0, 500, **int8),
        timed("s", 20.0, "unpadded", **int8),
    ]
    (line,) = lines(results, "peak")
    assert (line["model"], line["tokens"], line["ms"]) == ("s", "500", "18.0")
    assert (line["Gop/s"], line["peak Gop/s"], line["share"]) == (
        "444",
        "600",
        "74%",
    )
    assert view_tables(collect([timed("s", 20.0, 500, **INT8)]), "peak") == []


def test_threads_and_batches_are_divided_by_their_like_too():
    results = [
        timed(ms=40.0, threads=2),
        timed("s", 10.0, threads=2),
        timed("s", 10.0),
        scored(),
        scored("s", 78.0),
    ]
    results += [batched(windows_per_s=50.0, round_ms=(20.0,) * 8), batched("s", 200.0, round_ms=(5.0,) * 8)]
    found = {(line["model"], line["threads"], line["batch"]): line["x"] for line in lines(results, "latency")}
    assert found["s", "2", "1"] == "4.00x"
    assert found["s", "1", "1"] == UNKNOWN  # the teacher was not timed so
    assert found["s", "1", "32"] == "4.00x (4.00–4.00)"
    assert [line["windows/s"] for line in lines(results)] == ["50", "200"]
    assert "windows/s: batches of 32 windows, unpadded, threads: 1" in footnotes(results)


def test_times_of_another_run_are_marked_and_their_ratio_is_of_their_own_run():
    old = "2024-12-31T00:00:00Z"
    results = [
        timed(ms=120.0, date=old),
        timed("s", 30.0, date=old),
        scored(),
        scored("s", 78.0),
        timed(ms=100.0),
    ]
    teacher, student = lines(results)
    assert (teacher["ms padded"], student["ms padded"], student["x padded"]) == ("100.0", "30.0‡", "4.00x")
    assert (
        "‡ from another run than the times of teacher above; in that run teacher took 120.0 ms padded to 384"
        in footnotes(results)
    )
    alone = [scored(), timed(ms=100.0), timed("s", 20.0, date=old)]
    assert [line["x padded"] for line in lines(alone)] == ["1.00x", UNKNOWN]


def test_newer_results_replace_older_and_a_changed_model_starts_afresh():
    results = [timed(), timed("s", 50.0), timed("s", 40.0)]
    assert lines(results)[1]["ms padded"] == "40.0"
    changed = lines([*results, scored("s", 10.0, bundle_sha256="another")])
    assert (changed[1]["F1"], changed[1]["ms padded"]) == ("10.00", UNKNOWN)
    assert len(lines([*results, scored("s", 10.0, runtime=Runtime("torch", "3"))])) == 2


def test_without_a_baseline_nothing_is_retained_and_the_table_says_so():
    results = [scored(**NO_BASELINE), timed(ms=9.0)]
    assert lines(results)[0]["retained"] == UNKNOWN
    assert "no baseline" in footnotes(results)
    other = [scored(), scored("s", 78.0, baseline="t", baseline_sha256="sha of t"), scored("u", 78.0)]
    assert {line["model"]: line["retained"] for line in lines(other)} == {
        "teacher": "100.0%",
        "s": UNKNOWN,
        "u": "97.5%",
    }
    assert "– where compared with another model" in footnotes(other)


def test_a_failed_model_is_listed_with_its_error_and_without_older_figures():
    results = [scored(), scored("s", 78.0), timed("s", 1.0), failure("s")]
    assert [(line["model"], line["F1"]) for line in lines(results)] == [("teacher", "80.00"), ("s", UNKNOWN)]
    assert "s failed: cannot load it" in footnotes(results)
    assert lines([*results, scored("s", 78.0)])[1]["F1"] == "78.00"


def test_agreement_with_the_baseline_for_want_of_the_parents_answers_is_not_the_parents():
    made = {"same_answers": 0.672, **INT8, "parent_sha256": "sha of pruned"}
    results = [
        scored(),
        scored("a", same_answers_as="teacher", **made),
        scored("b", same_answers_as="pruned", **made),
    ]
    results.append(scored("c", same_answers_as="teacher", **(made | {"parent_sha256": "sha of teacher"})))
    assert {line["model"]: line["agreement"] for line in lines(results)} == {
        "teacher": UNKNOWN,
        "a": UNKNOWN,
        "b": "67.2%",
        "c": "67.2%",
    }
    assert "(– where the parent's were not kept)" in footnotes(results)
    assert {line["model"]: line["with"] for line in lines(results, "accuracy")}["a"] == "teacher"


def test_data_sets_and_machines_are_not_mixed():
    groups = collect([scored(), scored(data=Data("other.json", "other")), scored(machine=Machine("6502", 1))])
    assert [(group.data, group.machine) for group in groups] == [
        ("dev.json", "Z80, 1 core"),
        ("other.json", "Z80, 1 core"),
        ("dev.json", "6502, 1 core"),
    ]


def test_a_model_is_one_line_under_its_newest_name_and_another_of_its_old_name_is_another():
    mine = {"bundle_sha256": "mine", "precision": "int8"}
    other = {"bundle_sha256": "other", "precision": "fp16"}
    alone = [scored(), scored("student", 78.0, **mine)]
    beside = [timed(), timed("models/student", 20.0, **mine), scored("runs/student", 76.0, **other)]
    shown = [(line["model"], line["F1"], line["ms padded"]) for line in lines(alone + beside)]
    assert shown == [
        ("teacher", "80.00", "100.0"),
        ("models/student", "78.00", "20.0"),
        ("runs/student", "76.00", UNKNOWN),
    ]
    again = [
        (line["model"], line["F1"], line["ms padded"])
        for line in lines([*alone, *beside, timed("student", 19.0, **mine)])
    ]
    assert again == [
        ("teacher", "80.00", "100.0"),
        ("student", "78.00", "19.0"),
        ("runs/student", "76.00", UNKNOWN),
    ]
    assert [line["model"] for line in lines([*alone, scored("student", 76.0, **other)])] == [
        "teacher",
        "student",
    ]
    twice = [
        *alone,
        scored("student", 76.0, **other),
        scored("old/student", 78.0, **mine),
        scored("old/student", 77.0, **other),
    ]
    assert [(line["model"], line["F1"]) for line in lines(twice)] == [
        ("teacher", "80.00"),
        ("old/student", "77.00"),
    ]


def test_models_stand_in_families_whatever_was_measured_last():
    made = {"stage": "export", "parent_sha256": "sha of student"}
    results = [
        scored("pruned", stage="prune", parent_sha256="sha of student"),
        scored("pruned-int8", stage="export", parent_sha256="sha of pruned"),
        scored("student-onnx-int8", precision="int8", runtime=ORT, **made),
        scored("student-toolchain", parent_sha256="sha of student", stage="peer", toolchain="torch-compile"),
        scored("teacher-onnx", stage="export", parent_sha256="sha of teacher", runtime=ORT),
        scored("student-onnx-fp32", runtime=ORT, **made),
        scored("student-tflite-int8", precision="int8", runtime=LITERT, **made),
        scored(),
        scored("student", stage="student", parent_sha256="sha of teacher"),
    ]
    student = [
        "student",
        "student-tflite-int8",
        "student-onnx-fp32",
        "student-onnx-int8",
        "student-toolchain",
    ]
    (table,) = view_tables(collect(results, newest_order(results)), "summary")
    names = [line["model"] for line in records(table)]
    assert names == ["teacher", "teacher-onnx", *student, "pruned", "pruned-int8"]


def test_intervals_stand_beside_what_they_are_of_and_say_what_was_drawn():
    known = {
        "f1_low": 77.04,
        "f1_high": 78.96,
        "f1_retained_low": 0.968,
        "f1_retained_high": 0.981,
        "null_threshold": -1.25,
    }
    results = [scored(), scored("s", 78.0, resampled="articles", **known)]
    assert [line["retained"] for line in lines(results)] == ["100.0%", "97.5% (96.8–98.1)"]
    student = lines(results, "accuracy")[1]
    assert (student["F1"], student["no-answer threshold"]) == ("78.00 (77.04–78.96)", "-1.25")
    assert (
        "intervals: 95%, bootstrap, paired with the baseline, of F1 and its ratio over articles"
        in footnotes(results, "accuracy")
    )
    assert "over questions" in footnotes(
        [scored(), scored("s", 78.0, resampled="questions", **known)], "accuracy"
    )


def test_optional_columns_appear_where_results_have_them():
    assert "embeddings" not in lines([scored()])[0]
    assert [line["embeddings"] for line in lines([scored(), scored("s", 78.0, embeddings="pq3")])] == [
        UNKNOWN,
        "pq3",
    ]
    squad2 = scored(HasAns_exact=60.0, HasAns_f1=66.0, NoAns_exact=81.5)
    assert lines([squad2], "accuracy")[0]["NoAns"] == "81.50"
    assert "NoAns" not in lines([scored()], "accuracy")[0]
    assert {"batch", "windows/s", "first ms", "timed s"}.isdisjoint(lines([scored(), timed()], "latency")[0])


def test_quick_figures_are_marked_and_named():
    results = [scored(), timed(ms=100.0), scored("s", 78.0), timed("s", 20.0, quick=True)]
    teacher, student = lines(results)
    assert (teacher["ms padded"], student["ms padded"], student["x padded"], student["F1"]) == (
        "100.0",
        "20.0†",
        "5.00x†",
        "78.00",
    )
    for view in ("summary", "latency"):
        assert "† quick: fewer than 1,024 windows or less than 60 s were timed: s" in footnotes(results, view)
    assert "were timed: all models" in footnotes([timed(quick=True)])
    assert "quick" not in footnotes([timed()])


def test_a_machine_that_was_not_idle_is_mentioned():
    for load, said in ((1.0, False), (1.01, True)):
        found = footnotes([timed(load_average=load, machine=Machine("Z80", 2))])
        assert ("load average 1.0 on 2 cores" in found) == said
    own_load = timed(load_average=9.0, other_load=0.02, machine=Machine("Z80", 2))
    assert "load average" not in footnotes([own_load]), "of the minute before, in which accuracy was measured"
    assert "1.8 cores busy" in footnotes([timed(other_load=1.84)], "latency")
    assert "busy" not in footnotes([timed(other_load=0.02)], "latency")
    one = {"governor": "performance", "load_average": 0.1}
    found = footnotes(
        [timed(affinity=(1,), **one), timed(threads=2, affinity=(0, 1), **(one | {"load_average": 0.25}))],
        "latency",
    )
    for wanted in (
        "governor: performance",
        "pinned to cores: 1 (threads: 1); 0, 1 (threads: 2)",
        "start: 0.10 to 0.25",
    ):
        assert wanted in found


# Text, Markdown, the command


def test_text_is_aligned_and_markdown_escapes():
    results = [scored(n, same_answers=1.0) for n in ("teacher", "student-tflite-int8-weights")]
    for view in ("summary", "accuracy"):
        shown = as_text(view_tables(collect(results), view)[0]).splitlines()
        assert len(shown[1]) == len(shown[2]) >= len(shown[3])
    text = as_markdown(text_table("<b>dev</b>", ("model", "x"), [("<img src=x>|", "1")], ("A & B",)))
    assert "<b>" not in text
    assert "| &lt;img src=x&gt;\\| | 1 |" in text
    assert "| :-- | --: |" in text
    assert "<sub>A &amp; B</sub><br>" in text


def test_markers_are_replaced_and_nothing_else(tmp_path):
    path = tmp_path / "README.md"
    text = "# Title\n<!-- results:begin dev -->\nold\n<!-- results:end dev -->\ntail\n"
    path.write_text(text)
    for _ in range(2):
        write_marked(path, "dev", "\nnew\n")
        assert path.read_text() == text.replace("old", "new")


@pytest.mark.parametrize(
    "text",
    [
        "nothing",
        "<!-- results:begin dev -->",
        "<!-- results:end dev --><!-- results:begin dev -->",
        "<!-- results:begin dev --><!-- results:begin dev --><!-- results:end dev -->",
    ],
)
def test_missing_or_wrong_markers_are_refused(text, tmp_path):
    path = tmp_path / "README.md"
    path.write_text(text)
    with pytest.raises(
        OptionError,
        match=r"README\.md: lacks the markers of the table; add one line <!-- results:begin dev -->",
    ):
        check_markers(path, "dev")


def test_the_command_writes_prints_draws_and_refuses(tmp_path, capsys):
    rows = tmp_path / "rows.jsonl"
    readme = tmp_path / "README.md"
    svg = tmp_path / "family.svg"
    for one in (*run(), *toolchain("openvino-int8", 9, 9)):
        append_result(rows, one)
    readme.write_text("a\n<!-- results:begin dev -->\n<!-- results:end dev -->\nb\n")
    main(TableConfig(rows, write=readme, name="dev"))
    assert "| teacher | PyTorch | fp32 |" in readme.read_text()
    assert readme.read_text().startswith("a\n")
    assert capsys.readouterr().out == ""
    for view, shown in (("family", False), ("summary", True)):
        assert ("student-openvino-int8" in main(TableConfig(rows, view=view, plot=svg))) == shown
        assert ("student-openvino-int8" in svg.read_text()) == shown
    with pytest.raises(OptionError, match=r"no results for the view summary of other\.json"):
        main(TableConfig(rows, data="other.json"))
    with pytest.raises(OptionError, match="--view"):
        TableConfig(rows, view="speed")
    phone = tmp_path / "phone.jsonl"
    append_result(phone, on_phone())
    with pytest.raises(OptionError, match="no results for the view summary; use --view latency"):
        main(TableConfig(phone))
    with pytest.raises(OptionError, match="the results have no latency"):
        main(TableConfig(phone, view="latency", plot=svg))
    assert DATA.name in main(TableConfig(rows, view="latency"))
