"""The ranking of our files among those of toolchains."""

from benchmark_results import (
    EVEN,
    UNEVEN,
    export,
    records,
    run,
    toolchain,
)

from benchmarks.show.groups import collect
from benchmarks.show.ranking import rankings
from benchmarks.show.tables import UNKNOWN
from benchmarks.show.views import view_tables


def test_the_fastest_of_equal_f1_and_what_each_peer_shows():
    ours = export("student-onnx-int8", 10, 40, rounds=UNEVEN, quick=True)
    late = toolchain("late", 1, 1, date="2026-01-01T00:00:00Z")
    toolchains = [*toolchain("openvino-int8", 8, 44), *toolchain("torchao-int8", 4, 40, f1=60.0), *late]
    (group,) = collect(run(ours, toolchains))
    unpadded, _, padded = rankings(group)
    assert unpadded.verdict().startswith(
        "Unpadded, student-openvino-int8 is the fastest at equal F1: 1.25 times as fast (1.2"
    )
    verdict = "Padded to 384, our student-onnx-int8 is the fastest at equal F1: the next, student-openvino"
    assert padded.verdict().startswith(verdict)
    torchao, openvino, late = unpadded.toolchains
    assert unpadded.sentence(torchao).endswith("unpadded at 18.0 points less F1, which does not count")
    assert unpadded.sentence(late) == "student-late was not timed unpadded in the same run"
    assert (torchao.beyond_noise, openvino.beyond_noise, late.beyond_noise) == (1, 1, 0)
    level = next(p for p in padded.toolchains if p.entry.model.endswith("torchao-int8"))
    assert "shows no difference beyond noise" in padded.sentence(level)
    first, second, *_ = records(view_tables([group], "toolchains")[0])
    assert (first["x ours"], first["ms"], first["F1 - ours"]) == ("1.00x†", "10.0†", UNKNOWN)
    assert (second["model"], second["tool"], second["F1 - ours"]) == (
        "student-torchao-int8",
        "torchao (toolchain)",
        "-18.00",
    )


def test_without_an_interval_nothing_is_noise_and_without_an_equal_nobody_is_ahead():
    (group,) = collect(
        run(export("ours", 10, 40, rounds=(1.0,) * 4), toolchain("near", 9.9, 44, rounds=(1.0,) * 4))
    )
    unpadded, *_ = rankings(group)
    assert unpadded.toolchains[0].times == "1.01 times as fast (no interval)"
    (group,) = collect(run(export("ours", 10, 40), toolchain("weak", 1, 1, f1=70.0)))
    assert (
        rankings(group)[0].verdict()
        == "Unpadded, no other toolchain's export of equal F1 was timed in the same run as our ours"
    )
    (group,) = collect(run(export("ours", 10, 40, rounds=UNEVEN), toolchain("level", 10, 40, rounds=EVEN)))
    level = "our ours and student-level are the fastest at equal F1, without a difference beyond noise"
    assert rankings(group)[0].verdict().endswith(level)
    assert rankings(collect(run(export("ours", 10, 40)))[0]) == []


def test_ours_is_the_fastest_export_near_the_best_f1():
    rapid = export("rapid", 1, 1, f1=77.0)
    good = export("good", 5, 5, f1=77.6)
    best = export("best", 9, 9, f1=78.0)
    (group,) = collect(run(rapid, good, best, toolchain("p", 9, 9)))
    assert rankings(group)[0].ours.entry.model == "good"
