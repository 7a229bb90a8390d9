"""What is tortured: a small encoder with the real vocabulary, real questions, and a bundle of every kind made
by the stages."""

import shutil
from pathlib import Path

from comparisons import write_examples
from events import command
from forks import Fork

from qa.data.datasets import EMBEDDED, resolve
from qa.data.squad import read_squad

SMALL = {
    "vocab_size": 30522,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
}
WINDOWS = ["--max-length", "96", "--doc-stride", "32", "--max-question-length", "24"]
N_QUESTIONS = 24
BUNDLES = ("teacher", "student", "onnx-fp32", "onnx-int8", "tflite-fp32", "tflite-int8")


def make_material(folder: Path) -> None:
    """Fill `folder` unless it is there: encoder/, questions.json, BUNDLES."""
    if folder.exists():
        return
    draft = folder.with_name(folder.name + ".unfinished")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    _make_encoder(draft / "encoder")
    examples = read_squad(resolve(EMBEDDED, "train"))
    write_examples(draft / "questions.json", examples[:: 1500 // N_QUESTIONS][:N_QUESTIONS])
    questions = ["--data", "questions.json", "--epochs", "3", "--precision", "fp32"]
    teacher = "distill.finetune --model encoder --head linear --out teacher"
    student = "distill.run --teacher teacher --student-layers 1 --out runs"
    exports = [
        f"export.{kind} --model runs/student --quantize {name} --out {kind}-{name}"
        for kind in ("onnx", "tflite")
        for name in ("fp32", "int8")
    ]
    commands = [[*teacher.split(), *questions, *WINDOWS], [*student.split(), *questions]]
    for words in (*commands, *map(str.split, exports)):
        code, said = Fork(command, words, folder=draft, scratch=draft).finish()
        if code != 0:
            raise SystemExit(f"the material could not be made: {' '.join(words)}\n{said}")
    (draft / "runs" / "student").rename(draft / "student")
    draft.rename(folder)


def _make_encoder(folder: Path) -> None:
    import torch
    from torch import nn
    from transformers import BertConfig, BertModel

    from qa.models.pretrained import copy_tokenizer, embedded_folder

    torch.manual_seed(0)
    model = BertModel(BertConfig(**SMALL), add_pooling_layer=False)
    for module in model.modules():
        if isinstance(module, nn.Linear):
            # Logits of a trained model's size: those of the usual tiny weights hide differences.
            nn.init.normal_(module.weight, std=module.in_features**-0.5)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight)
    model.save_pretrained(folder)
    copy_tokenizer(embedded_folder(), folder)
