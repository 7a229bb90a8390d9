"""Weights of a transformers checkpoint, under the names of its question-answering class.

A weight that the model does not take is refused by name, unless it is known to change no answer.
"""

import re
import sys
from collections.abc import Collection
from pathlib import Path

import torch
import transformers
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor

from qa.base.errors import OptionError, first_line
from qa.base.quiet import quiet_logs
from qa.formats.registry import FORMATS
from qa.models.encoders import Encoder
from qa.models.hub import HEAD

WEIGHTS = FORMATS["pytorch"].weights
ADAPTER_CONFIG = "adapter_config.json"
WITH_TOKENIZER = "and that of its tokenizer into the same folder"
MERGE = (
    f"merge it into its base model first: merge_and_unload() of peft, then save_pretrained, {WITH_TOKENIZER}"
)
# Names of wrappers: DistributedDataParallel, torch.compile, peft, Lightning, checkpointed, sharded modules.
WRAPPER = re.compile(
    r"(?:^|(?<=\.))"
    r"(?:module|_orig_mod|base_model\.model|model|_checkpoint_wrapped_module|_fsdp_wrapped_module)\."
)
UNMERGED = re.compile(r"\blora_|\.base_layer\.|\.modules_to_save\.|\.original_module\.")
# Poolers, heads of pre-training and classification, and buffers: no start or end logit depends on them.
HARMLESS = re.compile(
    r"(?:^|\.)(?:pooler\.|position_ids$|token_type_ids$)"
    r"|^(?:cls|classifier|pre_classifier|lm_head|predictions|sop_classifier|seq_relationship"
    r"|generator_predictions|generator_lm_head|discriminator_predictions"
    r"|vocab_transform|vocab_layer_norm|vocab_projector)\."
)
PICKLES = (".bin", ".pt", ".pth", ".ckpt")
EXPORTS = (".onnx", ".tflite")


def check_weights_file(what: str, folder: Path) -> None:
    """Raise OptionError, saying what the folder has instead, unless it has model.safetensors."""
    if (folder / ADAPTER_CONFIG).is_file():
        raise OptionError(f"{what}: {folder} has an adapter ({ADAPTER_CONFIG}); {MERGE}")
    if (folder / WEIGHTS).is_file():
        return
    names = sorted(path.name for path in folder.iterdir() if path.is_file())
    exports = [name for name in names if name.endswith(EXPORTS)]
    if f"{WEIGHTS}.index.json" in names:
        more = "it is in several parts: save it in one, by save_pretrained(..., max_shard_size='50GB'), "
        more += WITH_TOKENIZER
    elif exports:
        more = f"{exports[0]} is an export of another tool; give the checkpoint it was made of"
    elif any(name.endswith(PICKLES) for name in names):
        more = (
            "pickle weights (.bin) are never opened: where you trust them, load the model and call its "
            f"save_pretrained, {WITH_TOKENIZER}"
        )
    else:
        more = "other weights are not read: load the model in transformers and call its save_pretrained, "
        more += WITH_TOKENIZER
    raise OptionError(f"{what}: {folder} has no {WEIGHTS}; {more}")


def weight_shapes(what: str, folder: Path) -> dict[str, list[int]]:
    """Return the shape of each weight by its name without wrappers. OptionError for a damaged file."""
    try:
        with safe_open(folder / WEIGHTS, "pt") as file:
            return {
                WRAPPER.sub("", name): file.get_slice(name).get_shape()
                for name in file.keys()  # noqa: SIM118
            }
    except (OSError, SafetensorError) as error:
        raise OptionError(f"{what}: {folder / WEIGHTS}: cannot be read ({first_line(error)})") from None


def _tensors(what: str, folder: Path) -> dict[str, Tensor]:
    """Return the weights by their names without wrappers; say on stderr which names were shortened."""
    where = f"{what}: {folder / WEIGHTS}"
    try:
        tensors = load_file(folder / WEIGHTS)
    except (OSError, SafetensorError) as error:
        raise OptionError(f"{where}: cannot be read ({first_line(error)})") from None
    unmerged = next((name for name in sorted(tensors) if UNMERGED.search(name)), None)
    if unmerged:
        raise OptionError(f"{where} has an adapter inside ({unmerged}); {MERGE}")
    names = {name: WRAPPER.sub("", name) for name in sorted(tensors)}
    wrappers = sorted({wrapper for name in names for wrapper in WRAPPER.findall(name)})
    if len(set(names.values())) < len(names):
        raise OptionError(f"{where} has weights twice, with and without {', '.join(wrappers)} in their names")
    if wrappers:
        print(f"{where}: names of weights are read without {', '.join(wrappers)}", file=sys.stderr)
    return {name: tensors[old] for old, name in names.items()}


def load_weights(what: str, folder: Path, encoder: Encoder, head: Collection[str] = ()) -> dict[str, Tensor]:
    """Load an encoder's weights in place, and return those of the head by the names `head`.

    OptionError names a weight that is missing, has another shape, or is not taken by the model.
    """
    architecture = getattr(transformers, encoder.architecture.question_answering)
    tensors = _tensors(what, folder)
    try:
        with quiet_logs("transformers"):
            # Eager attention, which every class has: only weights are wanted.
            model, info = architecture.from_pretrained(
                None,
                config=encoder.config,
                state_dict=tensors,
                dtype=torch.float32,
                attn_implementation="eager",
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # reported
            )
    except Exception as error:  # torch and transformers raise their own types
        raise OptionError(f"{what}: {folder} cannot be loaded ({first_line(error)})") from None
    where = f"{what}: {folder / WEIGHTS}"
    prefix = f"{model.base_model_prefix}."
    names = {f"{prefix}{key}": key for key in encoder.model.state_dict()}
    for name, seen, wanted in sorted(info["mismatched_keys"]):
        raise OptionError(f"{where}: {name} has the shape {list(seen)}; by config.json it is {list(wanted)}")
    missing = sorted(set(info["missing_keys"]) & {*names, *head})
    if missing:  # transformers would go on with random values
        raise OptionError(f"{where} lacks {len(missing)} weights, {missing[0]} for one")
    parts = {name for name, _ in encoder.model.named_children()}
    unknown = sorted(
        name
        for name in info["unexpected_keys"]
        # A new head comes onto an encoder: any head that the checkpoint has is dropped.
        if (head or name.removeprefix(prefix).split(".")[0] in parts) and not HARMLESS.search(name)
    )
    if unknown:
        raise OptionError(
            f"{where} has {len(unknown)} weights that a {encoder.config.model_type} does not take, "
            f"{unknown[0]} for one; without them it would compute something else"
        )
    state = {name: tensor for name, tensor in model.state_dict().items() if name in {*names, *head}}
    infinite = next((name for name, tensor in state.items() if not tensor.isfinite().all()), None)
    if infinite:
        raise OptionError(f"{where}: {infinite} has a value that is not a finite number; give other weights")
    encoder.model.load_state_dict({key: state[name] for name, key in names.items()})
    return {name.removeprefix(f"{HEAD}."): state[name] for name in head}
