"""Asking and evaluating: any text is an ordinary input, offsets cut the answer out, and the JSON has what it promises."""

import json

import pytest

from qa.ask import AskConfig
from qa.ask import main as ask
from qa.bundle import open_bundle
from qa.errors import OptionError, ProbeError
from qa.evaluate import EvaluateConfig
from qa.evaluate import main as evaluate
from qa.probe import ProbeWindow, write_probe
from qa.runtimes import check_probe, load_runtime, run_length, run_windows


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("Who wrote the first program?", "Ada Lovelace wrote it.\r\nIt was for a machine never built."),
        ("", ""),
        ("?", " \n\t\u200b"),
        ("Où? 🤔" * 40, "Le café «Müller» 👩‍👩‍👧‍👦 est à Zu\u0308rich. שלום עולם 東京タワー \u202eabc " * 3),
        ("Which word? " * 600, "word " * 5000),
    ],
    ids=["plain", "empty", "blank", "emoji", "long"],
)
def test_answers_stand_at_their_offsets_in_the_file(make_bundle, tmp_path, capsys, question, passage):
    file = tmp_path / "passage.txt"
    file.write_bytes(passage.encode())
    result = ask(AskConfig(make_bundle(), question, file, threads=1))
    assert json.loads(capsys.readouterr().out) == result
    for candidate in result["n_best"]:
        assert passage[candidate["start"] : candidate["end"]] == candidate["text"]
        assert candidate["text"].strip() == candidate["text"] != ""
    if result["n_best"]:
        assert result["answer"] == result["n_best"][0]["text"]
        assert sum(c["probability"] for c in result["n_best"]) == pytest.approx(1)
    else:
        assert (result["answer"], result["start"]) == ("", None)
    assert {"tokenize_ms", "inference_ms", "decode_ms", "load_ms", "null_score"} <= result.keys()


def test_passage_that_is_no_text_is_refused(make_bundle, tmp_path):
    (tmp_path / "p").write_bytes(b"abc\xff\xfe")
    with pytest.raises(OptionError, match=r"not UTF-8 text \(byte 3\)"):
        ask(AskConfig(make_bundle(), "?", tmp_path / "p"))


def test_evaluate_prints_the_official_keys_and_writes_predictions(make_bundle, small_squad, tmp_path, capsys):
    out = tmp_path / "predictions.json"
    result = evaluate(EvaluateConfig(data=str(small_squad), model=make_bundle(), out=out))
    assert json.loads(capsys.readouterr().out) == result
    assert list(result)[:3] == ["exact", "f1", "total"]
    assert {"HasAns_exact", "HasAns_f1", "HasAns_total", "n_windows", "best_f1", "best_f1_thresh"} <= result.keys()
    scored = evaluate(EvaluateConfig(data=str(small_squad), predictions=out))
    assert scored == {key: result[key] for key in scored}


def test_batches_and_single_windows_give_the_same_logits(make_bundle, small_squad):
    from qa.features import make_windows
    from qa.squad import read_squad

    bundle = open_bundle(make_bundle())
    runtime = load_runtime(bundle, 1)
    windows = make_windows(read_squad(small_squad), bundle.tokenizer(), bundle.settings)
    together = run_windows(runtime, windows)
    for window, (start, end) in zip(windows, together, strict=True):
        ((alone_start, alone_end),) = run_windows(runtime, [window])
        assert len(start) == len(window.input_ids)
        assert abs(start - alone_start).max() < 1e-4
        assert abs(end - alone_end).max() < 1e-4


def test_probe_passes_the_right_logits_and_refuses_wrong_ones(make_bundle, small_squad):
    from qa.features import make_windows
    from qa.probe import read_probe
    from qa.squad import read_squad

    bundle = open_bundle(make_bundle())
    runtime = load_runtime(bundle, 1)
    window = make_windows(read_squad(small_squad), bundle.tokenizer(), bundle.settings)[0]
    ((start, end),) = run_windows(runtime, [window])
    right = write_probe([ProbeWindow(window.input_ids, window.context_begin, start, end)])
    assert check_probe(runtime, read_probe(right, "p"), "fp32") < 1e-5
    wrong = write_probe([ProbeWindow(window.input_ids, window.context_begin, start, end[::-1].copy())])
    with pytest.raises(ProbeError, match="computes this fp32 model wrongly"):
        check_probe(runtime, read_probe(wrong, "p"), "fp32")


def test_smallest_length_that_fits():
    class Fixed:
        lengths = (128, 256, 384)

    assert [run_length(Fixed(), n) for n in (1, 128, 129, 384)] == [128, 128, 256, 384]
