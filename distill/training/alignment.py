"""Logits of a teacher that has another tokenizer than the student, on the student's tokens.

A teacher token covers a range of characters. Its start logit goes to the student token with the first of
them, its end logit to the student token with the last. Where several meet, their probabilities add up.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from qa.data.squad import Example
from qa.formats.tensors import padded_inputs
from qa.models.heads.segments import MASKED
from qa.text.features import Window, answer_tokens, question_head, tokenize_passages
from qa.text.tokenization import special_tokens, token_id


@dataclass(frozen=True)
class AlignedWindow:
    """The teacher's tokens for one student window.

    `input_ids` (T',) has its context from `context_begin` on. `starts` and `ends` (n,) have an entry for each
    context token: the positions in the student's window that its start and end logits go to.
    """

    input_ids: np.ndarray
    context_begin: int
    starts: np.ndarray
    ends: np.ndarray


class Alignment:
    """Makes the teacher's windows of the student's, which were cut from `examples`.

    A teacher window longer than `max_length` loses the end of its context: no mass goes to those tokens.
    """

    def __init__(
        self,
        examples: Sequence[Example],
        windows: Sequence[Window],
        tokenizer: Tokenizer,
        max_length: int,
        max_question_length: int,
    ) -> None:
        self.examples = examples
        self.windows = windows
        self.max_length = max_length
        contexts = list(dict.fromkeys(example.context for example in examples))
        self.passages = dict(zip(contexts, tokenize_passages(contexts, tokenizer), strict=True))
        self.tokenizer = tokenizer
        self.max_question_length = max_question_length
        special = special_tokens(tokenizer)
        self.separator = token_id(tokenizer, special.sep)

    def window(self, index: int) -> AlignedWindow:
        """Return the teacher's tokens for the student's window `index`."""
        window = self.windows[index]
        example = self.examples[window.example]
        question = self.tokenizer.encode(example.question, add_special_tokens=False).ids
        head = question_head(question, self.tokenizer, self.max_question_length)
        none = np.array([], np.int64)
        starts = ends = none
        ids = none
        if len(window.char_starts):
            passage = self.passages[example.context]
            span = answer_tokens(passage.starts, passage.ends, window.char_starts[0], window.char_ends[-1])
            if span is not None:
                first = span[0]
                part = slice(first, min(span[1] + 1, first + self.max_length - len(head) - 1))
                ids = passage.ids[part]
                last = np.maximum(passage.ends[part] - 1, passage.starts[part])
                starts = window.context_begin + _first_token(window, passage.starts[part])
                ends = window.context_begin + _last_token(window, last)
        return AlignedWindow(np.array([*head, *ids, self.separator], np.int32), len(head), starts, ends)

    def batch(
        self, indices: Sequence[int], device: torch.device
    ) -> tuple[dict[str, Tensor], list[AlignedWindow]]:
        """Return the teacher's inputs, (B, T') each, and the windows they were made of."""
        aligned = [self.window(index) for index in indices]
        ids = [window.input_ids for window in aligned]
        length = min(-(-max(map(len, ids)) // 32) * 32, self.max_length)
        inputs = padded_inputs(ids, [window.context_begin for window in aligned], length)
        return {name: torch.from_numpy(array).to(device) for name, array in inputs.items()}, aligned


def _first_token(window: Window, characters: np.ndarray) -> np.ndarray:
    """Return the index of the student's first context token with each character, or of the next token."""
    index = np.searchsorted(window.char_ends, characters, side="right")
    return np.minimum(index, len(window.char_ends) - 1)


def _last_token(window: Window, characters: np.ndarray) -> np.ndarray:
    """Return the index of the student's last context token with each character, or of the one before it.

    Several tokens may have one character: bytes, or the parts of a syllable.
    """
    index = np.searchsorted(window.char_starts, characters, side="right") - 1
    return np.maximum(index, 0)


def project(logits: Tensor, aligned: Sequence[AlignedWindow], which: str, length: int) -> Tensor:
    """Return a teacher's start or end logits (B, T') on the student's tokens, (B, length) float32.

    `which` is "starts" or "ends". The first token stands for no answer in both. Positions without a teacher
    token get MASKED.
    """
    n_tokens = [len(window.starts) for window in aligned]
    rows = np.repeat(np.arange(len(aligned)), n_tokens)
    positions = np.concatenate(
        [w.context_begin + np.arange(n) for w, n in zip(aligned, n_tokens, strict=True)]
    )
    targets = rows * length + np.concatenate([getattr(window, which) for window in aligned])
    device = logits.device
    logits = logits.float()
    values = logits[torch.from_numpy(rows).to(device), torch.from_numpy(positions).to(device)]
    places = torch.from_numpy(targets).to(device)
    # log of summed exponentials, less the largest of each sum: a lone logit passes through unchanged
    peak = logits.new_full((len(aligned) * length,), MASKED).scatter_reduce(0, places, values, "amax")
    mass = torch.zeros_like(peak).index_add(0, places, torch.exp(values - peak[places]))
    result = torch.where(mass > 0, peak + torch.log(mass), MASKED).view(len(aligned), length)
    result[:, 0] = logits[:, 0]
    return result
