"""Tables out of hand-made results: what is compared with what, newest first, unknown as a dash.

tests/test_docs_results.py holds the pages against the committed rows: columns, footnotes, markers, drawings.
"""

from operator import itemgetter
from unicodedata import category

import msgspec
import pytest
from benchmark_results import (
    BASELINE,
    DATA,
    EVEN,
    INT8,
    LITERT,
    NO_BASELINE,
    ORT,
    TORCH,
    UNEVEN,
    batched,
    facts,
    failure,
    footnotes,
    lines,
    on_phone,
    on_target,
    records,
    run,
    scored,
    shown,
    timed,
    toolchain,
)

from benchmarks.results.files import append_result
from benchmarks.results.rows import Data, Latency, Machine, Runtime, TrainingSpeed
from benchmarks.show.collecting import collect, newest_order
from benchmarks.show.columns import EVERYDAY_F1
from benchmarks.show.groups import EVERYDAY_DATA
from benchmarks.show.headline import headline
from benchmarks.show.report import Page
from benchmarks.show.tables import (
    UNKNOWN,
    Column,
    as_markdown,
    as_text,
    check_markers,
    make_table,
)
from benchmarks.show.views import view_tables
from benchmarks.table import TableOptions, print_tables
from qa.base.errors import OptionError


def test_like_is_divided_by_like():
    """Student padded: 20 of the teacher's 100 ms; unpadded 8 of 50."""
    small = {"size_bytes": 20_900_000, **INT8}
    results = [scored(), timed(ms=100.0), timed(ms=50.0, lengths="unpadded")]
    results += [
        scored("s", 78.0, same_answers=0.968, same_answers_as="teacher", **small),
        timed("s", 20.0, **small),
    ]
    results += [timed("s", 8.0, "unpadded", **small)]
    teacher, student = lines(results)
    assert student == {
        **{"model": "s", "runtime": "LiteRT", "precision": "int8"},
        **{"params": "23.5M", "non-emb.": "11.6M", "MB": "20.9"},
        **{
            "EM": "70.00",
            "F1": "78.00",
            "EM retained": "100.0%",
            "F1 retained": "97.5%",
            "agreement": "96.8%",
        },
        **{"ms padded": "20.0", "x padded": "5.00x", "ms unpadded": "8.0", "x unpadded": "6.25x"},
    }
    assert (teacher["x padded"], teacher["x unpadded"], teacher["agreement"]) == ("1.00x", "1.00x", UNKNOWN)
    latency = shown(results, "model", "padded to", "x", "p50 ms", "mean ms", view="latency")
    assert ("s", "384", "5.00x", "18.0", "20.0") in latency


def test_threads_and_batches_are_divided_by_their_like_too():
    results = [timed(ms=40.0, threads=2), timed("s", 10.0, threads=2), timed("s", 10.0)]
    results += [scored(), scored("s", 78.0)]
    results += [batched(windows_per_s=50.0, round_ms=(20.0,) * 8), batched("s", 200.0, round_ms=(5.0,) * 8)]
    times = shown(results, "model", "threads", "batch", "x", view="latency")
    assert ("s", "2", "1", "4.00x") in times
    assert ("s", "1", "1", UNKNOWN) in times, "the teacher was not timed so"
    assert ("s", "1", "32", "4.00x (4.00–4.00)") in times
    assert ("s", "32", "200.0") in shown(results, "model", "batch", "windows/s", view="latency")


def test_times_of_another_run_are_marked_and_their_ratio_is_of_their_own_run():
    old = {"date": "2024-12-31T00:00:00Z"}
    results = [timed(ms=120.0, **old), timed("s", 30.0, **old), scored(), scored("s", 78.0), timed(ms=100.0)]
    assert shown(results, "ms padded", "x padded") == [("100.0", "1.00x"), ("30.0‡", "4.00x")]
    took = (
        "‡ from another run than the times of teacher above; in that run teacher took 120.0 ms padded to 384"
    )
    assert took in footnotes(results)
    assert shown([scored(), timed(ms=100.0), timed("s", 20.0, **old)], "x padded") == ["1.00x", UNKNOWN]


def test_newer_results_replace_older_and_a_changed_model_starts_afresh():
    results = [timed(), timed("s", 50.0), timed("s", 40.0)]
    assert shown(results, "ms padded")[1] == "40.0"
    changed = scored("s", 10.0, bundle_sha256="another")
    assert shown([*results, changed], "F1", "ms padded")[1] == ("10.00", UNKNOWN)
    assert len(lines([*results, scored("s", 10.0, runtime=Runtime("torch", "3"))])) == 2


def test_without_a_baseline_nothing_is_retained_and_the_table_says_so():
    results = [scored(**NO_BASELINE), timed(ms=9.0)]
    assert "EM retained" not in lines(results)[0]
    assert "F1 retained" not in lines(results)[0]
    assert "no baseline" in footnotes(results)
    other = [scored(), scored("s", 78.0, baseline="t", baseline_sha256="sha of t"), scored("u", 78.0)]
    assert shown(other, "model", "F1 retained") == [("teacher", "100.0%"), ("s", UNKNOWN), ("u", "97.5%")]
    assert shown(other, "EM retained") == ["100.0%", UNKNOWN, "100.0%"]
    assert "– where compared with another model" in footnotes(other)
    without = [scored(f1=0.0, f1_retained=None), scored("s", 78.0, f1_retained=None)]
    assert "nothing is retained: teacher was not scored, or its F1 is 0" in footnotes(without)


def test_a_failed_model_is_listed_with_its_error_and_without_older_figures():
    results = [scored(), scored("s", 78.0), timed("s", 1.0), failure("s")]
    assert shown(results, "model", "F1") == [("teacher", "80.00"), ("s", UNKNOWN)]
    assert "s failed: cannot load it" in footnotes(results)
    assert shown([*results, scored("s", 78.0)], "F1")[1] == "78.00"


TIMES = [timed("s", 20.0), timed("s", 15.0, threads=2)]


@pytest.mark.parametrize(
    ("later", "ms", "stands"),
    [
        ([], UNKNOWN, True),
        ([TIMES[1]], UNKNOWN, True),
        ([scored("s", 78.0)], UNKNOWN, True),
        ([TIMES[0]], "20.0", False),
    ],
)
def test_a_model_that_fails_while_it_is_timed_keeps_its_scores_until_it_is_timed_so(later, ms, stands):
    failed = failure("s", "out of memory", runtime=TORCH, threads=1)
    results = [scored(), timed(), scored("s", 78.0), failed, *later]
    assert shown(results, "F1", "F1 retained", "ms padded")[1] == ("78.00", "97.5%", ms)
    groups = collect(results)
    page = Page(groups).render()
    for text in (footnotes(results), footnotes(results, "accuracy"), page):
        assert ("s (threads 1) failed: out of memory" in text) is stands
    assert ('<td data-heading="F1" data-v="78.0">78.00</td>' in page, headline(groups[0])[0][:2] == "s ") == (
        True,
        not stands,
    )


def test_agreement_with_the_baseline_for_want_of_the_parents_answers_is_not_the_parents():
    made = {"same_answers": 0.672, **INT8, "parent_sha256": "sha of pruned"}
    results = [scored(), *(scored(m, same_answers_as=of, **made) for m, of in (("a", "teacher"), ("b", "p")))]
    results.append(scored("c", same_answers_as="teacher", **(made | {"parent_sha256": "sha of teacher"})))
    agreement = dict(shown(results, "model", "agreement"))
    assert agreement == {"teacher": UNKNOWN, "a": UNKNOWN, "b": "67.2%", "c": "67.2%"}
    assert "(– where the parent's were not kept)" in footnotes(results)
    assert dict(shown(results, "model", "with", view="accuracy"))["a"] == "teacher"


def test_equal_answers_of_a_target_are_no_agreement_with_the_parent():
    results = [scored(), scored("s", 78.0, same_answers=0.9, same_answers_as="teacher")]
    results += [on_target("s", same_answers=0.996, **BASELINE)]
    here, there = collect(results)
    assert [entry.agreement for entry in (here.entries[1], there.entries[0])] == [0.9, None]
    assert there.entries[0].accuracy.same_answers == 0.996


def test_footnotes_explain_what_is_shown_only():
    alone = scored(f1_low=79.0, f1_high=81.0, resampled="articles")
    assert "intervals" not in footnotes([alone])
    assert "what is retained" not in footnotes([alone], "accuracy")
    assert "intervals: 95%, of scores by bootstrap over articles" in footnotes([alone], "accuracy")
    without = footnotes([on_target("s", **NO_BASELINE)])
    assert "compare the baseline on this machine first" in without
    assert "--baseline" not in without


def test_names_of_strangers_move_no_cursor():
    odd = "dev\x1b[2J\x9b31m\u202e.json"
    tables = view_tables(collect([scored(odd, data=Data(odd, "d"), train_overlap=0.5)]), "summary")
    for text in (*map(as_text, tables), *map(as_markdown, tables)):
        assert "dev[2J31m.json" in text
        assert not {category(character) for character in text if character != "\n"} & {"Cc", "Cf"}


def test_times_of_other_settings_alone_are_named():
    (table,) = view_tables(collect([scored(), timed(threads=2)]), "brief")
    assert "times: of other threads or batches" in " ".join(table.footnotes)
    (table,) = view_tables(collect([scored(), timed()]), "summary")
    assert "times: of other threads" not in " ".join(table.footnotes)


def test_data_sets_and_machines_are_not_mixed():
    groups = collect([scored(), scored(data=Data("other.json", "other")), scored(machine=Machine("6502", 1))])
    places = [("dev.json", "Z80, 1 core"), ("other.json", "Z80, 1 core"), ("dev.json", "6502, 1 core")]
    assert [(group.data, group.machine) for group in groups] == places


MINE = {"bundle_sha256": "mine", "precision": "int8"}
OTHER = {"bundle_sha256": "other", "precision": "fp16"}
BESIDE = [timed(), timed("models/student", 20.0, **MINE), scored("runs/student", 76.0, **OTHER)]
RENAMED = [timed(), scored("student", 76.0, **OTHER)]


@pytest.mark.parametrize(
    ("later", "wanted"),
    [
        (BESIDE, [("models/student", "78.00", "20.0"), ("runs/student", "76.00", UNKNOWN)]),
        (
            [*BESIDE, timed("student", 19.0, **MINE)],
            [("student", "78.00", "19.0"), ("runs/student", "76.00", UNKNOWN)],
        ),
        (RENAMED, [("student", "76.00", UNKNOWN)]),
        (
            [*RENAMED, scored("old/student", 78.0, **MINE), scored("old/student", 77.0, **OTHER)],
            [("old/student", "77.00", UNKNOWN)],
        ),
    ],
)
def test_a_model_is_one_line_under_its_newest_name_and_another_of_its_old_name_is_another(later, wanted):
    results = [scored(), scored("student", 78.0, **MINE), *later]
    cells = shown(results, "model", "F1", "ms padded")
    assert cells == [("teacher", "80.00", "100.0"), *wanted]


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
    student = ["student", *(f"student-{of}" for of in ("tflite-int8", "onnx-fp32", "onnx-int8", "toolchain"))]
    (table,) = view_tables(collect(results, newest_order(results)), "summary")
    names = [line["model"] for line in records(table)]
    assert names == ["teacher", "teacher-onnx", *student, "pruned", "pruned-int8"]


def test_intervals_stand_beside_what_they_are_of_and_say_what_was_drawn():
    known = {"f1_low": 77.04, "f1_high": 78.96, "f1_retained_low": 0.968, "f1_retained_high": 0.981}
    results = [scored(), scored("s", 78.0, resampled="articles", null_threshold=-1.25, **known)]
    assert shown(results, "F1 retained") == ["100.0%", "97.5% (96.8–98.1)"]
    student = shown(results, "F1", "no-answer threshold", view="accuracy")[1]
    assert student == ("78.00 (77.04–78.96)", "-1.25")
    drawn = "of scores and of what is retained by bootstrap over articles"
    assert drawn in footnotes(results, "accuracy")
    exact = {"exact_low": 68.5, "exact_high": 71.5, "exact_retained_low": 0.95, "exact_retained_high": 1.02}
    results[1] = msgspec.structs.replace(results[1], **exact)
    assert shown(results, "EM retained")[1].endswith("% (95.0–102.0)")
    of_questions = [scored(), scored("s", 78.0, resampled="questions", **known)]
    assert "over questions" in footnotes(of_questions, "accuracy")


def test_quick_figures_are_marked_and_named():
    results = [scored(), timed(ms=100.0), scored("s", 78.0), timed("s", 20.0, quick=True)]
    teacher, student = shown(results, "ms padded", "x padded", "F1")
    assert (teacher[0], student) == ("100.0", ("20.0†", "5.00x†", "78.00"))
    for view in ("summary", "latency"):
        assert "† quick: fewer than 1,024 windows or less than 60 s were timed: s" in footnotes(results, view)
    assert "were timed: all models" in footnotes([timed(quick=True)])
    assert "quick" not in footnotes([timed()])
    assert shown([batched(quick=True)], "x", "windows/s", view="latency") == [(UNKNOWN, "100.0†")]


def test_a_machine_that_was_not_idle_is_mentioned():
    two_cores = Machine("Z80", 2)
    for load, said in ((1.0, False), (1.01, True)):
        found = footnotes([timed(load_average=load, machine=two_cores)])
        assert ("load average 1.0 on 2 cores" in found) == said
    own_load = timed(load_average=9.0, other_load=0.02, machine=two_cores)
    assert "load average" not in footnotes([own_load]), "of the minute before, in which accuracy was measured"
    assert "1.8 cores busy" in footnotes([timed(other_load=1.84)], "latency")
    assert "busy" not in footnotes([timed(other_load=0.02)], "latency")
    one = timed(affinity=(1,), governor="performance", load_average=0.1)
    two = timed(threads=2, affinity=(0, 1), governor="performance", load_average=0.25)
    found = footnotes([one, two], "latency")
    cores = "pinned to cores: 1 (threads: 1); 0, 1 (threads: 2)"
    assert all(text in found for text in ("governor: performance", cores, "start: 0.10 to 0.25"))


def test_a_speed_up_of_windows_that_were_cut_differently_says_so():
    """Eight times as fast a window, and eight times as many windows."""
    results = [scored(n_windows=50), timed(ms=400.0), timed("s", 50.0)]
    found = footnotes([*results, scored("s", n_windows=400)])
    assert "x is of a window, not of a question, beside 50 windows: 400 of s" in found
    assert "not of a question" not in footnotes([*results, scored("s", n_windows=50)])


def test_files_of_one_name_are_told_apart_by_their_hashes():
    files = [Data("mine.json", letter * 64) for letter in "ab"]
    results = [scored(data=file, f1=f1) for file, f1 in zip(files, (40.0, 70.0), strict=True)]
    assert [group.data for group in collect(results)] == ["mine.json (aaaaaaaa)", "mine.json (bbbbbbbb)"]
    assert [group.data for group in collect(results[:1])] == ["mine.json"]
    on_two = [on_target("s", data=file) for file in files]
    assert [len(table.cells) for table in view_tables(collect(on_two), "arm")] == [1, 1]


# Text, Markdown, the command


def test_the_brief_view_is_100_characters_wide_and_loses_nothing_of_a_long_name():
    name = "a-student-with-a-name-of-forty-characters"
    known = {"f1_retained_low": 0.968, "f1_retained_high": 1.001, "resampled": "questions"}
    model = {"precision": "int8-weights", "machine": Machine("Z80", 2, ("avx512_vnni",) * 20)}
    results = [scored(**model), timed(lengths="unpadded", rounds=EVEN, **model)]
    results += [scored(name, 78.0, **known, **model), timed(name, 2.0, "unpadded", rounds=UNEVEN, **model)]
    (table,) = view_tables(collect(results), "brief")
    teacher, student = records(table)
    assert (teacher["x"], student["ms"], student["x"]) == ("1.0x", "2.0", "50.0x")
    assert student["F1 retained"] == "97.5% (96.8–100.1)"
    text = as_text(table).splitlines()
    assert max(map(len, text)) == 100
    at = next(number for number, line in enumerate(text) if line.startswith(name[:20]))
    assert text[at].split()[0] + text[at + 1] == name
    assert " ".join(" ".join(text[at + 2 :]).split()) == " ".join(table.footnotes)
    everyday = Data(EVERYDAY_DATA, "everyday")
    results += [scored(name, 31.5, n=536, data=everyday, **model)]
    results += [scored(data=everyday, bundle_sha256="another file", **model)]
    elsewhere = ({"target": "cuda"}, {"machine": Machine("Z80", 1)})
    results[-2:-2] = [scored(data=everyday, **(model | place)) for place in elsewhere]
    assert shown(results, "model", "F1", EVERYDAY_F1, view="brief") == [
        ("teacher", "80.00", UNKNOWN),
        (name, "78.00", "31.50"),
    ]
    assert f"{EVERYDAY_F1}: on {EVERYDAY_DATA}, 536 questions; " in footnotes(results, "brief")
    another = msgspec.structs.replace(everyday, sha256="another version")
    results.append(scored(name, 50.0, data=another, date="2999-01-01T00:00:00Z", **model))
    assert shown(results, EVERYDAY_F1, view="brief") == [UNKNOWN, "50.00"], "of the newest scores"
    assert all(EVERYDAY_F1 not in line for line in lines(results[-2:], "brief"))
    padded = [r for r in results if not isinstance(r, Latency)] + [timed(ms=7.0, **model)]
    assert shown(padded, "ms", view="brief") == ["7.0", UNKNOWN]


def test_speeds_of_training_make_no_group():
    case = {"case": "distil", "layers": 3, "batch": 16, "steps": 12, "threads": 1}
    training = facts("teacher", data=Data("train.json", "train")) | case
    speed = TrainingSpeed(**training, windows_per_s=(10.0,), peak_memory_mb=5.0)
    assert collect([speed]) == []
    assert [group.data for group in collect([scored(), speed])] == ["dev.json"]


def test_text_is_aligned_and_markdown_escapes():
    results = [scored(n, same_answers=1.0) for n in ("teacher", "student-tflite-int8-weights")]
    for view in ("summary", "accuracy"):
        text = as_text(view_tables(collect(results), view)[0]).splitlines()
        assert len(text[1]) == len(text[2]) >= len(text[3])
    columns = [Column("model", itemgetter(0)), Column("x", itemgetter(1), "")]
    text = as_markdown(make_table("<b>dev</b>", columns, [("<img src=x>|", "1")], ("A & B",)))
    assert "<b>" not in text
    for part in ("| &lt;img src=x&gt;\\| | 1 |", "| :-- | --: |", "<sub>A &amp; B</sub><br>"):
        assert part in text


BEGIN = "<!-- results:begin dev -->"
END = "<!-- results:end dev -->"


@pytest.mark.parametrize("text", ["nothing", BEGIN, END + BEGIN, BEGIN + BEGIN + END, BEGIN + END + END])
def test_missing_or_wrong_markers_are_refused(text, tmp_path):
    path = tmp_path / "README.md"
    path.write_text(text)
    with pytest.raises(
        OptionError, match=rf"README\.md: lacks the markers of the table; add one line {BEGIN}"
    ):
        check_markers(path, "dev")
    with pytest.raises(OptionError, match="no such file; give a Markdown file with the markers of dev"):
        check_markers(tmp_path / "README", "dev")


def test_the_command_prints_draws_and_refuses(tmp_path):
    rows, phone, svg = tmp_path / "rows.jsonl", tmp_path / "phone.jsonl", tmp_path / "family.svg"
    untimed = scored(data=Data("untimed.json", "untimed"))
    for one in (untimed, *run(), *toolchain("openvino-int8", 9, 9)):
        append_result(rows, one)
    append_result(phone, on_phone())
    for models, with_toolchains in ((("teacher", "student"), False), (None, True)):
        text = print_tables(TableOptions((rows,), view="summary", models=models, plot=svg))
        assert ["student-openvino-int8" in found for found in (text, svg.read_text())] == [
            with_toolchains
        ] * 2
    for file, options, message in (
        (rows, {"data": "other.json"}, r"brief of other\.json; it has those of untimed\.json, dev\.json"),
        (rows, {"view": "speed"}, "--view"),
        (phone, {}, "no results for the view brief; use --view latency"),
        (phone, {"view": "latency", "plot": svg}, "the results have no latency"),
        (rows, {"models": ("teacher",), "steps": svg}, "--steps"),
    ):
        with pytest.raises(OptionError, match=message):
            print_tables(TableOptions((file,), **options))
    assert DATA.name in print_tables(TableOptions((rows,), view="latency"))
