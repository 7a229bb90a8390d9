"""The one tokenizer of a model: a `tokenizers` file, loaded so that it neither pads nor truncates."""

import json
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer

from qa.errors import BundleError

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")


@dataclass(frozen=True)
class SpecialTokens:
    """How a family of tokenizers names its special tokens, and how its models join question and passage."""

    cls: str
    sep: str
    pad: str
    unk: str
    n_separators: int = 1
    """Separators between question and passage; one more ends the passage."""

    @property
    def names(self) -> tuple[str, ...]:
        """The tokens a tokenizer must have."""
        return self.cls, self.sep, self.pad, self.unk


BERT = SpecialTokens("[CLS]", "[SEP]", "[PAD]", "[UNK]")  # WordPiece: also DistilBERT, MobileBERT, MiniLM
ALBERT = SpecialTokens("[CLS]", "[SEP]", "<pad>", "<unk>")  # SentencePiece
ROBERTA = SpecialTokens("<s>", "</s>", "<pad>", "<unk>", n_separators=2)  # byte pairs
FAMILIES = (BERT, ALBERT, ROBERTA)


def load_tokenizer(folder: Path) -> Tokenizer:
    """Read `tokenizer.json`; BundleError when it is absent, broken, or of no known family."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise BundleError(f"{path}: no such file; a model folder needs its fast tokenizer")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the Rust side raises a bare Exception
        raise BundleError(f"{path}: not a tokenizer file ({error})") from None
    if not _families(tokenizer):
        known = "; ".join(" ".join(family.names) for family in FAMILIES)
        raise BundleError(f"{path}: lacks special tokens; it must have all of one family, BERT, ALBERT or RoBERTa: {known}")
    tokenizer.no_padding()
    tokenizer.no_truncation()
    # A "[SEP]" that somebody wrote is text. By default it becomes the real separator, and question and passage shift.
    tokenizer.encode_special_tokens = True
    return tokenizer


def _families(tokenizer: Tokenizer) -> list[SpecialTokens]:
    return [f for f in FAMILIES if all(tokenizer.token_to_id(token) is not None for token in f.names)]


def special_tokens(tokenizer: Tokenizer) -> SpecialTokens:
    """The family that `load_tokenizer` has found a tokenizer to be of."""
    return _families(tokenizer)[0]


def token_id(tokenizer: Tokenizer, token: str) -> int:
    """The id of a special token that `load_tokenizer` has seen to be there."""
    found = tokenizer.token_to_id(token)
    assert found is not None
    return found


def vocabulary(tokenizer: Tokenizer) -> list[str]:
    """The tokens in the order of their ids, one for each line of a `vocab.txt`."""
    by_id = {index: token for token, index in tokenizer.get_vocab(with_added_tokens=True).items()}
    return [by_id[index] for index in range(len(by_id))]


def normalizer_settings(tokenizer: Tokenizer) -> dict[str, object]:
    """BertNormalizer's switches (lowercase, strip_accents, clean_text, handle_chinese_chars), for other languages' copies."""
    normalizer = json.loads(tokenizer.to_str())["normalizer"] or {}
    return {key: value for key, value in normalizer.items() if key != "type"}
