"""Tables of phones: results of a phone stand apart from the CPU's."""

from benchmark_results import (
    PIXEL,
    failure,
    lines,
    on_phone,
    records,
    scored,
    timed,
)

from benchmarks.results.rows import Runtime
from benchmarks.show.groups import collect, newest_order
from benchmarks.show.phone_views import newest_on_phone
from benchmarks.show.report import Page
from benchmarks.show.tables import UNKNOWN
from benchmarks.show.views import view_tables


def test_results_of_a_phone_do_not_change_the_tables_of_the_cpu():
    cpu = [scored(), timed(), timed("int8", 20.0, "unpadded"), scored("student", 78.0)]
    mixed = [on_phone(), cpu[0], on_phone("teacher", lengths=128), *cpu[1:], on_phone()]
    for view in ("summary", "latency", "accuracy"):
        with_phone, without = (
            view_tables(collect(results, newest_order(results)), view)[0] for results in (mixed, cpu)
        )
        assert (records(with_phone), with_phone.footnotes) == (records(without), without.footnotes)
    assert [table.title for table in view_tables(collect(mixed), "latency")] == [
        "dev.json, 1,000 questions",
        str(PIXEL),
    ]


def test_the_newest_result_of_a_phones_setting_counts_and_runtimes_stand_side_by_side():
    slow = on_phone(ms=90.0, runtime=Runtime("LiteRT", variant="+ built-in kernels"))
    seen = lines(
        [on_phone(), on_phone(ms=17.0), slow, on_phone(ms=9.0, threads=4), on_phone(ms=4.0, lengths=128)],
        "latency",
    )
    assert [(line["runtime"], line["lengths"], line["threads"], line["p50 ms"]) for line in seen] == [
        ("LiteRT + XNNPACK", "128", "1", "4.0"),
        ("LiteRT + XNNPACK", "384", "1", "17.0"),
        ("LiteRT + built-in kernels", "384", "1", "90.0"),
        ("LiteRT + XNNPACK", "384", "4", "9.0"),
    ]
    again = lines([on_phone(), on_phone(ms=5.0, lengths=128, bundle_sha256="another")], "latency")
    assert [line["p50 ms"] for line in again] == ["5.0"]
    old = lines([on_phone(latency_ms_p50=None, latency_ms_p95=None, threads=None)], "latency")[0]
    assert (old["mean ms"], old["p50 ms"], old["threads"]) == ("18.5", UNKNOWN, UNKNOWN)


def test_a_phones_failure_is_listed_until_a_run_of_that_setting_succeeds():
    phone = {"target": "phone", "machine": PIXEL, "data": None, "bundle_sha256": "sha of int8"}
    broken = failure("int8", "out of memory", threads=4, lengths=384, **phone)
    (table,) = view_tables(collect([on_phone(), broken]), "latency")
    assert "int8 (lengths 384, threads 4) failed: out of memory" in table.footnotes
    assert "int8 failed: out of memory" in Page(collect([on_phone(), broken])).render()
    assert newest_on_phone(collect([on_phone(), broken, on_phone(threads=4)])[0]) == [
        on_phone(),
        on_phone(threads=4),
    ]
    untold = failure("int8", "no signature", **phone)
    assert newest_on_phone(collect([untold, on_phone()])[0]) == [on_phone()]
    assert len(newest_on_phone(collect([on_phone(), untold])[0])) == 2
