"""Lengths of the signatures of a TFLite file."""

from collections.abc import Sequence

from qa.base.cli import check_option
from qa.formats.tflite import SHORT_LENGTHS
from qa.text.settings import QASettings


def window_lengths(lengths: Sequence[int] | None, settings: QASettings) -> tuple[int, ...]:
    """Return the lengths of signatures or of the probe's windows, by default those that fit the model.

    OptionError when chosen `lengths` do not suit the model's settings.
    """
    shortest = settings.max_question_length + 4  # [CLS], two [SEP] and one token of context
    longest = settings.max_length
    if lengths is None:
        return (*(n for n in SHORT_LENGTHS if shortest <= n < longest), longest)
    check_option(lengths[0] >= shortest, "--lengths", lengths, f"at least {shortest}, for a long question")
    check_option(
        lengths[-1] == longest, "--lengths", lengths, f"ending in {longest}, the model's longest window"
    )
    return tuple(lengths)
