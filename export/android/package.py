"""One sideloadable file: a .tflite with a zip appended that holds all a phone needs besides the model.

The zip has qa.json (settings, precision, signatures, special tokens, normalizer), vocab.txt, characters.json
(the tokenizer's Unicode tables) and probe.json. A flatbuffer is read from its start and a zip from its end,
so TFLite runtimes open the file as it is, and `unzip` lists it. `qa.runtime.package` reads it.
"""

import hashlib
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from export.android.characters import character_tables
from qa.base.errors import BundleError, UnsupportedExport
from qa.base.shipped import is_shipped
from qa.bundles.bundle import PROBE, SETTINGS, Bundle
from qa.formats.package import (
    LONGEST_NAME,
    LONGEST_WORD,
    MOST_SETTINGS,
    MOST_TOKENS,
    PACKAGE_FORMAT,
    UNSHOWABLE,
)
from qa.formats.tensors import INPUTS, OUTPUTS
from qa.runtime.package import (
    CHARACTERS,
    MEMBERS,
    MOST_BYTES,
    TFLITE_MAGIC,
    VOCABULARY,
    read_package,
)
from qa.text.settings import QASettings
from qa.text.tokenization import BERT, normalizer_settings, special_tokens, vocabulary

BERT_TOKENIZER = ("WordPiece", "BertNormalizer", "BertPreTokenizer")
IN_EACH_RUN = ("student", "fitted", "checkpoint-")  # bundles that have the same name in each run
ZIP_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest a zip can hold: the same model gives the same bytes


def describe(parent: Bundle, precision: str) -> dict[str, Any]:
    """Return the packaged qa.json, except its signatures: all that a program without this library must know.

    Raises UnsupportedExport when a vocab.txt and a few switches cannot describe the tokenizer.
    """
    tokenizer = parent.tokenizer
    parts = json.loads(tokenizer.to_str())
    model = parts["model"]
    kinds = (model["type"], *((parts[name] or {}).get("type") for name in ("normalizer", "pre_tokenizer")))
    if kinds != BERT_TOKENIZER:
        raise UnsupportedExport(
            f"its tokenizer is {' with '.join(filter(None, kinds))}, and a packaged model needs "
            f"{' with '.join(BERT_TOKENIZER)}"
        )
    special = special_tokens(tokenizer)
    if special is not BERT:
        raise UnsupportedExport(
            f"a packaged model joins question and passage by {BERT.cls} and {BERT.sep}, and this one by "
            f"{special.cls} and {special.sep}"
        )
    # Such tokens are found in a text before anything else is done to it.
    for token in tokenizer.get_added_tokens_decoder().values():
        if not token.special or token.content not in model["vocab"]:
            raise UnsupportedExport(
                f"token {token.content!r} was added to the tokenizer, which a {VOCABULARY} cannot say"
            )
    longest_word = "max_input_chars_per_word"
    values = parent.settings.to_dict() | {longest_word: model[longest_word]}
    for name, most in (MOST_SETTINGS | {longest_word: LONGEST_WORD}).items():
        if values[name] > most:
            raise UnsupportedExport(f"{name} is {values[name]}; a packaged model may have {most}")
    if model["unk_token"] != BERT.unk:
        raise UnsupportedExport(
            f"unknown words become {model['unk_token']!r}; a packaged model needs {BERT.unk}"
        )
    return {
        "format": PACKAGE_FORMAT,
        "name": UNSHOWABLE.sub("", _name(parent.path.resolve()))[:LONGEST_NAME],
        "precision": precision,
        "parameters": msgspec.to_builtins(parent.manifest.parameters),
        "settings": parent.settings.to_dict(),
        "inputs": list(INPUTS),
        "outputs": list(OUTPUTS),
        "special_tokens": {token: tokenizer.token_to_id(token) for token in BERT.names},
        "normalizer": normalizer_settings(tokenizer),
        "wordpiece": {key: model[key] for key in ("continuing_subword_prefix", longest_word)},
        "parent": msgspec.to_builtins(parent.reference()),
    }


def _name(bundle: Path) -> str:
    """Return the name of a bundle's folder, with that of its run where others of that name are likely.

    A phone replaces a model by another of the same name.
    """
    is_one_of_many = bundle.name.startswith(IN_EACH_RUN) and not is_shipped(bundle)
    return f"{bundle.parent.name}-{bundle.name}" if is_one_of_many else bundle.name


def vocabulary_lines(parent: Bundle) -> list[str]:
    """Return the tokens, line number = id; UnsupportedExport when a vocab.txt cannot hold them."""
    tokens: list[str] = []
    for index, token in enumerate(vocabulary(parent.tokenizer)):
        if token is None:
            raise UnsupportedExport(f"no token has id {index}; a vocab.txt needs ids without gaps")
        # Readers of vocab.txt split at line ends and strip the lines.
        if "\n" in token or "\r" in token or token != token.strip():
            raise UnsupportedExport(
                f"token {token!r} has a space or line break, which a vocab.txt cannot hold"
            )
        tokens.append(token)
    if len(tokens) > MOST_TOKENS:
        raise UnsupportedExport(f"has {len(tokens)} tokens; a packaged model may have {MOST_TOKENS}")
    return tokens


def append_package(path: Path, info: Mapping[str, Any], tokens: Sequence[str], probe: str) -> None:
    """Append the zip to a bare .tflite, in place.

    Quantize before: a converter drops what it does not know.
    """
    model = path.read_bytes()
    if model[4:8] != TFLITE_MAGIC or zipfile.is_zipfile(path):
        raise BundleError(f"{path}: not a bare .tflite model, so nothing can be appended to it")
    info = {**info, "model": {"bytes": len(model), "sha256": hashlib.sha256(model).hexdigest()}}
    texts = {
        SETTINGS: _info_text(info),
        VOCABULARY: "".join(f"{token}\n" for token in tokens),
        CHARACTERS: json.dumps(character_tables(), separators=(",", ":")),
        PROBE: probe,
    }
    _append(path, texts)


def _append(path: Path, texts: Mapping[str, str]) -> None:
    contents = {name: text.encode("utf-8") for name, text in texts.items()}
    for name, content in contents.items():
        if len(content) > MOST_BYTES[name]:
            raise UnsupportedExport(
                f"{path}: {name} takes {len(content)} bytes; a packaged model may have {MOST_BYTES[name]}"
            )
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in MEMBERS:
            member = zipfile.ZipInfo(name, ZIP_TIME)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.create_system = 3
            member.external_attr = 0o644 << 16
            archive.writestr(member, contents[name])


def _info_text(info: Mapping[str, Any]) -> str:
    return json.dumps(info, indent=1, ensure_ascii=False) + "\n"


def package_again(source: Path, target: Path, settings: QASettings) -> None:
    """Write a packaged file with other settings; the model and the other members stay the same.

    Raises BundleError, naming the file, when it is damaged, or when no reader takes the settings.
    """
    packaged = read_package(source)
    info = {**packaged.info, "settings": settings.to_dict()}
    target.write_bytes(source.read_bytes()[: info["model"]["bytes"]])
    _append(target, {**packaged.texts, SETTINGS: _info_text(info)})
    read_package(target)
