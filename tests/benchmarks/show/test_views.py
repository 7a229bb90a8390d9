"""Tables of other targets, of phones and of toolchains."""

from benchmark_results import (
    BASELINE,
    EVEN,
    LITERT,
    ORT,
    PIXEL,
    UNEVEN,
    asked_on_phone,
    export,
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

from benchmarks.results.rows import Data, Machine, Runtime
from benchmarks.show.collecting import collect, newest_order
from benchmarks.show.phone_views import newest_on_phone
from benchmarks.show.report import Page
from benchmarks.show.tables import UNKNOWN
from benchmarks.show.views import view_tables

PI = {"target": "ssh:pi", "machine": Machine("Pi", 4)}


def test_a_target_is_compared_with_its_own_fp32_file():
    int8 = {"precision": "int8", "parent_sha256": "sha of fp32"}
    results = [on_target("fp32", 600_000_000), on_target("int8", 240_000_000, **int8)]
    headings = ("M instructions", "x fp32", "max diff", "same spans")
    wanted = [("600.0", "1.00x", "0.1", "99.5%"), ("240.0", "2.50x", "0.1", "99.5%")]
    assert shown(results, *headings, view="arm") == wanted
    other = [on_target("fp32", 600, n_windows=99), on_target("int8", 240, **int8)]
    other.append(on_target("ort", 9, runtime=ORT, **int8))
    assert shown(other, "x fp32", view="arm") == ["1.00x", UNKNOWN, UNKNOWN]
    on_pi = [on_target("fp32", **PI), on_target("int8", **int8, **PI)]
    own = {"runtime": LITERT, "stage": "export", "rounds": EVEN, **PI}
    on_pi.append(timed("fp32", 90.0, "unpadded", **own))
    on_pi.append(timed("int8", 30.0, "unpadded", **int8, **own))
    assert shown(on_pi, "ms", "x fp32", view="arm") == [("90.0", "1.00x"), ("30.0", "3.00x (3.00–3.00)")]
    (table,) = view_tables(collect([*on_pi, failure("bad", **PI)]), "arm")
    assert {"bad on ssh:pi failed: cannot load it", "ssh:pi: Pi, 4 cores"} < set(table.footnotes)
    other = on_target("fp32", **PI | {"machine": Machine("Pi 5", 4)})
    assert {*shown([*on_pi, other], "target", view="arm")} == {
        "ssh:pi (Pi, 4 cores)",
        "ssh:pi (Pi 5, 4 cores)",
    }
    hasty = [*on_pi, timed("int8", 20.0, "unpadded", quick=True, other_load=2.0, **int8, **own)]
    (table,) = view_tables(collect(hasty), "arm")
    assert any(note.startswith("† quick: ") for note in table.footnotes)
    assert any(note.startswith("ssh:pi: other processes kept 2.0 cores busy") for note in table.footnotes)
    lost = failure("int8", "connection lost", runtime=LITERT, threads=4, **int8, **PI)
    (table,) = view_tables(collect([*on_pi, lost]), "arm")
    assert [line["F1"] for line in records(table)] == ["80.00", "80.00"]
    assert "int8 on ssh:pi (threads 4) failed: connection lost" in table.footnotes


def test_a_target_shows_what_it_retains_and_how_far_it_is_from_the_least():
    """198 million instructions where the products need 95.32 million: 2.08 times as many."""
    shares = {"exact_retained": 0.9, "exact_retained_low": 0.85, "exact_retained_high": 0.95}
    shares |= {"f1_retained": 0.93, "f1_retained_low": 0.9, "f1_retained_high": 0.96, **BASELINE}
    shares |= {"same_answers": 0.99, "same_answers_low": 0.98, "same_answers_high": 1.0}
    own = shares | {"least_instructions_per_window": 95_320_000, "f1_low": 78.0, "f1_high": 82.0}
    results = [on_target("int8", 198_000_000, **own)]
    headings = ("F1", "EM retained", "F1 retained", "same answers", "x least")
    wanted = ("80.00 (78.00–82.00)", "90.0% (85.0–95.0)", "93.0% (90.0–96.0)", "99.0% (98.0–100.0)", "2.08")
    assert shown(results, *headings, view="arm") == [wanted]
    assert "intervals: 95%, bootstrap over articles and questions" in footnotes(
        [on_target("int8", resampled="articles"), on_target("other", resampled="questions")], "arm"
    )
    targets = [(line["target"], line["EM retained"]) for line in lines([scored("int8"), *results], "card")]
    assert targets == [("cpu", UNKNOWN), ("GPU", UNKNOWN), ("qemu:n1", wanted[1])]


def test_a_failure_before_the_target_named_its_machine_holds_until_the_model_succeeds_there():
    early = failure("int8", "no runtime", target="ssh:pi", machine=Machine("ssh:pi"))
    good = on_target("int8", **PI)
    on_other_data = on_target("int8", **PI, data=Data("other.json", "other"))
    cases = (([early], True), ([early, good], False), ([good, early], True), ([early, on_other_data], True))
    for results, stands in cases:
        groups = collect(results)
        assert (
            any("failed: no runtime" in note for t in view_tables(groups, "arm") for note in t.footnotes)
            is stands
        )
    assert [group.machine for group in collect([early, good])] == ["Pi, 4 cores"]


def test_the_card_has_a_line_for_each_target_and_shows_what_no_result_has_as_missing():
    """A pass: 1,200 windows of 50 ms are 60 s; of 4 ms 4.8 s. EM retained: 60 of the baseline's 70."""
    int8 = {"stage": "export", "parent_sha256": "sha of teacher"}
    results = [scored(), timed(ms=50.0, lengths="unpadded"), scored("s", 78.0, exact=60.0, **int8)]
    results.append(timed("s", 4.0, "unpadded", **int8))
    gpu = {"target": "cuda", "machine": Machine("H100")}
    half = {"precision": "fp16", "parent_sha256": "sha of teacher", "size_bytes": 47_000_000}
    results += [scored("teacher-fp16", **gpu, **half), timed("teacher-fp16", 2.0, "unpadded", **gpu, **half)]
    results.append(on_target("s", **int8, data=results[0].data))
    headings = ("model", "target", "MB", "pass s", "EM", "EM retained", "F1 retained")
    assert shown(results, *headings, view="card") == [
        ("teacher", "cpu", "94.0", "60", "70.00", "100.0%", "100.0%"),
        ("teacher-fp16", "cuda", "47.0", "2", "70.00", UNKNOWN, "100.0%"),
        ("teacher", "ARM", "94.0", *[UNKNOWN] * 4),
        ("s", "cpu", "94.0", "5", "60.00", "85.7%", "97.5%"),
        ("s", "GPU", "94.0", *[UNKNOWN] * 4),
        ("s", "qemu:n1", "94.0", UNKNOWN, "70.00", UNKNOWN, UNKNOWN),
    ]
    (table,) = view_tables(collect(results), "card")
    assert {
        "cuda: H100; x and retained over teacher",
        "– in all figures: not measured on that target",
    } < set(table.footnotes)
    assert view_tables(collect([scored(**gpu)]), "card") == []


def test_results_of_a_phone_do_not_change_the_tables_of_the_cpu():
    cpu = [scored(), timed(), timed("int8", 20.0, "unpadded"), scored("student", 78.0)]
    mixed = [on_phone(), cpu[0], on_phone("teacher", lengths=128), *cpu[1:], on_phone()]
    for view in ("summary", "latency", "accuracy"):
        both = [view_tables(collect(results, newest_order(results)), view)[0] for results in (mixed, cpu)]
        with_phone, without = ((records(table), table.footnotes) for table in both)
        assert with_phone == without
    titles = [table.title for table in view_tables(collect(mixed), "latency")]
    assert titles == ["dev.json, 1,000 questions", str(PIXEL)]


def test_the_newest_result_of_a_phones_setting_counts_and_runtimes_stand_side_by_side():
    slow = on_phone(ms=90.0, runtime=Runtime("LiteRT", variant="+ built-in kernels"))
    newer = [on_phone(ms=17.0), slow, on_phone(ms=9.0, threads=4), on_phone(ms=4.0, lengths=128)]
    headings = ("runtime", "lengths", "threads", "p50 ms")
    assert shown([on_phone(), *newer], *headings, view="latency") == [
        ("LiteRT + XNNPACK", "128", "1", "4.0"),
        ("LiteRT + XNNPACK", "384", "1", "17.0"),
        ("LiteRT + built-in kernels", "384", "1", "90.0"),
        ("LiteRT + XNNPACK", "384", "4", "9.0"),
    ]
    again = [on_phone(), on_phone(ms=5.0, lengths=128, bundle_sha256="another")]
    assert shown(again, "p50 ms", view="latency") == ["5.0"]
    for asked, n_tables in (("sha of int8", 1), ("another", 2)):
        results = [asked_on_phone(bundle_sha256=asked), *again]
        assert len(view_tables(collect(results), "latency")) == n_tables, "questions to the older file"
    old = on_phone(latency_ms_p50=None, latency_ms_p95=None, threads=None)
    assert shown([old], "mean ms", "p50 ms", "threads", view="latency") == [("18.5", UNKNOWN, UNKNOWN)]


def test_a_phones_failure_is_listed_until_a_run_of_that_setting_succeeds():
    phone = {"target": "phone", "machine": PIXEL, "data": None}
    broken = failure("int8", "out of memory", threads=4, **phone)
    untold = failure("int8", "no signature", **phone)
    (table,) = view_tables(collect([on_phone(), broken]), "latency")
    line = "int8 (threads 4) failed: out of memory"
    assert line in table.footnotes
    assert line in Page(collect([on_phone(), broken])).render()
    for results, counted in (
        ([on_phone(), broken, on_phone(threads=4)], [on_phone(), on_phone(threads=4)]),
        ([untold, on_phone()], [on_phone()]),
        ([on_phone(), untold], [untold, on_phone()]),
    ):
        assert newest_on_phone(collect(results)[0]) == counted


# Our files among those of toolchains


def test_the_fastest_toolchains_come_first_with_ratios_to_our_fastest_export():
    ours = export("student-onnx-int8", 10, 40, rounds=UNEVEN, quick=True)
    late = toolchain("late", 1, 1, date="2026-01-01T00:00:00Z")
    toolchains = [*toolchain("openvino-int8", 8, 44), *toolchain("torchao-int8", 4, 40, f1=60.0), *late]
    unpadded, *_, padded = view_tables(collect(run(ours, toolchains)), "toolchains")
    assert (unpadded.title, padded.title) == (
        "Unpadded, exports of student",
        "Padded to 384, exports of student",
    )
    ours, torchao, openvino, late = records(unpadded)
    assert (ours["x ours"], ours["ms"], ours["F1 - ours"]) == ("1.00x†", "10.0†", UNKNOWN)
    assert (torchao["tool"], torchao["F1 - ours"]) == ("torchao (toolchain)", "-18.00")
    assert openvino["x ours"].startswith("1.25x (1.2")
    assert (late["model"], late["x ours"]) == ("student-late", UNKNOWN), "not timed in the same run"
    assert "speed-up over student-onnx-int8, our fastest export here" in unpadded.footnotes[0]
    assert records(padded)[0]["model"] == "student-onnx-int8"
    assert view_tables(collect(run(export("ours", 10, 40))), "toolchains") == []


def test_ours_is_the_fastest_export_near_the_best_f1():
    ours = [export("rapid", 1, 1, f1=77.0), export("good", 5, 5, f1=77.6), export("best", 9, 9, f1=78.0)]
    assert lines(run(*ours, toolchain("p", 9, 9)), "toolchains")[0]["model"] == "good"
