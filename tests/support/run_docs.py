"""Run every command that README and docs show, once, in order, on real questions.

    python tests/support/run_docs.py runs/docs-test

A command's own words are kept. What stands for something of the reader's becomes a model in models/ or a file
of the excerpt's questions; what would take hours is shortened. Each exception is named here, with its reason.
"""

import csv
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from places import ROOT

from qa.data.datasets import EMBEDDED, resolve
from qa.data.squad import read_squad

PAGES = (
    "README.md",
    *(
        f"docs/{name}.md"
        for name in ("train", "compress", "export", "android", "web", "how-do-i", "benchmarking")
    ),
)
SHOWN = re.compile(r"^    ((?:\.venv/bin/)?(?:python|pocketqa|make) [^#\n]+)", re.MULTILINE)
CHECKOUT = (
    ".venv",
    "Makefile",
    "android_demo",
    "benchmarks",
    "docs",
    "export",
    "models",
    "pyproject.toml",
    "qa",
    "recipes",
)

LEFT_OUT = {
    "make install": "this runs in what it makes",
    "make demo": "takes minutes; part of the checks before a release",
    "make web-test": "takes minutes; part of every check",
    "make web": "serves until it is stopped; the two commands that it runs are shown beside it",
    "deepset/": "needs the Hugging Face Hub",
    "bert-large": "needs the Hugging Face Hub",
    "--push": "needs a phone",
    "--phone-report": "needs a report of a phone",
    "triviaqa": "needs TriviaQA's files",
    "recipes/flagship.mk": "takes half a day",
    "recipes/gpu.mk": "needs a GPU",
    "recipes/heads.mk": "takes hours",
    "recipes/football.mk": "takes hours",
    "recipes/ablations.mk": "takes hours",
    "recipes/everyday.mk": "takes hours",
    "recipes/thesis.mk": "takes hours",
    "recipes/sizes.mk": "takes more than half an hour",
    "benchmarks.differences": "compares results of a recipe that takes hours",
    "runs/football": "shows results of a recipe that takes hours",
}
# Flags that are added to commands with these words.
ADDED = {
    "benchmarks/compare.py": ["--data", "dev-v2.0.json", "--quick"],
    "compress.qat": ["--epochs", "0.2"],
    "recipes/search.mk": ["WIDTHS=1 0.5", "PRECISIONS=int8", "EMBEDDINGS=pq3", "EPOCHS=0.5", "QAT_EPOCHS=0"],
    "pocketqa fit": ["--epochs", "0.5"],
    # A student of so few questions keeps fewer of its best spans.
    "export.tflite": ["--min-equal-spans", "0"],
    "export.onnx": ["--min-equal-spans", "0"],
}
HELD_OUT = "models/student/held_out.json.gz"  # the excerpt has no unanswerable questions
TRAINING = ("distill.run", "distill.finetune", "compress.prune", "compress.qat")
N_TRAIN = 150
N_DEV = 50


@dataclass(frozen=True)
class Result:
    """A command that was run, or the reason why not."""

    command: str
    seconds: float = 0.0
    error: str = ""
    left_out: str = ""


def shown_commands() -> list[str]:
    """Return the commands of all pages, each once, in the order of reading."""
    text = "\n".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)
    return list(dict.fromkeys(command.strip() for command in SHOWN.findall(text)))


def prepare(folder: Path) -> None:
    """Make a folder with the checkout's parts, and questions of the excerpt under the names that docs use."""
    folder.mkdir(parents=True)
    for name in CHECKOUT:
        (folder / name).symlink_to(ROOT / name)
    run = [sys.executable, "-m", "qa.data.sample", "--data", EMBEDDED]
    for names, part, n in (
        (("train-v1.1.json", "train-v2.0.json"), "train", N_TRAIN),
        (("dev-v1.1.json", "dev-v2.0.json", "questions.json"), "dev", N_DEV),
    ):
        for name in names:
            words = [*run, "--split", part, "--questions", str(n), "--out", name]
            subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    training = read_squad(resolve(EMBEDDED, "train"))[:N_TRAIN]
    unseen = read_squad(resolve(EMBEDDED, "dev"))[: 2 * N_DEV]  # split needs that many in all
    csv_files = {"questions.csv": training, "mine.csv": [*training, *unseen]}
    for name, examples in csv_files.items():
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["question", "context", "answer", "answer_start"])
            for example in examples:
                answer = example.answers[0]
                rows.writerow([example.question, example.context, answer.text, answer.start])
    (folder / "passage.txt").write_text(training[0].context, encoding="utf-8")


def made_whole(command: str) -> list[str]:
    """Return the words to run: the reader's model, data and output in place of what stands for them."""
    words = shlex.split(command.replace("[BUNDLE ...]", ""))
    is_export = any("export." in word or "qa." in word for word in words) or "compare.py" in command
    model = "models/student-tflite-int8" if is_export else "models/student"
    stands_for = {
        "MODEL": "models/teacher",
        "CHECKPOINT": "models/teacher",
        "TEACHER": "models/teacher",
        "STUDENT": "models/student",
        "FIRST": "models/teacher",
        "FURTHER": "made/distill.finetune",
        "BUNDLE": "models/teacher" if "--teacher" in words else model,
        "FILE": "train-v2.0.json",
        "squad": "train-v1.1.json",
        "squad_v2": "train-v2.0.json",
        "questions.json": HELD_OUT if "export.tune" in words else "questions.json",
        "...": "Where did they play?",
    }
    module = words[2] if words[1] == "-m" else words[1]
    made = f"made/{module}"
    whole = []
    for before, word in zip(["", *words], words, strict=False):
        is_made = before == "--out" and word in ("BUNDLE", "FILE")
        whole.append(made + ".json" * (word == "FILE") if is_made else stands_for.get(word, word))
    for name, more in ADDED.items():
        if name in command:
            whole += [word for flag in pairs(more) if flag[0] not in whole for word in flag]
    if module in TRAINING and "--data" not in whole:
        whole += ["--data", "train-v2.0.json"]
    return whole


def pairs(words: list[str]) -> list[list[str]]:
    """Return flags with their values, and variables of make alone; only the last flag may have no value."""
    if "=" in words[0]:
        return [[word] for word in words]
    return [words[i : i + 2] for i in range(0, len(words), 2)]


def run(command: str, folder: Path) -> Result:
    """Run a command in the folder, or say why it is left out."""
    for part, reason in LEFT_OUT.items():
        if part in command:
            return Result(command, left_out=reason)
    before = time.monotonic()
    path = f"{folder / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        made_whole(command),
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if command.startswith("python -m distill.run --teacher BUNDLE"):  # which makes the rest of runs/demo
        shutil.copytree(folder / "models" / "teacher", folder / "runs" / "demo" / "teacher")
    lines = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
    declined = done.returncode == 1 and re.search(r"qa\.ask|pocketqa ask", command)
    declined = declined and "Traceback" not in done.stderr
    failed = done.returncode and not declined
    return Result(command, time.monotonic() - before, lines[-1] if failed else "")


def main() -> None:
    """Run all and exit with 1 where one failed."""
    folder = Path(sys.argv[1]).absolute()
    shutil.rmtree(folder, ignore_errors=True)
    prepare(folder)
    failed = 0
    for command in shown_commands():
        result = run(command, folder)
        failed += bool(result.error)
        state = f"left out: {result.left_out}" if result.left_out else f"{result.seconds:.0f} s"
        print(f"{'FAILED' if result.error else 'ok    '}  {command}  ({state})", flush=True)
        if result.error:
            print(f"        {result.error}", flush=True)
    print(f"{failed} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
