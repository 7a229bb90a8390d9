"""Loaded model that answers questions about passages of any length; `qa.load` opens it."""

import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from qa.base.cli import check_option
from qa.base.errors import HALF_PAIR, OptionError
from qa.bundles.bundle import Bundle
from qa.data.squad import Example
from qa.evaluation.predict import predict
from qa.runtime.isolated import IsolatedRuntime
from qa.runtime.runtimes import Runtime, load_runtime, run_windows
from qa.text.answers import Candidate, Prediction
from qa.text.features import Passage, Window, each_window
from qa.text.preselection import preselect
from qa.text.settings import DEFAULT_MODE, Mode, QASettings
from qa.text.tokenization import encoded

BETWEEN_TEXTS = "\n\n"
MOST_THREADS = 1024
Pair = tuple[str, str | Sequence[str]]
"""Question and passage, or the texts that the passage consists of: `BETWEEN_TEXTS.join(texts)`."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer, cut from the passage: `context[start:end] == text`, in characters (code points).

    It is the best of a group of overlapping spans (`qa.text.groups`). "No answer" has the text "", and None
    for start and end. A model trained on answerable questions only gives it only when the passage is empty,
    or its best starts all lie behind its best ends.
    """

    text: str
    start: int | None
    end: int | None
    score: float
    """Start logit + end logit; the null score for "no answer" (`qa.text.answers.Prediction`)."""
    probability: float
    """Probability of the group, or of "no answer"; a softmax score where the model is not calibrated
    (`qa.text.answers.Prediction.options`)."""
    alternatives: tuple["Answer", ...] = field(default=(), repr=False)
    """Answers from other places, most probable first; "no answer" is one of them when the model has a
    threshold."""

    @property
    def not_sure(self) -> "Answer | None":
        """Best span of a declined question; None where there is an answer, or no span."""
        spans = [other for other in self.alternatives if other.start is not None]
        return max(spans, key=lambda span: span.score, default=None) if self.start is None else None


@dataclass(frozen=True, slots=True)
class Reading:
    """Results of one call, in the order of its questions; times are sums over all questions."""

    answers: list[Answer]
    null_scores: list[float]
    n_windows: list[int]
    """Windows that were read."""
    n_windows_in_text: list[int]
    """Windows of the text; more than were read when `qa.text.preselection` skipped some."""
    n_question_tokens: list[int]
    """Tokens of the question; it is truncated to the model's `max_question_length`."""
    tokenize_ms: float
    inference_ms: float
    decode_ms: float


class Reader:
    """Bundle with its runtime and tokenizer loaded.

    Python threads may share it; the runtime computes for one thread at a time. `mode` says when it declines
    (`qa.text.settings.MODE_HELP`). `null_threshold` replaces the bundle's: there is no answer when null score
    - best score exceeds it.
    """

    def __init__(
        self,
        bundle: Bundle,
        threads: int | None = None,
        *,
        isolated: bool = False,
        mode: Mode | None = None,
        null_threshold: float | None = None,
    ) -> None:
        check_option(
            threads is None or (type(threads) is int and 1 <= threads <= MOST_THREADS),
            "threads",
            threads,
            f"a whole number from 1 to {MOST_THREADS}",
        )
        self.bundle = bundle
        self.threads = threads or 1  # waiting threads cost more than they bring in one window
        self._computing = threading.Lock()
        self.settings = bundle.settings.deciding(DEFAULT_MODE if mode is None else mode, null_threshold)
        self.runtime: Runtime = (
            IsolatedRuntime(bundle, self.threads) if isolated else load_runtime(bundle, self.threads)
        )
        self.tokenizer = bundle.tokenizer
        self._passages: dict[str, Passage] = {}
        """Tokens of the texts that the last question was asked about."""

    def __repr__(self) -> str:
        return f"<Reader of {self.bundle.path}: {self.bundle.precision}, {self.runtime.name}>"

    def answer(self, question: str, context: str | Sequence[str], *, read_all: bool = False) -> Answer:
        """Return the best answer to one question about a passage; OptionError for a wrong type.

        A list of texts is read as one passage, `BETWEEN_TEXTS.join(texts)`, but no answer spans two texts.
        Only the 16 windows that share most with the question are read; all windows with `read_all`.
        """
        return self.answer_all([(question, context)], read_all=read_all)[0]

    def answer_all(self, pairs: Iterable[Pair], *, read_all: bool = False) -> list[Answer]:
        """Return the best answer to each (question, context), in order.

        Equal contexts are tokenized once, and windows run in batches.
        """
        return self.read(pairs, read_all=read_all).answers

    def read(self, pairs: Iterable[Pair], *, read_all: bool = False, progress: bool = False) -> Reading:
        """Answer as `answer_all`, and return null scores, numbers of windows and times too."""
        asked = _checked(pairs)
        examples = []  # one for each question and text
        places = []  # the number of its question, and where its text begins in the passage
        for number, (question, texts) in enumerate(asked):
            begin = 0
            all_blank = not any(text.strip() for text in texts)
            for text in texts:
                if all_blank or text.strip():  # a window of a blank text would take the place of another
                    examples.append(Example(str(number), "", text, question, (), False))
                    places.append((number, begin))
                begin += len(text) + len(BETWEEN_TEXTS)
        numbers = [number for number, _ in places]
        began = time.perf_counter()
        # One question after the other is asked about the same texts: they are tokenized once.
        before = self._passages
        kept = {e.context: before[e.context] for e in examples if e.context in before}
        all_windows = each_window(examples, self.tokenizer, self.settings, progress=progress, passages=kept)
        n_in_text = [0] * len(asked)
        counted = _counted(all_windows, numbers, n_in_text)
        windows = list(counted) if read_all else preselect(counted, self.settings, numbers)
        self._passages = kept if len(asked) == 1 else {}
        tokens = encoded(self.tokenizer, [question for question, _ in asked], offsets=False)
        windows = [_in_passage(window, *places[window.example]) for window in windows]
        n_read = Counter(window.example for window in windows)
        tokenized = time.perf_counter()
        # LiteRT's interpreter and the pipe to an isolated process allow one call at a time.
        with self._computing:
            logits = run_windows(self.runtime, windows, progress=progress)
        computed = time.perf_counter()
        passages = [
            Example(str(number), "", BETWEEN_TEXTS.join(texts), question, (), False)
            for number, (question, texts) in enumerate(asked)
        ]
        predictions = predict(passages, windows, logits, self.settings)
        answers = [_answer(e.context, p, self.settings) for e, p in zip(passages, predictions, strict=True)]
        decoded = time.perf_counter()
        return Reading(
            answers,
            [prediction.null_score for prediction in predictions],
            [n_read[number] for number in range(len(asked))],
            n_in_text,
            [len(question.ids) for question in tokens],
            tokenize_ms=1e3 * (tokenized - began),
            inference_ms=1e3 * (computed - tokenized),
            decode_ms=1e3 * (decoded - computed),
        )


def _counted(windows: Iterable[Window], numbers: Sequence[int], counts: list[int]) -> Iterator[Window]:
    """Yield the windows and count those of each question."""
    for window in windows:
        counts[numbers[window.example]] += 1
        yield window


def _in_passage(window: Window, number: int, begin: int) -> Window:
    """Return a window of a text as one of the passage that the text is a part of, from character `begin`."""
    starts, ends = window.char_starts + begin, window.char_ends + begin
    return replace(window, example=number, char_starts=starts, char_ends=ends)


def _answer(context: str, prediction: Prediction, settings: QASettings) -> Answer:
    def given(option: Candidate | None, probability: float, alternatives: tuple[Answer, ...] = ()) -> Answer:
        if option is None:
            return Answer("", None, None, prediction.null_score, probability, alternatives)
        text = context[option.start : option.end]
        return Answer(text, option.start, option.end, option.score, probability, alternatives)

    first, *others = prediction.options(settings.null_threshold, settings.calibration)
    return given(*first, tuple(given(*other) for other in others))


def _checked(pairs: Iterable[Pair]) -> list[tuple[str, Sequence[str]]]:
    asked: list[tuple[str, Sequence[str]]] = []
    if not isinstance(pairs, Iterable):
        raise OptionError(f"the questions must be (question, context) pairs, got {type(pairs).__name__}")
    for number, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise OptionError(f"pair {number} must be (question, context), got {ascii(pair)[:80]}")
        question, context = pair
        name = f"the question of pair {number}"
        check_text(question, name)
        check_option(bool(question.strip()), name, ascii(question), "more than spaces")
        texts: list[Any] = list(context) if isinstance(context, list | tuple) else [context]
        check_option(len(texts) >= 1, f"the context of pair {number}", "no text", "a text or a list of texts")
        for text in texts:
            check_text(text, f"the context of pair {number}")
        asked.append((question, texts))
    return asked


def check_text(text: object, name: str) -> None:
    """Raise OptionError unless `text` is a str without half a surrogate pair, which tokenizers refuse."""
    if not isinstance(text, str):
        raise OptionError(f"{name} must be text (str), got {type(text).__name__}")
    if half := HALF_PAIR.search(text):
        raise OptionError(f"{name} must be text, got half of a surrogate pair at character {half.start()}")
