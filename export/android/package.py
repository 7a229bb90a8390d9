"""One sideloadable file: a .tflite with a zip appended that holds all a phone needs besides the model.

The zip has qa.json (settings, precision, signatures, special tokens, normalizer), vocab.txt, characters.json
(the tokenizer's Unicode tables) and probe.json. A flatbuffer is read from its start and a zip from its end,
so TFLite runtimes open the file as it is, and `unzip` lists it.
"""

import hashlib
import io
import json
import struct
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from export.android import schema
from export.android.characters import character_tables
from export.android.schema import LONGEST_NAME, LONGEST_WORD, MOST_SETTINGS, MOST_TOKENS, UNSHOWABLE
from qa.base.errors import BundleError, UnsupportedExport, first_line
from qa.bundles.bundle import PROBE, SETTINGS, Bundle
from qa.formats.tensors import INPUTS, OUTPUTS
from qa.runtime.probe import Probe, check_covers, read_probe
from qa.text.settings import QASettings
from qa.text.tokenization import BERT, normalizer_settings, special_tokens, vocabulary

T = TypeVar("T")
VOCABULARY = "vocab.txt"
CHARACTERS = "characters.json"
MEMBERS = (SETTINGS, VOCABULARY, CHARACTERS, PROBE)
# A damaged or hostile file must not fill a phone's memory. A vocabulary of 250,000 tokens takes 2 MB, other
# members less than 100 KB. The app's reader has the same bounds (ModelPackage.java).
MOST_BYTES = {SETTINGS: 500_000, VOCABULARY: 4_000_000, CHARACTERS: 500_000, PROBE: 500_000}
MOST_ADDED = 64  # zlib adds a few bytes to a short text; empty blocks could add any number
BERT_TOKENIZER = ("WordPiece", "BertNormalizer", "BertPreTokenizer")
TFLITE_MAGIC = b"TFL3"  # at byte 4
ZIP_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest a zip can hold: the same model gives the same bytes
# A zip's headers before a member and in its directory, the lengths there of name, extra field and comment,
# and the zip's end (APPNOTE.TXT 6.3: 4.3.7, 4.3.12, 4.3.16).
LOCAL_BYTES = 30
ENTRY_BYTES = 46
LENGTHS_AT = 28
LENGTHS = struct.Struct("<3H")
END = struct.Struct("<4s4H2LH")


@dataclass(frozen=True)
class Package:
    """Contents of a packaged file besides the model."""

    info: dict[str, Any]
    """qa.json from `describe`, with the model's size and hash."""
    settings: QASettings
    vocabulary: list[str]
    probe: Probe


def describe(parent: Bundle, precision: str) -> dict[str, Any]:
    """Return the packaged qa.json, but for its signatures: all that a program without this library must know.

    Raises UnsupportedExport when a vocab.txt and a few switches cannot describe the tokenizer.
    """
    tokenizer = parent.tokenizer
    parts = json.loads(tokenizer.to_str())
    model = parts["model"]
    kinds = (model["type"], *((parts[name] or {}).get("type") for name in ("normalizer", "pre_tokenizer")))
    if kinds != BERT_TOKENIZER:
        raise _unsupported(
            parent,
            f"a packaged model needs the tokenizer {BERT_TOKENIZER}, not {kinds}; use python -m export.onnx",
        )
    special = special_tokens(tokenizer)
    if special is not BERT:
        raise _unsupported(
            parent,
            f"a packaged model joins question and passage by {BERT.cls} and {BERT.sep}, and this one by "
            f"{special.cls} and {special.sep}; use python -m export.onnx",
        )
    # Such tokens are found in a text before anything else is done to it.
    for token in tokenizer.get_added_tokens_decoder().values():
        if not token.special or token.content not in model["vocab"]:
            raise _unsupported(
                parent, f"token {token.content!r} was added to the tokenizer, which a {VOCABULARY} cannot say"
            )
    longest_word = "max_input_chars_per_word"
    values = parent.settings.to_dict() | {longest_word: model[longest_word]}
    for name, most in (MOST_SETTINGS | {longest_word: LONGEST_WORD}).items():
        if values[name] > most:
            raise _unsupported(parent, f"{name} is {values[name]}; a packaged model may have {most}")
    if model["unk_token"] != BERT.unk:
        raise _unsupported(
            parent, f"unknown words become {model['unk_token']!r}; a packaged model needs {BERT.unk}"
        )
    return {
        "format": schema.PACKAGE_FORMAT,
        "name": UNSHOWABLE.sub("", parent.path.resolve().name)[:LONGEST_NAME],
        "precision": precision,
        "parameters": msgspec.to_builtins(parent.manifest.parameters),
        **({"f1": scores.f1} if (scores := parent.manifest.scores) else {}),  # of the parent, in percent
        "settings": parent.settings.to_dict(),
        "inputs": list(INPUTS),
        "outputs": list(OUTPUTS),
        "special_tokens": {token: tokenizer.token_to_id(token) for token in BERT.names},
        "normalizer": normalizer_settings(tokenizer),
        "wordpiece": {key: model[key] for key in ("continuing_subword_prefix", longest_word)},
        "parent": msgspec.to_builtins(parent.reference()),
    }


def vocabulary_lines(parent: Bundle) -> list[str]:
    """Return the tokens, line number = id; UnsupportedExport when a vocab.txt cannot hold them."""
    tokens: list[str] = []
    for index, token in enumerate(vocabulary(parent.tokenizer)):
        if token is None:
            raise _unsupported(parent, f"no token has id {index}; a vocab.txt needs ids without gaps")
        # Readers of vocab.txt split at line ends and strip the lines.
        if "\n" in token or "\r" in token or token != token.strip():
            raise _unsupported(
                parent, f"token {token!r} has a space or line break, which a vocab.txt cannot hold"
            )
        tokens.append(token)
    if len(tokens) > MOST_TOKENS:
        raise _unsupported(parent, f"has {len(tokens)} tokens; a packaged model may have {MOST_TOKENS}")
    return tokens


def _unsupported(parent: Bundle, why: str) -> UnsupportedExport:
    return UnsupportedExport(f"{parent.path}: {why}")


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

    Raises BundleError, naming the file, when it is damaged.
    """
    info = read_package(source).info
    data = source.read_bytes()
    begin, texts = _read_zip(source, data)
    target.write_bytes(data[:begin])
    _append(target, {**texts, SETTINGS: _info_text({**info, "settings": settings.to_dict()})})


def read_package(path: Path) -> Package:
    """Read and verify a packaged file: sizes, checksums, the model's hash, and that the parts fit each other.

    Raises BundleError, naming the file and what is wrong with it.
    """
    data = path.read_bytes()
    if data[4:8] != TFLITE_MAGIC:
        raise BundleError(f"{path}: not a TFLite model; copy the file again or export it again")
    begin, texts = _read_zip(path, data)
    info = _decoded(path, SETTINGS, texts, schema.Info)
    if info.model.bytes != begin or hashlib.sha256(data[:begin]).hexdigest() != info.model.sha256:
        raise BundleError(
            f"{path}: the model changed since it was packaged (SHA-256 differs); copy the file again"
        )
    values = json.loads(texts[SETTINGS])
    settings = QASettings.from_json(json.dumps(values["settings"]), f"{path}: {SETTINGS}")
    tokens = texts[VOCABULARY].removesuffix("\n").split("\n")
    check_vocabulary(tokens, info.special_tokens, f"{path}: {VOCABULARY}")
    _decoded(path, CHARACTERS, texts, schema.Characters)
    for window in _decoded(path, PROBE, texts, schema.Probe).windows:
        if len(window.input_ids) > settings.max_length or max(window.input_ids) >= len(tokens):
            raise BundleError(f"{path}: {PROBE}: does not fit the model; export the model again")
    probe = read_probe(texts[PROBE], f"{path}: {PROBE}")
    check_covers(probe.windows, info.lengths, f"{path}: {PROBE}")
    return Package(values, settings, tokens, probe)


def check_vocabulary(tokens: Sequence[str], special: Mapping[str, int], where: str) -> None:
    """Raise BundleError unless each token is there once and the special ones have these ids."""
    ids = {token: index for index, token in enumerate(tokens)}
    if len(tokens) > MOST_TOKENS or len(ids) != len(tokens):
        raise BundleError(f"{where}: has a token twice, or too many; export the model again")
    for token in BERT.names:
        if token not in ids or special.get(token) != ids[token]:
            raise BundleError(f"{where}: has no {token} at its id; export the model again")


def _read_zip(path: Path, data: bytes) -> tuple[int, dict[str, str]]:
    """Return where the zip begins, and its members; BundleError unless it is as `_append` writes it."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            names = [member.filename for member in members]
            if names != list(MEMBERS):
                raise BundleError(f"{path}: the package has {names!a}, not {MEMBERS}; export the model again")
            for name, member in zip(names, members, strict=True):
                if not member.compress_size - MOST_ADDED <= member.file_size <= MOST_BYTES[name]:
                    raise BundleError(f"{path}: {name} claims {member.file_size} bytes; copy the file again")
            contents = {name: archive.read(name) for name in names}
            texts = {name: content.decode() for name, content in contents.items()}
            directory_at = archive.start_dir
    except BundleError:
        raise
    except Exception as error:  # zipfile has a dozen types for damage
        raise BundleError(f"{path}: has no package ({first_line(error)}); copy the file again") from None
    # zipfile reads over wrong sizes, a wrong number of members, and bytes behind the zip.
    begin = end = members[0].header_offset
    entry_at = directory_at
    fits = True
    for name, member in zip(names, members, strict=True):
        lengths = LENGTHS.unpack_from(data, entry_at + LENGTHS_AT)
        fits = fits and lengths == (len(name), 0, 0) and len(contents[name]) == member.file_size
        end += LOCAL_BYTES + len(name) + member.compress_size
        entry_at += ENTRY_BYTES + len(name)
    counts = (len(names), len(names), entry_at - directory_at, directory_at)
    if not fits or end != directory_at or data[entry_at:] != END.pack(b"PK\5\6", 0, 0, *counts, 0):
        raise BundleError(f"{path}: the package is damaged; copy the file again")
    return begin, texts


def _decoded(path: Path, name: str, texts: Mapping[str, str], kind: type[T]) -> T:
    """Return a member that is JSON; BundleError names the field that is wrong."""
    try:
        return msgspec.json.decode(texts[name], type=kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BundleError(f"{path}: {name}: {error}; export the model again") from None
