"""Words that are similar in a model's table of word vectors."""

import random
import re

import numpy as np
import torch
from tokenizers import Tokenizer

from qa.base.errors import OptionError
from qa.models.model import QAModel
from qa.text.tokenization import special_tokens

N_SIMILAR = 15  # as TinyBERT draws from
WORD = re.compile(r"[^\W\d_]{3,}")


class SimilarWords:
    """The words of a vocabulary, and for each the N_SIMILAR with the nearest vectors by cosine."""

    def __init__(self, words: list[str], vectors: np.ndarray) -> None:
        """`vectors` (V, D) float32 belong to `words` (V,), which are in lower case."""
        self.words = words
        self.index = {word: place for place, word in enumerate(words)}
        self.vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        self._nearest: dict[int, np.ndarray] = {}

    @classmethod
    def of(cls, model: QAModel, tokenizer: Tokenizer) -> "SimilarWords":
        """Take the tokens that are words as they stand: no pieces, numbers or marks.

        OptionError for a vocabulary that does not mark pieces of words, as WordPiece does.
        """
        if not special_tokens(tokenizer).wordpiece:
            raise OptionError(
                "--model: its vocabulary does not tell words from pieces of words; give a model with a "
                "WordPiece vocabulary"
            )
        names = {i: token for token, i in tokenizer.get_vocab().items() if WORD.fullmatch(token)}
        ids = sorted(i for i, token in names.items() if token == token.lower())  # some scripts have no case
        if len(ids) < 2:
            raise OptionError("--model: its vocabulary has no whole words; give a model of another language")
        with torch.no_grad():
            vectors = model.encoder.words(torch.tensor([ids]))[0].float().numpy()
        return cls([names[i] for i in ids], vectors)

    def similar(self, word: str) -> list[str]:
        """Return the words nearest to `word`, the nearest first."""
        place = self.index[word]
        if place not in self._nearest:
            cosine = self.vectors @ self.vectors[place]
            cosine[place] = -np.inf
            n = min(N_SIMILAR, len(self.words) - 1)
            nearest = np.argpartition(-cosine, n - 1)[:n]
            self._nearest[place] = nearest[np.argsort(-cosine[nearest], kind="stable")]
        return [self.words[i] for i in self._nearest[place]]

    def replace(self, text: str, share: float, rng: random.Random) -> str:
        """Replace each word of `text` by a similar one with probability `share`; keep capitals."""

        def changed(match: re.Match[str]) -> str:
            word = match.group()
            if word.lower() not in self.index or rng.random() >= share:
                return word
            other = rng.choice(self.similar(word.lower()))
            return other.capitalize() if word[0].isupper() else other

        return WORD.sub(changed, text)
