"""Limits of a model: questions, words and answers that it cannot read or give, told before it is used."""

from collections.abc import Iterator, Sequence

from tokenizers import Tokenizer

from qa.base.sampling import evenly
from qa.data.squad import Example
from qa.text.features import answer_tokens, tokenize_passages
from qa.text.settings import QASettings
from qa.text.tokenization import encoded, special_tokens, token_id

NOTABLE_SHARE = 0.05  # of unknown tokens
MOST_PASSAGES = 200  # that are looked at for them


def beyond_limits(examples: Sequence[Example], tokenizer: Tokenizer, settings: QASettings) -> Iterator[str]:
    """Yield lines on answers and questions that are too long, and on unknown words, where there are any."""
    lines = (
        long_answers(examples, tokenizer, settings),
        long_questions(examples, tokenizer, settings),
        unknown_tokens(examples, tokenizer),
    )
    return filter(None, lines)


def long_questions(examples: Sequence[Example], tokenizer: Tokenizer, settings: QASettings) -> str | None:
    """Say how many questions have more than `max_question_length` tokens; None without any."""
    most = settings.max_question_length
    long = [e.question for e in examples if len(e.question.encode()) > most]  # a token has a byte at least
    n = sum(len(encoding.ids) > most for encoding in encoded(tokenizer, long, offsets=False))
    if not n:
        return None
    return (
        f"{n} of {len(examples)} questions have more than {most} tokens, of which the model reads the first "
        f"{most}; --max-question-length allows more where a model is imported or trained"
    )


def unknown_tokens(examples: Sequence[Example], tokenizer: Tokenizer) -> str | None:
    """Say what share of some passages' words is unknown to the tokenizer; None where it is small."""
    passages = list(dict.fromkeys(e.context for e in examples))
    sample = [passages[i] for i in evenly(len(passages), MOST_PASSAGES)]
    unknown = token_id(tokenizer, special_tokens(tokenizer).unk)
    of_words = [
        index == unknown
        for text, passage in zip(sample, tokenize_passages(sample, tokenizer), strict=True)
        for index, start, end in zip(passage.ids, passage.starts, passage.ends, strict=True)
        if any(map(str.isalpha, text[start:end]))
    ]
    share = sum(of_words) / max(1, len(of_words))
    if share < NOTABLE_SHARE:
        return None
    return (
        f"{share:.0%} of the passages' words are unknown to the model's tokenizer, so it cannot tell these "
        "words apart; take a model of this language and script"
    )


def long_answers(examples: Sequence[Example], tokenizer: Tokenizer, settings: QASettings) -> str | None:
    """Say how many questions have only answers of more than `max_answer_length` tokens; None without any."""
    most = settings.max_answer_length
    asked: dict[str, list[Example]] = {}
    for example in examples:
        # A token has a byte at least, so most questions need no look at tokens.
        if example.answers and all(len(answer.text.encode()) > most for answer in example.answers):
            asked.setdefault(example.context, []).append(example)
    n = 0
    for same, passage in zip(asked.values(), tokenize_passages(list(asked), tokenizer), strict=True):
        for example in same:
            spans = [
                answer_tokens(passage.starts, passage.ends, answer.start, answer.start + len(answer.text))
                for answer in example.answers
            ]
            n += all(span is not None and span[1] - span[0] >= most for span in spans)
    if not n:
        return None
    answerable = sum(bool(e.answers) for e in examples)
    return (
        f"{n} of {answerable} answerable questions have only answers of more than {most} tokens, which the "
        "model cannot give; --max-answer-length allows longer ones where a model is imported, trained or "
        "tuned"
    )
