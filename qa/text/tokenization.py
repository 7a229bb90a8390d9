"""Tokenizer of a model: a `tokenizers` file, loaded so that it neither pads nor truncates.

It is written with a tokenizer_config.json, so that transformers and transformers.js join question and passage
in the same way.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Encoding, Tokenizer, processors

from qa.base.errors import BundleError, first_line
from qa.formats.tensors import INPUTS


@dataclass(frozen=True)
class SpecialTokens:
    """Special tokens of a family of tokenizers, and how its models join question and passage."""

    cls: str
    sep: str
    pad: str
    unk: str
    n_separators: int = 1
    """Separators between question and passage; one more ends the passage."""
    wordpiece: bool = False
    """True where words are split after white space was removed, so that no token has any."""
    tokenizer_class: str = "PreTrainedTokenizerFast"
    """Name in transformers, and in transformers.js, which gives token types to tokenizers of some names
    alone."""

    @property
    def names(self) -> tuple[str, ...]:
        """Tokens that a tokenizer must have."""
        return self.cls, self.sep, self.pad, self.unk


# WordPiece: also DistilBERT, MobileBERT, ELECTRA, MiniLM
BERT = SpecialTokens("[CLS]", "[SEP]", "[PAD]", "[UNK]", wordpiece=True, tokenizer_class="BertTokenizer")
ALBERT = SpecialTokens("[CLS]", "[SEP]", "<pad>", "<unk>", tokenizer_class="AlbertTokenizer")  # SentencePiece
ROBERTA = SpecialTokens("<s>", "</s>", "<pad>", "<unk>", n_separators=2)  # byte pairs
# RoBERTa's, over BERT's words
MPNET = SpecialTokens("<s>", "</s>", "<pad>", "[UNK]", n_separators=2, wordpiece=True)
# The first that fits counts: MPNet's vocabulary has the names of BERT's and RoBERTa's, too.
FAMILIES = (MPNET, BERT, ALBERT, ROBERTA)
MASKS = {"[MASK]", "<mask>"}


def load_tokenizer(folder: Path) -> Tokenizer:
    """Read `tokenizer.json`; BundleError when it is absent, broken, or of no known family."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise BundleError(f"{path}: no such file; a model folder needs its fast tokenizer")
    with tokenizer_errors(path, "not a tokenizer file"):
        tokenizer = Tokenizer.from_file(str(path))
    return prepared(tokenizer, path)


def load_encoder_tokenizer(folder: Path) -> Tokenizer:
    """Read the tokenizer of a bundle or of an encoder, whose own special tokens in a text are tokens.

    transformers reads [PERSON] so; a bundle reads as it was trained. The special tokens of a window's
    structure are text where somebody wrote them.
    """
    tokenizer = load_tokenizer(folder)
    if (folder / "manifest.json").is_file():
        return tokenizer
    structure = {name for family in FAMILIES for name in family.names} | MASKS
    added = tokenizer.get_added_tokens_decoder().values()
    if not any(token.special and token.content not in structure for token in added):
        return tokenizer
    parts = json.loads(tokenizer.to_str())
    for token in parts["added_tokens"]:
        token["special"] = token["special"] and token["content"] in structure
    return prepared(Tokenizer.from_str(json.dumps(parts)), folder)


@contextmanager
def tokenizer_errors(where: str | Path, what: str) -> Iterator[None]:
    """Raise BundleError, naming a file or folder, instead of any error of tokenizers or transformers."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # the Rust side raises bare Exceptions, and panics that are not even these
        raise BundleError(f"{where}: {what} ({first_line(error)})") from None


def encoded(tokenizer: Tokenizer, texts: list[str], *, offsets: bool = True) -> list[Encoding]:
    """Return the encodings of texts without special tokens. BundleError where the tokenizer fails."""
    encode = tokenizer.encode_batch if offsets else tokenizer.encode_batch_fast
    with tokenizer_errors("tokenizer.json", "fails on a text"):
        encodings: list[Encoding] = encode(texts, add_special_tokens=False)
    return encodings


def prepared(tokenizer: Tokenizer, where: str | Path) -> Tokenizer:
    """Return a tokenizer that neither pads nor truncates; BundleError for one of no known family."""
    if not _families(tokenizer):
        known = "; ".join(" ".join(family.names) for family in FAMILIES)
        raise BundleError(
            f"{where}: lacks special tokens; it must have all of one family, MPNet, BERT, ALBERT or RoBERTa: "
            f"{known}"
        )
    tokenizer.no_padding()
    tokenizer.no_truncation()
    # A "[SEP]" that somebody wrote is text. By default it becomes the real separator, and question and
    # passage shift.
    tokenizer.encode_special_tokens = True
    return tokenizer


def _families(tokenizer: Tokenizer) -> list[SpecialTokens]:
    return [f for f in FAMILIES if all(tokenizer.token_to_id(token) is not None for token in f.names)]


def special_tokens(tokenizer: Tokenizer) -> SpecialTokens:
    """Return the family of a tokenizer from `load_tokenizer`."""
    return _families(tokenizer)[0]


def token_id(tokenizer: Tokenizer, token: str) -> int:
    """Return the id of a special token of a tokenizer from `load_tokenizer`."""
    found = tokenizer.token_to_id(token)
    assert found is not None
    return found


def save_tokenizer(
    tokenizer: Tokenizer, folder: Path, max_length: int, inputs: Sequence[str] = INPUTS
) -> None:
    """Write tokenizer.json and tokenizer_config.json, for other tools too: they cut texts at `max_length`
    tokens.

    `inputs` are those that the model of the folder takes: transformers' DistilBERT and RoBERTa know no token
    types.
    """
    family = special_tokens(tokenizer)
    between = " ".join([family.sep] * family.n_separators)
    joined: Any = processors.TemplateProcessing(
        single=f"{family.cls} $A {family.sep}",
        pair=f"{family.cls} $A {between} $B:1 {family.sep}:1",
        special_tokens=[(token, token_id(tokenizer, token)) for token in (family.cls, family.sep)],
    )
    if family is ROBERTA and '"ByteLevel"' in json.dumps(_parts(tokenizer)["pre_tokenizer"]):
        # Its tokens begin with a space, which is no part of an answer.
        joined = processors.Sequence([processors.ByteLevel(trim_offsets=True), joined])
    tokenizer.post_processor = joined
    text = tokenizer.to_str(pretty=False)  # a third smaller
    (folder / "tokenizer.json").write_text(text, encoding="utf-8")
    config = _hub_config(tokenizer, family)
    config |= {"model_max_length": max_length, "model_input_names": list(inputs)}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")


def _hub_config(tokenizer: Tokenizer, family: SpecialTokens) -> dict[str, Any]:
    """Return what tokenizer_config.json says of the tokenizer itself."""
    config: dict[str, Any] = {"tokenizer_class": family.tokenizer_class}
    if family is BERT:  # transformers makes a BertTokenizer's normalizer anew, of these
        names = {
            "do_lower_case": "lowercase",
            "strip_accents": "strip_accents",
            "tokenize_chinese_chars": "handle_chinese_chars",
        }
        settings = normalizer_settings(tokenizer)
        if settings.keys() >= set(names.values()) and _is_berts(_parts(tokenizer)):
            config |= {name: settings[ours] for name, ours in names.items()}
        else:
            config["tokenizer_class"] = SpecialTokens.tokenizer_class
    if family is ALBERT:  # and an AlbertTokenizer's of these
        parts = _parts(tokenizer)
        steps = json.dumps(parts["normalizer"])
        lower, plain = '"Lowercase"' in steps, '"StripAccents"' in steps
        if _is_alberts(parts, lower=lower, plain=plain):
            config |= {"do_lower_case": lower, "keep_accents": not plain}
        else:
            config["tokenizer_class"] = SpecialTokens.tokenizer_class
    kinds = ("cls_token", "sep_token", "pad_token", "unk_token")
    config |= dict(zip(kinds, family.names, strict=True))
    return config | {"split_special_tokens": True}  # a "[SEP]" that somebody wrote is text


def _is_berts(parts: dict[str, Any]) -> bool:
    """Return whether transformers makes the same BertTokenizer anew, of the switches of its normalizer."""
    model = parts["model"]
    return (
        parts["pre_tokenizer"] == {"type": "BertPreTokenizer"}
        and (parts["normalizer"] or {}).get("clean_text") is True
        and (model.get("continuing_subword_prefix"), model.get("max_input_chars_per_word")) == ("##", 100)
    )


def _is_alberts(parts: dict[str, Any], *, lower: bool, plain: bool) -> bool:
    """Return whether transformers makes the same AlbertTokenizer anew, of its case and its accents.

    As of the published ones, it leaves out two steps: SentencePiece's table, and single spaces.
    """
    made = [{"type": "Replace", "pattern": {"String": quotes}, "content": '"'} for quotes in ("``", "''")]
    made += [{"type": "NFKD"}, {"type": "StripAccents"}] if plain else []
    made += [{"type": "Lowercase"}] if lower else []
    spaces = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
    given = (parts["normalizer"] or {}).get("normalizers", [])
    steps = [step for step in given if step["type"] != "Precompiled" and step != spaces]
    splits = [step["type"] for step in (parts["pre_tokenizer"] or {}).get("pretokenizers", [])]
    return steps == made and splits == ["WhitespaceSplit", "Metaspace"]


def _parts(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return the JSON of a tokenizer's file."""
    parts: dict[str, Any] = json.loads(tokenizer.to_str())
    return parts


def unknown_id(tokenizer: Tokenizer) -> int | None:
    """Return the id that a tokenizer gives to what it does not know; None where it knows everything."""
    model = _parts(tokenizer)["model"]
    return model["unk_id"] if "unk_id" in model else tokenizer.token_to_id(model.get("unk_token") or "")


def vocabulary(tokenizer: Tokenizer) -> list[str | None]:
    """Return the token of each id; None where a vocabulary with a token twice left an id without one."""
    by_id = {index: token for token, index in tokenizer.get_vocab(with_added_tokens=True).items()}
    return [by_id.get(index) for index in range(max(by_id) + 1)]


def normalizer_settings(tokenizer: Tokenizer) -> dict[str, object]:
    """Return BertNormalizer's switches (lowercase, strip_accents, clean_text, handle_chinese_chars)."""
    normalizer = _parts(tokenizer)["normalizer"] or {}
    return {key: value for key, value in normalizer.items() if key != "type"}
