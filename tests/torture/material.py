"""What is tortured: a small encoder with the real vocabulary, real questions, and a bundle of every kind made
by the stages."""

import shutil
from pathlib import Path

from comparisons import write_examples
from events import command
from forks import Fork

from qa.data.datasets import EMBEDDED, resolve
from qa.data.squad import read_squad

WINDOWS = ["--max-length", "96", "--doc-stride", "32", "--max-question-length", "24"]
N_QUESTIONS = 24
BUNDLES = ("teacher", "student", "onnx-fp32", "onnx-int8", "tflite-fp32", "tflite-int8")


def make_material(folder: Path) -> None:
    """Fill `folder` unless it is there: encoder/, questions.json, BUNDLES."""
    if folder.exists():
        return
    from tiny_models import write_encoder  # imports torch, which collecting the tests does without

    draft = folder.with_name(folder.name + ".unfinished")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    write_encoder(draft / "encoder")
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
