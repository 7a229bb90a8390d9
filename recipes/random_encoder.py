"""An encoder of a published size with random weights, as a transformers checkpoint. Nothing is downloaded.

    python recipes/random_encoder.py bert-base-uncased runs/sizes/bert-base

Its size and speed are those of the published encoder, and its answers mean nothing. The tokenizer is that of
the shipped student: BERT's uncased vocabulary.
"""

import shutil
import sys
from pathlib import Path

import torch
from transformers import AutoModel, BertConfig, DistilBertConfig

from qa.base.cli import errors_on_one_line
from qa.base.files import whole_folder
from qa.base.shipped import STUDENT, shipped

# Defaults of transformers are the sizes of these two.
CONFIGS = {"bert-base-uncased": BertConfig(), "distilbert-base-uncased": DistilBertConfig()}


def main(name: str, out: Path) -> None:
    """Create the folder `out` with the encoder `name`, whole or not at all; the same weights each time."""
    if out.exists():
        raise SystemExit(f"error: {out}: exists already; remove it, or choose another folder")
    tokenizer = shipped(STUDENT)
    torch.manual_seed(0)
    with whole_folder(out) as made:
        AutoModel.from_config(CONFIGS[name]).save_pretrained(made)
        for file in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(tokenizer / file, made)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in CONFIGS:
        raise SystemExit(f"usage: python recipes/random_encoder.py {{{','.join(CONFIGS)}}} OUT")
    with errors_on_one_line():
        main(sys.argv[1], Path(sys.argv[2]))
