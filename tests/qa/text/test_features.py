"""Windows, max context and answer positions, on real text and on hand-worked layouts."""

import numpy as np
import pytest

from qa.data.datasets import resolve
from qa.data.squad import Answer, Example, read_squad
from qa.models.pretrained import embedded_folder
from qa.text.features import answer_tokens, collate, make_windows, window_spans
from qa.text.settings import QASettings
from qa.text.tokenization import load_tokenizer


@pytest.fixture(scope="module")
def tokenizer():
    return load_tokenizer(embedded_folder())


def ask(context, question="Who?", answers=()):
    return Example("q", "t", context, question, tuple(Answer(*a) for a in answers), not answers)


def test_spans_step_by_stride_until_the_end_is_seen():
    assert window_spans(10, 4, 2) == [(0, 4), (2, 4), (4, 4), (6, 4)]
    assert window_spans(5, 4, 3) == [(0, 4), (3, 2)]
    assert window_spans(4, 4, 2) == [(0, 4)]
    assert window_spans(0, 4, 2) == [(0, 0)]


def test_step_never_exceeds_the_window():
    assert window_spans(9, 3, 128) == [(0, 3), (3, 3), (6, 3)]


def test_every_token_has_most_context_in_exactly_one_window(tokenizer):
    example = ask(" ".join(f"word{i}" for i in range(300)))
    windows = make_windows([example], tokenizer, QASettings(max_length=100, doc_stride=24))
    counts = {}
    for window in windows:
        for start in window.char_starts[window.max_context]:
            counts[int(start)] = counts.get(int(start), 0) + 1
    all_starts = {int(s) for w in windows for s in w.char_starts}
    assert set(counts) == all_starts
    assert set(counts.values()) == {1}


def test_middle_token_belongs_to_the_window_that_centres_it(tokenizer):
    # 12 one-token words, windows of 8 words, step 4: word 5 is third from the left edge of the second window
    # (context 1), and third from the right edge of the first (context 2).
    example = ask(" ".join("abcdefghijkl"), question="")
    settings = QASettings(max_length=11, doc_stride=4, max_question_length=1)
    windows = make_windows([example], tokenizer, settings)
    assert [len(w.char_starts) for w in windows] == [8, 8]
    assert windows[0].max_context.tolist() == [True] * 6 + [False] * 2
    assert windows[1].max_context.tolist() == [False] * 2 + [True] * 6


def test_the_longer_window_has_the_token_where_contexts_differ_by_one(tokenizer):
    # 12 tokens of question leave 369: windows of 369 and 242 tokens. Token 300 has 68 + 3.69 in the first and
    # 69 + 2.42 in the second; without BERT's 1 % of the length the second would have it, and all from 249 to
    # 368.
    example = ask(" ".join(["a"] * 370), question=" ".join(["b"] * 12))
    first, second = make_windows([example], tokenizer, QASettings())
    assert first.max_context.tolist() == [True] * 369
    assert second.max_context.tolist() == [False] * 241 + [True]


def test_window_reads_cls_question_sep_context_sep(tokenizer):
    (window,) = make_windows([ask("Ada wrote it.")], tokenizer, QASettings())
    tokens = [tokenizer.id_to_token(i) for i in window.input_ids]
    assert tokens == ["[CLS]", "who", "?", "[SEP]", "ada", "wrote", "it", ".", "[SEP]"]
    assert window.context_begin == 4
    batch = collate([window], length=11)
    assert batch["token_type_ids"].tolist() == [[0] * 4 + [1] * 5 + [0] * 2]
    assert batch["attention_mask"].tolist() == [[1] * 9 + [0] * 2]


@pytest.mark.parametrize("text", ["[SEP]", "a [CLS]b", "[PAD] [UNK][MASK]", "x[SEP][SEP]"])
def test_special_tokens_that_somebody_wrote_are_text(tokenizer, text):
    special = {tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]")}
    for encode in (tokenizer.encode_batch, tokenizer.encode_batch_fast):  # of passages, of questions
        (encoding,) = encode([text], add_special_tokens=False)
        assert encoding.ids
        assert not special & set(encoding.ids)
    (window,) = make_windows([ask(text, text)], tokenizer, QASettings())
    places = [k for k, token in enumerate(window.input_ids) if token in special]
    assert places == [0, window.context_begin - 1, len(window.input_ids) - 1]


def test_answer_positions_cut_the_answer_back_out():
    examples = read_squad(resolve("embedded", "train"))[:300]
    windows = make_windows(examples, load_tokenizer(embedded_folder()), QASettings())
    n_equal = 0
    for window in windows:
        example = examples[window.example]
        if window.start_position:
            begin = window.char_starts[window.start_position - window.context_begin]
            end = window.char_ends[window.end_position - window.context_begin]
            text = example.context[begin:end]
            assert example.answers[0].text in text
            n_equal += text == example.answers[0].text
    assert n_equal >= 0.97 * len(examples)  # the rest: annotators who cut inside a word


def test_answer_outside_a_window_points_to_cls(tokenizer):
    context = " ".join(["filler"] * 200) + " Ada"
    example = ask(context, answers=[("Ada", len(context) - 3)])
    windows = make_windows([example], tokenizer, QASettings(max_length=100, doc_stride=50))
    assert [w.start_position > 0 for w in windows] == [False] * (len(windows) - 1) + [True]


def test_answer_tokens_cover_a_cut_word():
    starts = np.array([0, 4, 8])
    ends = np.array([3, 7, 11])
    assert answer_tokens(starts, ends, 5, 9) == (1, 2)
    assert answer_tokens(starts, ends, 3, 4) is None


@pytest.mark.parametrize(
    ("question", "context"),
    [
        ("", ""),
        ("?", " \n\t "),
        ("Wer? 👩‍👩‍👧‍👦", "e\u0301" * 50 + "👩‍👩‍👧‍👦 שלום \u202e中文字 " + "a" * 200),
        ("long " * 500, "word " * 5000),
    ],
)
def test_any_text_gives_windows_with_offsets_inside_it(tokenizer, question, context):
    windows = make_windows([ask(context, question)], tokenizer, QASettings())
    assert windows
    for window in windows:
        assert len(window.input_ids) <= 384
        assert window.context_begin <= 66
        assert (window.char_starts < window.char_ends).all()
        assert (window.char_ends <= len(context)).all()
    last = [int(w.char_ends[-1]) for w in windows if len(w.char_ends)]
    assert last == [] if not context.strip() else last[-1] == len(context.rstrip())


def test_dev_excerpt_has_one_window_for_nearly_every_question(tokenizer):
    windows = make_windows(read_squad(resolve("embedded", "dev")), tokenizer, QASettings())
    assert [w.example for w in windows] == sorted(w.example for w in windows)
    assert 503 <= len(windows) < 530
