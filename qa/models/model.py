"""Model of every stage: an encoder and a head, saved as config.json and model.safetensors.

It maps input_ids, attention_mask, token_type_ids (B, T) int to start_logits, end_logits (B, T) float32, by
name.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save
from torch import Tensor, nn

from qa.base.cli import check_option
from qa.base.errors import BundleError, OptionError, first_line
from qa.base.files import write_whole
from qa.formats.parameters import Parameters
from qa.formats.registry import CONFIG, FORMATS, WHY_NOT_IN_TRANSFORMERS
from qa.models.architectures import KERNELS, encoder_type
from qa.models.encoders import Encoder
from qa.models.heads import build_head
from qa.models.heads.segments import LONGEST_QUESTION
from qa.models.hub import OWN_TYPE, encoder_config, from_hub, hub_config, to_hub
from qa.models.quantized_embedding import ProductQuantizedEmbedding
from qa.models.storage import opened, stored
from qa.models.surgery import shrink_to
from qa.text.settings import QASettings

WEIGHTS = FORMATS["pytorch"].weights


def write_config(folder: Path, config: dict[str, Any]) -> None:
    """Write config.json."""
    (folder / CONFIG).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")


def read_config(folder: Path) -> Any:
    """Read config.json; BundleError when it is not JSON."""
    try:
        return json.loads((folder / CONFIG).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise BundleError(f"{folder / CONFIG}: cannot be read as JSON ({error})") from None


class QAModel(nn.Module):
    """Encoder and head; the head of a standalone model is its output layer and has its name."""

    def __init__(
        self, encoder: Encoder, head_name: str, activation: str = "gelu", seed: int | None = None
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.head_name = head_name
        self.activation = activation
        self.head = self._build_head(seed)

    def _build_head(self, seed: int | None) -> nn.Module:
        output_layer = self.encoder.architecture.output
        name = self.encoder.config.model_type
        if output_layer is None:
            return build_head(self.head_name, self.encoder.hidden_size, self.activation, seed)
        if self.head_name != name:
            raise OptionError(
                f"{name} is a standalone model with its own output layer; it takes no head {self.head_name!r}"
            )
        return output_layer(self.encoder.config)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, hidden_states: bool = False
    ) -> dict[str, Any]:
        """Return logits by name; with `hidden_states` also the states (B, T, H) of embeddings and layers."""
        states, all_states = self.encoder(input_ids, attention_mask, token_type_ids, hidden_states)
        start, end = self.head(states, attention_mask, token_type_ids).float().unbind(-1)  # each (B, T)
        output: dict[str, Any] = {"start_logits": start, "end_logits": end}
        return output | ({"hidden_states": all_states} if hidden_states else {})

    def check_windows(self, settings: QASettings) -> None:
        """Raise OptionError unless it has positions for these windows and reads all of their questions."""
        self.encoder.check_length(settings.max_length)
        if any(getattr(module, "truncates_question", False) for module in self.modules()):
            n = settings.max_question_length
            wanted = f"at most {LONGEST_QUESTION}, the longest that {self.head_name} reads"
            check_option(n <= LONGEST_QUESTION, "--max-question-length", n, wanted)

    def count_parameters(self) -> Parameters:
        """Count every parameter once."""
        kinds = (nn.Embedding, ProductQuantizedEmbedding)
        tables = [module for module in self.modules() if isinstance(module, kinds)]
        inside = {parameter for table in tables for parameter in table.parameters()}
        without = sum(p.numel() for p in self.parameters() if p not in inside)
        total = without + sum(t.num_embeddings * t.embedding_dim for t in tables)
        return Parameters(total=total, without_embeddings=without)

    def config(self) -> dict[str, Any]:
        """Return all that is needed to build the model before its weights are loaded."""
        parts = self.encoder.layer_parts()
        words = self.encoder.words
        return {
            "encoder": encoder_config(self.encoder.config),
            "heads_per_layer": [p.n_heads for p in parts],
            "neurons_per_layer": [p.n_neurons for p in parts],
            "head": {"name": self.head_name, "activation": self.activation},
            **({"word_table": words.form} if isinstance(words, ProductQuantizedEmbedding) else {}),
        }

    def not_in_transformers(self, precision: str = "fp32") -> str:
        """Return why transformers has no class for this model; empty where it has one."""
        if precision == "int8-weights":
            return "its weights are stored in int8"
        if not self.encoder.architecture.question_answering:
            return f"{self.head_name} is a model of PocketQA's own"
        if self.head_name != "linear":
            return f"transformers has no head {self.head_name}, only one Linear"
        if isinstance(self.encoder.words, ProductQuantizedEmbedding):
            return "its embedding table is product-quantized"
        with torch.device("meta"):  # shapes alone
            whole = Encoder(self.encoder.config)
        sizes = [
            [(p.n_heads, p.n_neurons) for p in encoder.layer_parts()] for encoder in (self.encoder, whole)
        ]
        return "" if sizes[0] == sizes[1] else "its layers were pruned, each to a size of its own"

    def save_pretrained(
        self, folder: Path, precision: str = "fp32", columns: Mapping[str, Tensor] | None = None
    ) -> None:
        """Write config.json and model.safetensors in fp32, fp16 or int8-weights (qa.models.storage)."""
        tensors = stored(self.state_dict(), precision, columns)
        why_not = self.not_in_transformers(precision)
        config = {"model_type": OWN_TYPE, WHY_NOT_IN_TRANSFORMERS: why_not, **self.config()}
        if not why_not:
            config = {**hub_config(self.encoder.config), OWN_TYPE: self.config()}
            tensors = to_hub(tensors, self.encoder.config.model_type)
        write_config(folder, config)
        write_whole(folder / WEIGHTS, save(tensors, {"format": "pt"}))

    @classmethod
    def from_config(cls, config: dict[str, Any], where: str = "config") -> "QAModel":
        """Build an untrained model from `config()` or config.json; errors name `where`."""
        try:
            config = config.get(OWN_TYPE, config)
            encoder = {key: value for key, value in config["encoder"].items() if key not in KERNELS}
            head = config["head"]
            spec = encoder_type(encoder.pop("model_type"), where)
            model = cls(Encoder(spec.config_class(**encoder)), head["name"], head["activation"])
            shrink_to(model.encoder.layer_parts(), config["heads_per_layer"], config["neurons_per_layer"])
            if "word_table" in config:
                n_tokens = model.encoder.words.num_embeddings
                width = model.encoder.words.embedding_dim
                model.encoder.set_words(ProductQuantizedEmbedding(n_tokens, width, config["word_table"]))
        except OptionError:
            raise
        except Exception as error:  # whatever transformers and torch make of a config that is none
            raise BundleError(f"{where}: not a model config ({error!r}); make the bundle again") from None
        return model

    @classmethod
    def from_pretrained(cls, folder: Path) -> "QAModel":
        """Build from config.json and load model.safetensors, as fp32, in eval mode."""
        model = cls.from_config(read_config(folder), str(folder / CONFIG))
        try:
            tensors = from_hub(opened(load_file(folder / WEIGHTS)), model.encoder.config.model_type)
            # torch would convert floats to codes without an error
            for name, expected in model.state_dict().items():
                if name in tensors and tensors[name].dtype != expected.dtype:
                    raise TypeError(f"{name} is {tensors[name].dtype}, wanted {expected.dtype}")
            model.load_state_dict(tensors)
        except Exception as error:  # safetensors raises its own type, torch a RuntimeError listing every name
            raise BundleError(f"{folder / WEIGHTS}: does not fit {CONFIG} ({first_line(error)})") from None
        return model.eval()
