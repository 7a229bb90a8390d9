"""Gold answers that are longer than a model may answer."""

from collections.abc import Sequence

from tokenizers import Tokenizer

from qa.data.squad import Example
from qa.text.features import answer_tokens, tokenize_passages
from qa.text.settings import QASettings


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
