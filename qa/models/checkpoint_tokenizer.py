"""Tokenizer of a transformers checkpoint, as transformers makes it of all its files."""

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from transformers import AutoTokenizer

from qa.base.errors import OptionError, first_few
from qa.base.quiet import quiet_logs
from qa.formats.registry import CONFIG
from qa.text.features import question_head
from qa.text.tokenization import load_encoder_tokenizer, prepared, special_tokens, token_id, tokenizer_errors

TOKENIZER = "tokenizer.json"
SETTINGS = "tokenizer_config.json"
# What a tokenizer can be made of where there is no tokenizer.json: WordPiece, byte pairs, SentencePiece.
VOCABULARIES = ("vocab.txt", "vocab.json", "spiece.model", "sentencepiece.bpe.model")
TOKENIZER_FILES = (
    TOKENIZER,
    SETTINGS,
    "special_tokens_map.json",
    "added_tokens.json",
    "merges.txt",
    *VOCABULARIES,
)
# Texts on which readings of a tokenizer's files are compared: case, accents, Chinese, marks, digits, and
# characters that some normalizers write otherwise.
QUESTION = "Who wrote the FIRST program in 1843?"
PASSAGE = "Ada Lovelace (born in London), did; café Zoë, Ångström's 中文字 cost $3.50, e.g. in McDonald's."
SPACES = "An  end of a line\nand a\ttab, no\u00a0break. \u00bd \u2026 \ufb01 \uff21 cafe\u0301 ``x''"
NO_TOKENIZER = "no tokenizer can be made of its files"
SAVE_AS_ONE = "save it again: AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)"
STRUCTURE = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
# Classes whose tokenizers gave token types by default before version 5 of transformers.
GAVE_TYPES = ("AlbertTokenizer", "TokenizersBackend")
# Settings of tokenizer_config.json that name code or other files, with their only value that is taken.
ONLY: dict[str, object] = {"auto_map": {}, "fast_tokenizer_files": [TOKENIZER]}
# Parts that every version of transformers makes of the settings in tokenizer_config.json.
MADE_OF_SETTINGS = {"normalizer": "BertNormalizer", "pre_tokenizer": "ByteLevel"}


def read_tokenizer(what: str, folder: Path, n_types: int) -> tuple[Tokenizer, bool]:
    """Return the tokenizer of a checkpoint, and True where it gives passages another token type.

    `n_types` is the number of types that the model has. OptionError where no tokenizer can be made of the
    files, or they contradict each other.
    """
    reference = _reference(what, folder)
    tokenizer = _tokenizer(what, folder, reference)
    pair = reference(QUESTION, PASSAGE)
    _check_tokenizer_json(what, folder, tokenizer, pair["input_ids"])
    question, passage = (ids_of(tokenizer, text) for text in (QUESTION, PASSAGE))
    if len(set(passage)) == 1:
        raise OptionError(
            f"{what}: {folder}: its {type(reference).__name__} knows no word of the vocabulary there; name "
            f'the right tokenizer_class in {SETTINGS}, such as "BertTokenizer" for a vocab.txt'
        )
    special = special_tokens(tokenizer)
    head = question_head(question, tokenizer, len(question))
    tail = [*passage, token_id(tokenizer, special.sep)]
    if pair["input_ids"] != head + tail:
        raise OptionError(
            f"{what}: {folder}: its tokenizer does not join question and passage by {special.cls} and "
            f"{special.sep}, as those of its family do"
        )
    _say_unused_words(what, folder, tokenizer)
    _say_cut_symbols(what, folder, reference)
    return tokenizer, n_types > 1 and _has_types(what, folder, reference, pair, len(head))


def _has_types(what: str, folder: Path, reference: Any, pair: Any, n_head: int) -> bool:
    """Return True for token type 1 from the passage on, False for 0 everywhere; refuse any other."""
    given = _given_types(folder, reference, pair)
    if given == [0] * n_head + [1] * (len(given) - n_head):
        return True
    if any(given):
        raise OptionError(
            f"{what}: {folder}: its tokenizer gives other token types than 0 (question) and 1 (passage)"
        )
    return False


def _given_types(folder: Path, reference: Any, pair: Any) -> list[int]:
    """Return the token types that transformers gives the model with a pair; empty where it gives none."""
    given = pair.get("token_type_ids")
    before_5 = "model_input_names" not in reference.init_kwargs and not _is_of_version_5(folder)
    if given is None and before_5 and type(reference).__name__ in GAVE_TYPES:
        given = pair.encodings[0].type_ids
    return given or []


def check_encoder_tokenizer(what: str, folder: Path) -> tuple[Tokenizer, bool]:
    """Return the tokenizer of tokenizer.json, and True where it gives passages another token type.

    OptionError unless transformers gives the same tokens.
    """
    theirs = _reference(what, folder)
    if not (folder / TOKENIZER).is_file():
        raise OptionError(f"{what}: {folder} has no {TOKENIZER}; {SAVE_AS_ONE}")
    tokenizer = load_encoder_tokenizer(folder)
    reference = _tokenizer(what, folder, theirs)
    added = " ".join(reference.get_vocab(with_added_tokens=True).keys() - tokenizer.get_vocab().keys())
    with tokenizer_errors(f"{what}: {folder / TOKENIZER}", "not a tokenizer file"):
        differ = any(
            ids_of(tokenizer, text) != ids_of(reference, text) for text in (QUESTION, PASSAGE, added)
        )
    if differ:
        raise OptionError(
            f"{what}: {folder / TOKENIZER} gives other tokens than with {SETTINGS} and "
            f"added_tokens.json; {SAVE_AS_ONE}"
        )
    return tokenizer, any(_given_types(folder, theirs, theirs(QUESTION, PASSAGE)))


def ids_of(tokenizer: Tokenizer, text: str) -> list[int]:
    """Return the ids of a text without special tokens."""
    return tokenizer.encode(text, add_special_tokens=False).ids


def _reference(what: str, folder: Path) -> Any:
    # Of no vocabulary transformers would make one that knows no word.
    if not any((folder / name).is_file() for name in (TOKENIZER, *VOCABULARIES)):
        raise OptionError(
            f"{what}: {folder}: no {TOKENIZER}, and no {', '.join(VOCABULARIES)} to make one of"
        )
    _check_settings(f"{what}: {folder / SETTINGS}", folder / SETTINGS)
    named = _class_of(folder)
    fault = f"{NO_TOKENIZER} as a {named}" if named else NO_TOKENIZER
    with tokenizer_errors(f"{what}: {folder}", fault), quiet_logs("transformers"):
        reference = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        reference(QUESTION, PASSAGE)
    if not isinstance(getattr(reference, "backend_tokenizer", None), Tokenizer):
        raise OptionError(
            f"{what}: {folder}: its {type(reference).__name__} has no fast tokenizer, which is needed"
        )
    return reference


def _class_of(folder: Path) -> str | None:
    """Return the tokenizer_class that the files name, if any."""
    for name in (SETTINGS, CONFIG):
        with suppress(OSError, ValueError, AttributeError):
            if named := json.loads((folder / name).read_bytes()).get("tokenizer_class"):
                return str(named)
    return None


def _check_settings(where: str, path: Path) -> None:
    """Raise OptionError for settings that transformers would need other files for."""
    if not path.is_file():
        return
    with tokenizer_errors(where, "not a tokenizer's settings"):
        settings = dict(json.loads(path.read_bytes()))
    for key, usual in ONLY.items():
        if settings.get(key) not in (None, usual):
            raise OptionError(
                f"{where}: {key} is {settings[key]!r}; only {usual!r} can be taken, as no code is run"
            )


def _tokenizer(what: str, folder: Path, reference: Any) -> Tokenizer:
    """Return a tokenizer that reads texts as transformers does."""
    parts = json.loads(reference.backend_tokenizer.to_str())
    if not reference.split_special_tokens:
        # Written in a text, other special tokens than those of a window's structure are tokens there.
        structure = {getattr(reference, f"{kind}_token") for kind in STRUCTURE}
        for token in parts["added_tokens"]:
            token["special"] = token["special"] and token["content"] in structure
    return _parsed(what, folder, json.dumps(parts))


def _parsed(what: str, folder: Path, text: str) -> Tokenizer:
    where = f"{what}: {folder}"
    with tokenizer_errors(where, NO_TOKENIZER):
        tokenizer = Tokenizer.from_str(text)
    return prepared(tokenizer, where)


def _check_tokenizer_json(what: str, folder: Path, tokenizer: Tokenizer, pair: list[int]) -> None:
    """Raise OptionError where tokenizer.json says other tokens than its class in transformers gives.

    `pair` are the ids of question and passage. Versions of transformers differ in which of the two counts.
    """
    path = folder / TOKENIZER
    if not path.is_file():
        return
    with tokenizer_errors(f"{what}: {path}", "not a tokenizer file"):
        said = json.loads(path.read_bytes())
        made = json.loads(tokenizer.to_str())
        for part, kind in MADE_OF_SETTINGS.items():
            if all((parts.get(part) or {}).get("type") == kind for parts in (said, made)):
                said[part] = made[part]
        said["added_tokens"] = made["added_tokens"]
        as_said = _parsed(what, folder, json.dumps(said))
        texts = (QUESTION, PASSAGE, SPACES, *(f"in {token['content']} or" for token in made["added_tokens"]))
        differ = any(ids_of(as_said, text) != ids_of(tokenizer, text) for text in texts)
        joined = as_said.encode(QUESTION, PASSAGE).ids
    if differ:
        raise OptionError(
            f"{what}: {path} says other tokens than the tokenizer_class of {SETTINGS} gives; "
            'where the file is right, write "tokenizer_class": "PreTrainedTokenizerFast" there'
        )
    if joined != pair:
        raise OptionError(
            f"{what}: {path} joins question and passage otherwise (post_processor) than the tokenizer_class "
            f"of {SETTINGS}; where the class is right, {SAVE_AS_ONE}"
        )


def _say_cut_symbols(what: str, folder: Path, reference: Any) -> None:
    """Say on stderr where transformers cuts texts at symbols of a SentencePiece model, as training did not.

    A tokenizer.json says how they are read.
    """
    parts = json.loads(reference.backend_tokenizer.to_str())
    if (folder / TOKENIZER).is_file() or parts["model"]["type"] != "Unigram":
        return
    pieces = {piece for piece, _ in parts["model"]["vocab"]}
    cut = [t["content"] for t in parts["added_tokens"] if not t["special"] and t["content"] in pieces]
    if cut:
        print(
            f"{what}: {folder}: transformers cuts texts at {first_few(cut)}, which SentencePiece does not; "
            f"where the model was trained with SentencePiece, put the {TOKENIZER} of its encoder there",
            file=sys.stderr,
        )


def _say_unused_words(what: str, folder: Path, tokenizer: Tokenizer) -> None:
    """Say on stderr where a tokenizer that lower-cases has words in upper case, which it never gives."""
    if tokenizer.normalizer is None or tokenizer.normalizer.normalize_str("A") != "a":
        return
    special = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    words = tokenizer.get_vocab(with_added_tokens=False).keys() - special
    n_unused = sum(word.isalpha() and word != word.lower() for word in words)
    if n_unused:
        print(
            f"{what}: its tokenizer lower-cases, so {n_unused:,} words of its vocabulary, with capitals, are "
            f'never used; if it was trained cased, write "do_lower_case": false in {folder / SETTINGS}',
            file=sys.stderr,
        )


def _is_of_version_5(folder: Path) -> bool:
    """Return whether transformers 5 or later wrote config.json; files of long ago do not say."""
    version = json.loads((folder / CONFIG).read_bytes()).get("transformers_version")
    major = str(version).partition(".")[0]
    return major.isdecimal() and int(major) >= 5
