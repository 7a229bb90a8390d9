"""Where we stand against other tools: who is the fastest at equal F1, on hand-made rows, and how it is said."""

import pytest
from peer_material import STUDENT_SHA, UNEVEN, export, peer, run

from benchmarks.peers.registry import PEERS
from benchmarks.rows import append_row
from benchmarks.table import TableConfig, main
from benchmarks.views.groups import collect
from benchmarks.views.names import tool_name
from benchmarks.views.standing import overall_verdict, standings
from benchmarks.views.tables import view_tables
from qa.errors import OptionError


def found(*models):
    """The standings by length."""
    (group,) = collect(run(*models))
    return {one.lengths: one for one in standings(group)}


OURS = (export("student-onnx-int8", 10, 40), export("student-tflite-int8", 20, 30))


def test_ours_is_the_fastest_of_our_exports_at_each_setting():
    both = found(*OURS, peer("openvino-int8", 12, 36))
    assert [both[setting].ours.facts["model"] for setting in ("real", 384)] == ["student-onnx-int8", "student-tflite-int8"]


def test_a_standing_for_every_length_that_a_peer_was_timed_at_too():
    padded_only = [row for row in peer("openvino-int8", 12, 30) if row["lengths"] != "real"]
    one = found(*OURS, padded_only)
    assert list(one) == [128, 384]
    assert one[128].verdict().startswith("Padded to 128, our student-tflite-int8 and student-openvino-int8 are the fastest")
    assert list(found(*OURS, padded_only, peer("torchao-int8", 20, 60))) == ["real", 128, 384]


def test_we_are_the_fastest():
    both = found(*OURS, peer("openvino-int8", 12.5, 37.5), peer("torchao-int8", 20, 60))
    assert both["real"].verdict() == (
        "At real lengths, our student-onnx-int8 is the fastest at equal F1: "
        "the next, student-openvino-int8, is 0.80 times as fast (0.80–0.80)"
    )
    assert both[384].verdict().startswith("Padded to 384, our student-tflite-int8 is the fastest at equal F1")
    sentences = [both["real"].sentence(line) for line in both["real"].lines]
    assert sentences == [
        "student-openvino-int8 is behind: 0.80 times as fast (0.80–0.80) at real lengths at the same F1",
        "student-torchao-int8 is behind: 0.50 times as fast (0.50–0.50) at real lengths at the same F1",
    ]


def test_a_peer_is_faster_at_one_setting():
    both = found(*OURS, peer("openvino-int8", 8, 37.5), peer("torchao-int8", 9, 60))
    assert both["real"].verdict() == (
        "At real lengths, student-openvino-int8 is the fastest at equal F1: "
        "1.25 times as fast (1.25–1.25) as our student-onnx-int8"
    )
    assert "our student-tflite-int8 is the fastest" in both[384].verdict()
    assert overall_verdict([both["real"], both[384]]).startswith("At real lengths, student-openvino-int8 is the fastest")
    first = both["real"].sentence(both["real"].lines[0])
    assert first == "student-openvino-int8 is 1.25 times as fast (1.25–1.25) at real lengths at the same F1"


def test_a_difference_within_noise_is_none():
    one = found(*OURS, peer("openvino-int8", 9.99, 37.5, rounds=UNEVEN), peer("torchao-int8", 20, 60))["real"]
    line = one.lines[0]
    assert line.interval.low < 1 < line.interval.high
    assert line.faster == pytest.approx(10 / 9.99)
    assert "student-openvino-int8 shows no difference beyond noise: 1.00 times as fast (0.9" in one.sentence(line)
    assert one.verdict() == (
        "At real lengths, our student-onnx-int8 and student-openvino-int8 are the fastest at equal F1, "
        "without a difference beyond noise"
    )


@pytest.mark.parametrize(
    ("f1", "counts", "words"),
    [
        (77.5, True, "at the same F1"),
        (77.4, False, "at 0.6 points less F1, which does not count"),
        (60.0, False, "at 18.0 points less F1, which does not count"),
        (79.0, True, "at 1.0 points more F1"),
    ],
)
def test_a_faster_peer_counts_only_at_equal_f1(f1, counts, words):
    one = found(*OURS, peer("openvino-int8", 5, 37.5, f1=f1), peer("torchao-int8", 20, 60))["real"]
    assert one.sentence(one.lines[0]) == f"student-openvino-int8 is 2.00 times as fast (2.00–2.00) at real lengths {words}"
    ahead = "student-openvino-int8 is the fastest" in one.verdict()
    assert ahead == counts
    assert ahead or "our student-onnx-int8 is the fastest at equal F1: the next, student-torchao-int8" in one.verdict()


def test_our_own_fastest_counts_only_near_our_best_f1():
    broken = export("student-static-int8", 2, 8, f1=77.0)
    assert found(*OURS, broken, peer("openvino-int8", 8, 37.5))["real"].ours.facts["model"] == "student-onnx-int8"


def test_only_exports_of_the_peers_own_bundle_are_ours():
    other = export("small-onnx-int8", 1, 4, parent_sha256="sha of small")
    pruned = export("student-pruned", 2, 8, stage="prune")
    both = found(*OURS, other, pruned, peer("openvino-int8", 8, 37.5))
    assert both["real"].ours.facts["model"] == "student-onnx-int8"
    assert both["real"].made_from == "student"
    assert found(other, pruned, peer("openvino-int8", 8, 37.5)) == {}


def test_the_bundle_of_a_peer_without_a_parent_is_its_own_hash():
    without = [row | {"bundle_sha256": STUDENT_SHA} for row in peer("openvino-int8", 8, 37.5, parent_sha256=None)]
    both = found(*OURS, without)
    assert [line.name for line in both["real"].lines] == ["student-openvino-int8"]
    assert both["real"].made_from == "student"


def test_a_peer_of_another_run_or_without_rounds_has_no_interval_and_one_without_times_no_ratio():
    later = peer("openvino-int8", 8, 37.5, date="2025-01-02T00:00:00Z")
    once = [{key: value for key, value in row.items() if key != "round_ms"} for row in peer("torchao-int8", 8, 37.5)]
    one = found(*OURS, later, once)["real"]
    lines = {line.name: line for line in one.lines}
    assert one.sentence(lines["student-openvino-int8"]) == "student-openvino-int8 was not timed at real lengths in the same run"
    assert "1.25 times as fast (no interval) at real lengths" in one.sentence(lines["student-torchao-int8"])
    alone = found(*OURS, later)["real"]
    assert alone.verdict() == "At real lengths, no peer of equal F1 was timed in the same run as our student-onnx-int8"


def test_peers_stand_behind_the_exports_of_their_bundle_with_their_tool_and_are_never_the_baseline():
    rows = run(peer("openvino-int8", 8, 37.5), OURS[0], export("small-onnx-int8", 1, 4, parent_sha256="sha of small"))
    (group,) = collect(rows, ["sha of student-openvino-int8", "sha of student"])
    names = [e.facts["model"] for e in group.entries]
    assert names == ["teacher", "student", "student-onnx-int8", "student-openvino-int8", "small-onnx-int8"]
    table = view_tables([group], "summary")[0]
    assert [line[1] for line in table.cells] == ["PyTorch", "PyTorch", "ORT", "OpenVINO (peer)", "ORT"]
    assert any("OpenVINO (openvino 2026.1.0, nncf 3.0.0)" in note for note in table.notes)
    (of_teacher,) = collect([*run(), *[r | {"bundle_sha256": "sha of teacher"} for r in peer("openvino-int8", 8, 37.5)]])
    assert [e.facts["model"] for e in of_teacher.entries if of_teacher.is_baseline(e)] == ["teacher"]
    assert of_teacher.speedup(of_teacher.entries[0].at("real")) == 2  # of its own 100 ms, not of the peer's


def test_every_adapter_has_a_tool_without_its_precision():
    tools = {name: tool_name({"peer": name, "precision": peer.precision}) for name, peer in PEERS.items()}
    assert tools["openvino-fp32"] == tools["openvino-int8"] == "OpenVINO"
    assert not [tool for tool in tools.values() if "fp32" in tool or "int8" in tool]


def test_the_view_has_the_verdict_in_its_first_line(tmp_path, capsys):
    path, readme = tmp_path / "rows.jsonl", tmp_path / "README.md"
    failed = [peer("torchao-int8", 1, 1)[0] | {"status": "torchao: no g++"}]
    for row in run(*OURS, peer("openvino-int8", 8, 37.5), failed):
        append_row(path, row)
    main(TableConfig(path, view="peers"))
    text = capsys.readouterr().out
    assert text.startswith("At real lengths, student-openvino-int8 is the fastest at equal F1: 1.25 times as fast")
    assert "\nPadded to 384, our student-tflite-int8 is the fastest at equal F1" in text
    assert "student-torchao-int8 failed: torchao: no g++" in text
    readme.write_text("<!-- results:begin peers -->\n<!-- results:end peers -->\n")
    main(TableConfig(path, view="peers", write=readme))
    line = "| student-openvino-int8 | OpenVINO (peer) | int8 | 94.0 | 78.00 | +0.00 | 8.0 | 1.25x | 1.25–1.25 |"
    assert line in readme.read_text()
    old = tmp_path / "old.jsonl"
    append_row(old, run()[0])
    with pytest.raises(OptionError, match="nothing to show as peers; it takes rows of peers"):
        main(TableConfig(old, view="peers"))
