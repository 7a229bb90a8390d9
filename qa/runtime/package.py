"""Packaged file: a .tflite that holds all that answering needs, as `export.android.package` writes it."""

import hashlib
import io
import json
import re
import shutil
import struct
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from qa.base.errors import BundleError, first_line
from qa.base.files import file_sha256
from qa.bundles.bundle import MANIFEST, PROBE, SETTINGS, Bundle, new_bundle, open_bundle, read_manifest
from qa.bundles.hf_import import open_model, opened_in_cache
from qa.bundles.manifest import StageRecord
from qa.data.datasets import cache_folder
from qa.formats import package
from qa.formats.package import MOST_TOKENS
from qa.formats.parameters import Parameters
from qa.formats.registry import FORMATS
from qa.runtime.probe import check_covers, read_probe
from qa.text.settings import QASettings
from qa.text.tokenization import BERT, save_tokenizer

T = TypeVar("T")
VOCABULARY = "vocab.txt"
CHARACTERS = "characters.json"
MEMBERS = (SETTINGS, VOCABULARY, CHARACTERS, PROBE)
# A damaged or hostile file must not fill a phone's memory. A vocabulary of 250,000 tokens takes 2 MB, other
# members less than 100 KB. The app's reader has the same bounds (ModelPackage.java).
MOST_BYTES = {SETTINGS: 500_000, VOCABULARY: 4_000_000, CHARACTERS: 500_000, PROBE: 500_000}
MOST_ADDED = 64  # zlib adds a few bytes to a short text; empty blocks could add any number
TFLITE_MAGIC = b"TFL3"  # at byte 4
# A zip's headers before a member and in its directory, the lengths there of name, extra field and comment,
# and the zip's end (APPNOTE.TXT 6.3: 4.3.7, 4.3.12, 4.3.16).
LOCAL_BYTES = 30
ENTRY_BYTES = 46
LENGTHS_AT = 28
LENGTHS = struct.Struct("<3H")
END = struct.Struct("<4s4H2LH")
LONGEST_STEM = 50  # characters, of up to four bytes; file systems take names of 255 bytes
# Raise it when the same file gives another bundle.
CACHE_VERSION = 1


@dataclass(frozen=True)
class Package:
    """Contents of a packaged file besides the model."""

    info: dict[str, Any]
    """qa.json from `describe`, with the model's size and hash."""
    settings: QASettings
    vocabulary: list[str]
    probe: package.Probe
    texts: Mapping[str, str]
    """Members of the zip, as they are."""


def open_packaged(path: Path) -> Bundle:
    """Open a packaged file: the bundle whose weights it is, or else one made of its package, in the cache.

    Raises BundleError, naming the file, when it is damaged or has no package.
    """
    is_of_bundle = all((path.parent / name).is_file() for name in (MANIFEST, SETTINGS))
    if is_of_bundle and path.name in read_manifest(path.parent).files:
        return open_bundle(path.parent)
    packaged = read_package(path)
    cached = cache_folder() / "packages" / f"{CACHE_VERSION}-{file_sha256(path)[:16]}" / _folder_name(path)
    return opened_in_cache(cached, lambda: _unpack(path, packaged, cached))


def open_file_or_model(path: Path) -> Bundle:
    """Open a phone's .tflite file, a bundle or a transformers checkpoint, as the functions for each do."""
    return open_packaged(path) if is_phone_file(path) else open_model(path)


def is_phone_file(path: Path) -> bool:
    """Return True for a .tflite file."""
    return path.suffix.lower() == ".tflite" and path.is_file()


def _folder_name(path: Path) -> str:
    """Return a short name for the folder of a file: not "..", and with room for a suffix."""
    return re.sub(r"[^\w.-]", "_", path.stem).strip(".")[:LONGEST_STEM] or "model"


def _unpack(path: Path, packaged: Package, out: Path) -> Bundle:
    info = packaged.info
    n_total = info["parameters"]["total"]
    n_without = info["parameters"]["without_embeddings"]
    recorded = StageRecord(
        format="tflite",
        precision=info["precision"],
        stage="package",
        parameters=Parameters(total=n_total, without_embeddings=n_without),
    )
    with new_bundle(out, recorded) as draft:
        shutil.copyfile(path, draft.path / FORMATS["tflite"].weights)
        save_tokenizer(_tokenizer(packaged), draft.path, packaged.settings.max_length)
        packaged.settings.save(draft.path / SETTINGS)
        (draft.path / PROBE).write_text(packaged.texts[PROBE], encoding="utf-8")
    return draft.bundle


def _tokenizer(packaged: Package) -> Tokenizer:
    settings = packaged.info["wordpiece"]
    vocabulary = {token: index for index, token in enumerate(packaged.vocabulary)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=BERT.unk, **settings))
    tokenizer.normalizer = normalizers.BertNormalizer(**packaged.info["normalizer"])
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix=settings["continuing_subword_prefix"])
    tokenizer.add_special_tokens(list(BERT.names))
    return tokenizer


def read_package(path: Path) -> Package:
    """Read and verify a packaged file: sizes, checksums, the model's hash, and that the parts fit each other.

    Raises BundleError, naming the file and what is wrong with it.
    """
    data = path.read_bytes()
    if data[4:8] != TFLITE_MAGIC:
        raise BundleError(f"{path}: not a TFLite model; copy the file again or export it again")
    begin, texts = read_zip(path, data)
    info = _decoded(path, SETTINGS, texts, package.Info)
    if info.model.bytes != begin or hashlib.sha256(data[:begin]).hexdigest() != info.model.sha256:
        raise BundleError(
            f"{path}: the model changed since it was packaged (SHA-256 differs); copy the file again"
        )
    values = json.loads(texts[SETTINGS])
    settings = QASettings.from_json(json.dumps(values["settings"]), f"{path}: {SETTINGS}")
    tokens = texts[VOCABULARY].removesuffix("\n").split("\n")
    ids = {token: index for index, token in enumerate(tokens)}
    if len(tokens) > MOST_TOKENS or len(ids) != len(tokens):
        raise BundleError(f"{path}: {VOCABULARY}: has a token twice, or too many; export the model again")
    for token in BERT.names:
        if token not in ids or info.special_tokens.get(token) != ids[token]:
            raise BundleError(f"{path}: {VOCABULARY}: has no {token} at its id; export the model again")
    _decoded(path, CHARACTERS, texts, package.Characters)
    probe = read_probe(texts[PROBE], f"{path}: {PROBE}")
    for window in probe.windows:
        if len(window.input_ids) > settings.max_length or max(window.input_ids) >= len(tokens):
            raise BundleError(f"{path}: {PROBE}: does not fit the model; export the model again")
    check_covers(probe.windows, info.lengths, f"{path}: {PROBE}")
    return Package(values, settings, tokens, probe, texts)


def read_zip(path: Path, data: bytes) -> tuple[int, dict[str, str]]:
    """Return where the zip begins, and its members; BundleError unless it is as the export writes it."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            names = [member.filename for member in members]
            if names != list(MEMBERS):
                raise BundleError(f"{path}: the package has {names!a}, not {MEMBERS}; export the model again")
            for name, member in zip(names, members, strict=True):
                if not member.compress_size - MOST_ADDED <= member.file_size <= MOST_BYTES[name]:
                    raise BundleError(f"{path}: {name} claims {member.file_size} bytes; copy the file again")
                if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise BundleError(f"{path}: {name} is packed in another way; export the model again")
            contents = {}
            for name, member in zip(names, members, strict=True):
                with archive.open(member) as stream:  # no more than it claims is unpacked
                    contents[name] = stream.read(member.file_size + 1)
            texts = {name: content.decode() for name, content in contents.items()}
            directory_at = archive.start_dir
    except BundleError:
        raise
    except Exception as error:  # zipfile has a dozen types for damage
        raise BundleError(
            f"{path}: has no package ({first_line(error)}); copy the file again, or take a model whose "
            "tokenizer is WordPiece: only such a file gets one"
        ) from None
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
