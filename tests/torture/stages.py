"""Commands that write, each in a folder of its own, and what they write when nothing disturbs them."""

import hashlib
import json
import shutil
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from amounts import wrong_exit
from events import command
from forks import Fork
from material import BUNDLES, WINDOWS

from benchmarks.results.files import read_results
from qa.base.errors import PocketQAError
from qa.bundles.bundle import open_bundle

TRAINED = ["--data", "questions.json", "--epochs", "2", "--batch-size", "4", "--precision", "fp32"]
# Files that tell dates or times, of which only that they are there repeats.
UNREPEATED = ("README.md", "report.html")
# What repeats of a row of results.
REPEATED_KEYS = {
    *("kind", "model", "bundle_sha256", "threads", "lengths", "batch"),
    *("n", "n_windows", "exact", "f1", "error"),
}


@dataclass(frozen=True)
class Stage:
    """A command, the bundle or file it makes, and the words by which it goes on; None where it refuses what
    is there."""

    words: tuple[str, ...]
    result: str = "made"
    again: tuple[str, ...] | None = ("--resume",)


def _stage(words: str, *more: str, **how: Any) -> Stage:
    return Stage((*words.split(), *more), **how)


STAGES = {
    "finetune": _stage("distill.finetune --model encoder --head linear --out made", *WINDOWS, *TRAINED),
    "distil": _stage(
        "distill.run --teacher teacher --student-layers 1 --out runs", *TRAINED, result="runs/student"
    ),
    "distil from cached logits": _stage(
        "distill.run --teacher teacher --student-layers 1 --hidden-weight 0 --cache cache --out runs",
        *TRAINED,
        result="runs/student",
    ),
    "prune": _stage("compress.prune --model teacher --importance-windows 8 --out made", *TRAINED),
    "prune single weights": _stage(
        "compress.prune --model teacher --method magnitude --iterations 2 --out made", *TRAINED
    ),
    "quantization-aware training": _stage(
        "compress.qat --model student --teacher teacher --calibration-windows 8 --out made", *TRAINED
    ),
    "quantize embeddings": _stage(
        "compress.embeddings --model student --embeddings pq4 --out made", again=None
    ),
    "export to ONNX": _stage("export.onnx --model student --quantize int8 --out made", again=None),
    "export to TFLite": _stage("export.tflite --model student --quantize int8 --out made", again=None),
    "evaluate": _stage(
        "qa.evaluate --data questions.json --model student --out made.json", result="made.json", again=()
    ),
    "compare": _stage(
        "benchmarks.compare teacher onnx-int8 tflite-int8 --data questions.json --rows made/rows.jsonl"
        " --quick --lengths unpadded --threads 1",
        result="made/rows.jsonl",
        again=(),
    ),
}


@dataclass(frozen=True)
class Reference:
    """An undisturbed run."""

    n_events: int
    seconds: float
    files: dict[str, str]
    n_bytes: int


def lay_out(folder: Path, material: Path) -> None:
    """A fresh folder with the material linked into it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("encoder", "questions.json", *BUNDLES):
        (folder / name).symlink_to(material / name)


def start(stage: Stage, folder: Path, scratch: Path, *, again: bool = False, **watched: Any) -> Fork:
    """The command in a fork, in `folder`; `again` goes on with what a stopped one left; `watched` is for
    `events.command`."""
    words = [*stage.words, *(stage.again or () if again else ())]
    return Fork(partial(command, words, **watched), folder=folder, scratch=scratch)


def written(folder: Path) -> dict[str, str]:
    """SHA-256 of every file that is there, without curves, whose names are times, and without links to the
    material.

    Of what tells how fast something was, only what must repeat is taken.
    """
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        linked = path.is_symlink() or any(parent.is_symlink() for parent in path.parents)
        if not linked and path.is_file() and "events.out" not in name:
            found[name] = hashlib.sha256(_repeated(path)).hexdigest()
    return found


def _repeated(path: Path) -> bytes:
    """What of a file must be the same whenever it is made."""
    raw = b"" if path.name in UNREPEATED else path.read_bytes()
    if path.name == "manifest.json":
        files = json.loads(raw)["files"].items()
        raw = json.dumps({name: sha256 for name, sha256 in files if name not in UNREPEATED}).encode()
    elif path.suffix == ".jsonl":  # two at once may each append a row
        rows = [json.loads(line) for line in raw.splitlines()]
        kept = {json.dumps({key: row[key] for key in row if key in REPEATED_KEYS}) for row in rows}
        raw = "\n".join(sorted(kept)).encode()
    return raw


def reference(name: str, material: Path, scratch: Path) -> Reference:
    """Run a stage undisturbed, once for all cases."""
    folder = scratch / "reference" / name.replace(" ", "-")
    kept = folder.with_name(folder.name + ".json")
    if not kept.exists():
        lay_out(folder, material)
        began = time.monotonic()
        count = folder.with_name(folder.name + ".events")
        code, said = start(STAGES[name], folder, scratch, count=count).finish()
        if code != 0:
            raise SystemExit(f"{name} fails undisturbed: {said}")
        n_bytes = sum(
            path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()
        )
        found = Reference(int(count.read_text()), time.monotonic() - began, written(folder), n_bytes)
        kept.write_text(json.dumps(vars(found)), encoding="utf-8")
    return Reference(**json.loads(kept.read_text(encoding="utf-8")))


def half_finished(stage: Stage, folder: Path) -> str:
    """Nothing where the result is absent or whole; else what is wrong with it."""
    path = folder / stage.result
    try:
        if path.is_dir():
            open_bundle(path)
        elif path.suffix == ".jsonl" and path.exists():
            read_results(path)
        elif path.exists():
            json.loads(path.read_bytes())
    except (PocketQAError, ValueError) as error:
        return f"half a result: {error}"
    return ""


def drafts(folder: Path) -> list[str]:
    """What a command that was not killed should have cleaned up."""
    found = [path for mark in (".unfinished", ".partial") for path in folder.rglob(f"*{mark}*")]
    return [str(path.relative_to(folder)) for path in found]


def goes_on(stage: Stage, folder: Path, scratch: Path, expected: Reference) -> str:
    """Run the command again to its end: what is then there must be what an undisturbed run leaves."""
    if stage.again is not None or not (folder / stage.result).exists():
        code, said = start(stage, folder, scratch, again=True).finish()
        if code != 0:
            return f"could not go on: {wrong_exit(code, said, (0,)) or said}"
    wrong = sorted({key for key, _ in written(folder).items() ^ expected.files.items()})
    return f"other than undisturbed: {', '.join(wrong)}" if wrong else ""
