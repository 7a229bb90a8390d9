"""Command lines with values that cannot work: one clear line and exit code 2, or what was asked for."""

import runpy
import sys
from dataclasses import fields

import pytest
from amounts import cases, rng, wrong_exit
from documented import options_of
from forks import Fork
from material import WINDOWS
from places import ROOT
from stages import TRAINED, drafts, lay_out

from qa.base import shipped

# Arguments that work, by module.
COMMANDS = {
    "distill.finetune": "--model encoder --head linear --out made",
    "distill.run": "--teacher teacher --student-layers 1 --out made",
    "compress.prune": "--model teacher --importance-windows 8 --out made",
    "compress.qat": "--model student --calibration-windows 8 --out made",
    "compress.embeddings": "--model student --embeddings pq4 --out made",
    "export.onnx": "--model student --out made",
    "export.tflite": "--model student --out made",
    "qa.evaluate": "--data questions.json --model onnx-int8 --out made",
    "qa.ask": "--model onnx-int8 --question Who? --context questions.json",
    "qa.bundles.hf_import": "--model student --out made",
    "qa.data.sample": "--data questions.json --questions 5 --out made",
    "benchmarks.compare": "onnx-int8 --data questions.json --rows made --quick",
    "benchmarks.table": str(ROOT / "benchmarks" / "results" / "arm64-qemu.jsonl"),
}
# What keeps training short.
MORE = {
    "distill.finetune": [*WINDOWS, *TRAINED],
    **dict.fromkeys(("distill.run", "compress.prune", "compress.qat"), TRAINED),
}
VALUES = (
    *("", " ", "-", "-1", "0", "0.0", "-0.5", "1e-300", "nan", "inf", "-inf", "1e400", "2147483648"),
    *("99999999999999999999", "abc", "None", "True", "0x10", "1_0", "١", "/", ".", "..", "/dev/null"),
    *("/proc/self/mem", "absent", "absent/absent", "a\nb", "é", "\udcff", "x" * 5000, "--out"),
    *("questions.json", "teacher", "encoder", "tflite-int8", "made/made", "https://example.org/x"),
)
# 1: a model could not be measured; no question has an answer
ALLOWED = {"benchmarks.compare": (0, 1, 2), "qa.ask": (0, 1, 2)}
# A number that fits and is large makes a run of years, which is what was asked for.
MAY_BE_LARGE = ("epochs", "iterations")
LARGE = ("2147483648", "99999999999999999999", "inf", "1e400")
# One takes no value; the other needs what make toolchains installs.
LEFT_OUT = ("resume", "toolchains")


def flags_of(module):
    """The options of a command that take a value."""
    return [field.name for field in fields(options_of(module)) if field.name not in LEFT_OUT]


def command(module, arguments, folder):
    """`python -m MODULE ARGUMENTS` in this process, which is the command's own."""
    shipped.FOLDER = folder  # where no model is named: seconds, not minutes
    sys.argv = [module, *arguments]
    sys.modules.pop(module, None)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


@pytest.mark.parametrize("number", cases(1500))
def test_a_wrong_command_line_is_refused_and_leaves_nothing_half_made(material, tmp_path, number):
    """One to three options are replaced, left out or given twice."""
    chance = rng("command line", number)
    module = list(COMMANDS)[number % len(COMMANDS)]
    working = [*COMMANDS[module].split(), *MORE.get(module, [])]
    arguments = list(working)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        flag = chance.choice(flags_of(module))
        value = chance.choice(VALUES)
        if not (flag in MAY_BE_LARGE and value in LARGE):
            arguments += [f"--{flag.replace('_', '-')}", value]
    if chance.randrange(20) == 0:
        arguments = arguments[chance.randrange(len(working)) :]
    folder = tmp_path / "lines"
    lay_out(folder, material)
    code, stderr = Fork(command, module, arguments, folder, folder=folder, scratch=tmp_path).finish(180)
    shown = f"{module} {' '.join(ascii(word)[:80] for word in arguments)}"
    assert wrong_exit(code, stderr, ALLOWED.get(module, (0, 2))) == "", shown
    assert drafts(folder) == [], shown
