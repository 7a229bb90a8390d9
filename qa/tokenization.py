"""The one tokenizer of a model: a `tokenizers` file, loaded so that it neither pads nor truncates."""

import json
from pathlib import Path

from tokenizers import Tokenizer

from qa.errors import BundleError

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")
SPECIAL_TOKENS = ("[CLS]", "[SEP]", "[PAD]", "[UNK]")


def load_tokenizer(folder: Path) -> Tokenizer:
    """Read `tokenizer.json`; BundleError when it is absent, broken, or not of the BERT family."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise BundleError(f"{path}: no such file; a model folder needs its fast tokenizer")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the Rust side raises a bare Exception
        raise BundleError(f"{path}: not a tokenizer file ({error})") from None
    missing = [token for token in SPECIAL_TOKENS if tokenizer.token_to_id(token) is None]
    if missing:
        raise BundleError(f"{path}: no token {missing[0]}; only BERT-family WordPiece tokenizers are supported")
    tokenizer.no_padding()
    tokenizer.no_truncation()
    # A "[SEP]" that somebody wrote is text. By default it becomes the real separator, and question and passage shift.
    tokenizer.encode_special_tokens = True
    return tokenizer


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
