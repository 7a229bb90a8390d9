"""A teacher with a tokenizer of its own: its tokens for a student's window, and its logits on the student's tokens."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from made_tokenizers import byte_pairs, mpnet_pieces

from distill.training.alignment import AlignedWindow, Alignment, _first_token, _last_token, project
from qa.bundles.bundle import open_bundle
from qa.data.datasets import resolve
from qa.data.squad import read_squad
from qa.models.heads.segments import MASKED
from qa.text.features import make_windows
from qa.text.settings import QASettings
from qa.text.tokenization import load_tokenizer


@pytest.fixture(scope="module")
def examples():
    return read_squad(resolve("embedded", "dev"))[:60]


@pytest.fixture(scope="module")
def windows(examples, make_bundle):
    return make_windows(
        examples, open_bundle(make_bundle()).tokenizer, QASettings(max_length=128, doc_stride=48)
    )


def alignment(examples, windows, folder, write, max_length=512):
    folder.mkdir(exist_ok=True)
    write(folder)
    return Alignment(examples, windows, load_tokenizer(folder), max_length, 64)


def test_mpnet_has_a_berts_tokens_one_to_one(examples, windows, tmp_path):
    aligned = alignment(examples, windows, tmp_path, mpnet_pieces)
    assert len(windows) > len(examples)
    for index, window in enumerate(windows):
        teacher = aligned.window(index)
        assert len(teacher.input_ids) == len(window.input_ids) + 1
        expected = window.context_begin + np.arange(len(window.char_starts))
        np.testing.assert_array_equal(teacher.starts, expected)
        np.testing.assert_array_equal(teacher.ends, expected)


def test_a_span_that_a_byte_pair_teacher_is_sure_of_is_the_same_text_in_the_students_tokens(
    examples, windows, tmp_path
):
    aligned = alignment(examples, windows, tmp_path, byte_pairs)
    checked = 0
    for index, window in enumerate(windows):
        if not window.start_position:
            continue
        teacher = aligned.window(index)
        passage = aligned.passages[examples[window.example].context]
        answer = examples[window.example].answers[0]
        first = int(np.searchsorted(passage.ends, answer.start, side="right"))
        last = int(np.searchsorted(passage.starts, answer.start + len(answer.text), side="left")) - 1
        offset = int(np.searchsorted(passage.ends, window.char_starts[0], side="right"))
        logits = torch.zeros(2, 1, len(teacher.input_ids))
        logits[0, 0, teacher.context_begin + first - offset] = 30.0
        logits[1, 0, teacher.context_begin + last - offset] = 30.0
        n = len(window.input_ids)
        assert int(project(logits[0], [teacher], "starts", n)[0].argmax()) == window.start_position
        assert int(project(logits[1], [teacher], "ends", n)[0].argmax()) == window.end_position
        checked += 1
    assert checked > 40


def test_probabilities_of_tokens_that_meet_in_one_add_up():
    window = AlignedWindow(np.zeros(6, np.int32), 2, np.array([3, 3, 4]), np.array([3, 3, 4]))
    logits = torch.tensor([[7.0, 9.0, 1.0, 2.0, -5.0, 9.0]])
    result = project(logits, [window], "starts", 6)[0]
    assert result[0] == 7.0
    assert float(result[3]) == pytest.approx(np.log(np.exp(1.0) + np.exp(2.0)), abs=1e-6)
    assert result[4] == -5.0
    assert all(result[position] == MASKED for position in (1, 2, 5))


def test_windows_of_a_batch_do_not_mix():
    none = np.array([], np.int64)
    windows = [
        AlignedWindow(np.zeros(5, np.int32), 2, np.array([3, 3]), np.array([3, 3])),
        AlignedWindow(np.zeros(3, np.int32), 2, none, none),
        AlignedWindow(np.zeros(4, np.int32), 1, np.array([1, 3]), np.array([1, 3])),
    ]
    logits = torch.tensor([[7.0, 9.0, 1.0, 1.0], [6.0, 9.0, 9.0, 9.0], [5.0, 2.0, 3.0, 9.0]])
    both = 1 + float(np.log(2))
    expected = [[7, MASKED, MASKED, both], [6, MASKED, MASKED, MASKED], [5, 2, MASKED, 3]]
    for which in ("starts", "ends"):
        assert torch.allclose(project(logits, windows, which, 4), torch.tensor(expected))


def test_a_window_too_long_for_the_teacher_loses_the_end_of_its_context(examples, windows, tmp_path):
    aligned = alignment(examples, windows, tmp_path, mpnet_pieces, max_length=64)
    longest = max(range(len(windows)), key=lambda index: len(windows[index].input_ids))
    teacher = aligned.window(longest)
    assert len(teacher.input_ids) == 64
    assert teacher.starts[0] == windows[longest].context_begin
    inputs, _ = aligned.batch([longest], torch.device("cpu"))
    assert inputs["input_ids"].shape == (1, 64)


def test_an_empty_passage_has_only_the_token_of_no_answer(examples, make_bundle, tmp_path):
    empty = [replace(examples[0], context="", answers=())]
    window = make_windows(empty, open_bundle(make_bundle()).tokenizer, QASettings())
    teacher = alignment(empty, window, tmp_path, byte_pairs).window(0)
    assert not len(teacher.starts)
    logits = torch.arange(len(teacher.input_ids), dtype=torch.float32)[None]
    assert project(logits, [teacher], "ends", 5)[0].tolist() == [0.0, MASKED, MASKED, MASKED, MASKED]


def test_a_span_begins_and_ends_with_the_outer_tokens_of_a_character(windows):
    """The student has "a", three tokens of a syllable, and "b"."""
    window = replace(windows[0], char_starts=np.array([0, 1, 1, 1, 2]), char_ends=np.array([1, 2, 2, 2, 3]))
    characters = np.array([0, 1, 2])
    assert _first_token(window, characters).tolist() == [0, 1, 4]
    assert _last_token(window, characters).tolist() == [0, 3, 4]
