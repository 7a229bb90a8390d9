"""Command lines with values that cannot work, in a fork of a process that has everything imported."""

import importlib
import runpy
import shutil
import sys
from dataclasses import fields

from case import Torture, wrong_exit
from forks import fork, import_everything
from material import ROOT, WINDOWS
from stages import TRAINED, drafts, lay_out

from qa.bundles import shipped

# What works, by module: its options' class and small arguments, last of them what keeps it short.
COMMANDS: dict[str, tuple[str, list[str]]] = {
    "distill.finetune": (
        "FinetuneConfig",
        ["--model", "encoder", "--head", "linear", "--out", "made", *WINDOWS, *TRAINED],
    ),
    "distill.run": (
        "DistillConfig",
        ["--teacher", "teacher", "--student-layers", "1", "--out", "made", *TRAINED],
    ),
    "compress.prune": (
        "PruneConfig",
        ["--model", "teacher", "--importance-windows", "8", "--out", "made", *TRAINED],
    ),
    "compress.qat": (
        "QuantizeAwareConfig",
        ["--model", "student", "--calibration-windows", "8", "--out", "made", *TRAINED],
    ),
    "compress.embeddings": (
        "EmbeddingsConfig",
        ["--model", "student", "--embeddings", "pq4", "--out", "made"],
    ),
    "export.onnx": ("OnnxConfig", ["--model", "student", "--out", "made"]),
    "export.tflite": ("TFLiteConfig", ["--model", "student", "--out", "made"]),
    "qa.evaluate": ("EvaluateConfig", ["--data", "questions.json", "--model", "onnx-int8", "--out", "made"]),
    "qa.ask": ("AskConfig", ["--model", "onnx-int8", "--question", "Who?", "--context", "questions.json"]),
    "qa.bundles.hf_import": ("CheckpointConfig", ["--model", "student", "--out", "made"]),
    "qa.data.sample": ("SampleConfig", ["--data", "questions.json", "--questions", "5", "--out", "made"]),
    "benchmarks.compare": (
        "CompareConfig",
        ["onnx-int8", "--data", "questions.json", "--rows", "made", "--quick"],
    ),
    "benchmarks.table": ("TableConfig", [str(ROOT / "benchmarks" / "results" / "arm64-qemu.jsonl")]),
}
VALUES = (
    "",
    " ",
    "-",
    "-1",
    "0",
    "0.0",
    "-0.5",
    "1e-300",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "2147483648",
    "99999999999999999999",
    "abc",
    "None",
    "True",
    "0x10",
    "1_0",
    "١",
    "/",
    ".",
    "..",
    "/dev/null",
    "/proc/self/mem",
    "absent",
    "absent/absent",
    "a\nb",
    "é",
    "\udcff",
    "x" * 5000,
    "--out",
    "questions.json",
    "teacher",
    "encoder",
    "tflite-int8",
    "made/made",
    "https://example.org/x",
)
ALLOWED = {"benchmarks.compare": (0, 1, 2)}  # 1: a model could not be measured
# A number that fits and is large makes a run of years, which is what was asked for.
MAY_BE_LARGE = ("epochs", "teacher_epochs", "iterations")
LARGE = ("2147483648", "99999999999999999999", "inf", "1e400")
# One takes no value; the other needs what make toolchains installs.
LEFT_OUT = ("resume", "toolchains")


class CommandLines(Torture):
    """One clear line and exit code 2, or what was asked for; nothing half-made stays behind."""

    name = "command lines"
    n_cases = 1500
    seconds = 180

    def prepare(self) -> None:
        """Import what commands import, so that a fork has it."""
        import_everything()
        self.flags = {}
        for module, (config, _) in COMMANDS.items():
            package = hasattr(importlib.import_module(module), "__path__")
            options = getattr(importlib.import_module(f"{module}.stage" if package else module), config)
            names = [field.name for field in fields(options)]
            self.flags[module] = [name for name in names if name not in LEFT_OUT]

    def run(self, number: int) -> str:
        """One command with one to three options replaced, left out or given twice."""
        rng = self.rng(number)
        module = list(COMMANDS)[number % len(COMMANDS)]
        arguments = list(COMMANDS[module][1])
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            flag = rng.choice(self.flags[module])
            value = rng.choice(VALUES)
            if flag in MAY_BE_LARGE and value in LARGE:
                continue
            arguments += [f"--{flag.replace('_', '-')}", value]
        if rng.randrange(20) == 0:
            arguments = arguments[rng.randrange(len(COMMANDS[module][1])) :]
        folder = self.scratch / "lines"
        lay_out(folder, self.material)

        def command() -> None:
            shipped.FOLDER = folder.resolve()  # where no model is named: seconds, not minutes
            sys.argv = [module, *arguments]
            sys.modules.pop(module, None)
            runpy.run_module(module, run_name="__main__", alter_sys=True)

        code, said = fork(command, self.scratch, folder).finish(self.seconds)
        left = drafts(folder)
        wrong = wrong_exit(code, said, ALLOWED.get(module, (0, 2))) or (f"left {left}" if left else "")
        shutil.rmtree(folder)
        return f"{module} {' '.join(ascii(word)[:80] for word in arguments)}: {wrong}" if wrong else ""
