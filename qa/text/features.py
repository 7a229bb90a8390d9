"""Examples cut into windows of tokens as BERT makes them (Devlin et al. 2019, run_squad): 384 tokens, step
128, question 64.

A window is [CLS] question [SEP] part of the context [SEP], or as the tokenizer's family has it: RoBERTa
writes <s> question </s></s> part of the context </s>. Passages are tokenized once, however many questions
they have.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from qa.base.progress import Progress
from qa.data.squad import Example
from qa.formats.tensors import Inputs, padded_inputs
from qa.text.marks import ends_with_marks
from qa.text.settings import QASettings
from qa.text.tokenization import encoded, special_tokens, token_id

TOKENIZER_BATCH = 2000
TOKENIZER_CHARACTERS = 2_000_000  # while a batch is tokenized, a token takes about 100 bytes


@dataclass(frozen=True, slots=True)
class Window:
    """One window of one example.

    `char_starts`, `char_ends` (N,) give each context token's character range in the context, which ends
    behind the marks that follow the token; `max_context`
    (N,) is True where this window sees the token with the most context. Context token k stands at
    `input_ids[context_begin + k]`. `start_position`, `end_position` are the answer's tokens in the window,
    both 0 ([CLS]) when it has none here, both -1 when the question is unlabelled.
    """

    example: int
    input_ids: np.ndarray  # (T,) int32
    context_begin: int
    char_starts: np.ndarray
    char_ends: np.ndarray
    max_context: np.ndarray
    start_position: int
    end_position: int


@dataclass(frozen=True, slots=True)
class Passage:
    """Tokens of a passage: their ids (N,), and where each starts and ends in its characters.

    An answer that ends in a token ends at its `answer_ends` (N,), behind the marks that follow the token.
    """

    ids: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    answer_ends: np.ndarray


def window_spans(n_tokens: int, budget: int, doc_stride: int) -> list[tuple[int, int]]:
    """Return (first token, number of tokens) of each window of a passage; one even of an empty passage."""
    spans = [(0, min(n_tokens, budget))]
    start = 0
    while spans[-1][0] + spans[-1][1] < n_tokens:
        start += min(spans[-1][1], doc_stride)
        spans.append((start, min(n_tokens - start, budget)))
    return spans


def max_contexts(spans: Sequence[tuple[int, int]]) -> list[np.ndarray]:
    """Return, for each ascending span, which of its tokens it sees with the most context (BERT's rule)."""
    if len(spans) == 1:
        return [np.ones(spans[0][1], bool)]
    # Context of a token in a span: the smaller of what stands left and right of it, plus 1 % of the span's
    # length. The first of equals keeps the token, as in BERT.
    n_tokens = sum(spans[-1])
    best = np.full(n_tokens, -1.0)
    owner = np.zeros(n_tokens, np.int32)
    for row, (first, n) in enumerate(spans):
        position = np.arange(n)
        part = slice(first, first + n)
        score = np.minimum(position, n - 1 - position) + 0.01 * n
        owner[part] = np.where(score > best[part], row, owner[part])
        best[part] = np.maximum(best[part], score)
    return [owner[first : first + n] == row for row, (first, n) in enumerate(spans)]


def answer_tokens(
    passage_starts: np.ndarray, passage_ends: np.ndarray, begin: int, end: int
) -> tuple[int, int] | None:
    """Return the first and last token that overlap the characters [begin, end), None without one."""
    first = int(np.searchsorted(passage_ends, begin, side="right"))
    last = int(np.searchsorted(passage_starts, end, side="left")) - 1
    return (first, last) if first <= last else None


def make_windows(
    examples: Sequence[Example], tokenizer: Tokenizer, settings: QASettings, *, progress: bool = False
) -> list[Window]:
    """Return all windows of all examples, in order, about 2 KB each: 160 MB for SQuAD 1.1 train."""
    return list(each_window(examples, tokenizer, settings, progress=progress))


def each_window(
    examples: Sequence[Example],
    tokenizer: Tokenizer,
    settings: QASettings,
    *,
    progress: bool = False,
    passages: dict[str, Passage] | None = None,
) -> Iterator[Window]:
    """Yield the windows of all examples, in order, so that who chooses among them need not hold them all.

    The tokenizer must neither pad nor truncate (`qa.text.tokenization` loads it so). `passages` are contexts
    that are tokenized already; those that it lacks are added.
    """
    passages = {} if passages is None else passages
    contexts = list(dict.fromkeys(e.context for e in examples if e.context not in passages))
    passages |= zip(contexts, tokenize_passages(contexts, tokenizer, progress), strict=True)
    sep_id = token_id(tokenizer, special_tokens(tokenizer).sep)
    for first in range(0, len(examples), TOKENIZER_BATCH):
        part = examples[first : first + TOKENIZER_BATCH]
        questions = encoded(tokenizer, [e.question for e in part], offsets=False)
        for number, (example, question) in enumerate(zip(part, questions, strict=True), start=first):
            head = question_head(question.ids, tokenizer, settings.max_question_length)
            yield from _example_windows(number, example, head, passages[example.context], sep_id, settings)


def question_head(question: list[int], tokenizer: Tokenizer, max_length: int) -> list[int]:
    """Return a window's ids up to its context: [CLS], up to `max_length` of the question's, separators."""
    special = special_tokens(tokenizer)
    separators = [token_id(tokenizer, special.sep)] * special.n_separators
    return [token_id(tokenizer, special.cls), *question[:max_length], *separators]


def tokenize_passages(texts: list[str], tokenizer: Tokenizer, progress: bool = False) -> Iterator[Passage]:
    """Tokenize each passage whole, without special tokens."""
    # Without white space; a tenth of the time is in looking.
    bare = special_tokens(tokenizer).wordpiece and type(tokenizer.model).__name__ == "WordPiece"
    with Progress(
        total=len(texts), desc="tokenizing passages", unit="passage", disable=not progress, delay=1.0
    ) as bar:
        for part in _batches(texts):
            encodings = encoded(tokenizer, part)
            for text, encoding in zip(part, encodings, strict=True):
                pairs = encoding.offsets if bare else [_trimmed(text, *pair) for pair in encoding.offsets]
                offsets = np.array(pairs, np.int32).reshape(-1, 2)
                ends = offsets[:, 1].copy()
                answer_ends = np.array(ends_with_marks(text, ends.tolist()), np.int32)
                yield Passage(np.array(encoding.ids, np.int32), offsets[:, 0].copy(), ends, answer_ends)
            bar.update(len(encodings))


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    n_characters = 0
    for text in texts:
        if len(batch) == TOKENIZER_BATCH or (batch and n_characters + len(text) > TOKENIZER_CHARACTERS):
            yield batch
            batch, n_characters = [], 0
        batch.append(text)
        n_characters += len(text)
    if batch:
        yield batch


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a token's characters without leading white space, which byte pairs and SentencePiece count."""
    n_spaces = end - start - len(text[start:end].lstrip())
    return (start + n_spaces, end) if n_spaces < end - start else (start, end)


def _example_windows(
    number: int, example: Example, question: list[int], passage: Passage, sep_id: int, settings: QASettings
) -> list[Window]:
    head = np.array(question, np.int32)
    tail = np.array([sep_id], np.int32)
    begin = len(head)
    answer = None
    no_answer = -1 if example.unlabelled else 0
    if example.answers:
        gold = example.answers[0]  # the first one trains, as in BERT
        answer = answer_tokens(passage.starts, passage.ends, gold.start, gold.start + len(gold.text))
    windows = []
    spans = window_spans(len(passage.ids), settings.max_length - begin - 1, settings.doc_stride)
    for (first, n), max_context in zip(spans, max_contexts(spans), strict=True):
        start = end = no_answer
        if answer and first <= answer[0] and answer[1] < first + n:
            start = answer[0] - first + begin
            end = answer[1] - first + begin
        part = slice(first, first + n)
        ids = np.concatenate([head, passage.ids[part], tail])
        characters = passage.starts[part], passage.answer_ends[part]
        windows.append(Window(number, ids, begin, *characters, max_context, start, end))
    return windows


def collate(windows: Sequence[Any], length: int | None = None) -> Inputs:
    """Return the model's inputs for a batch, (B, T) int64 each; T is `length`, or the longest window's.

    A window has its tokens `input_ids` (T,), and `context_begin`, where its context begins.
    """
    ids = [w.input_ids for w in windows]
    return padded_inputs(ids, [w.context_begin for w in windows], length or max(map(len, ids)))
