"""Commands that write, each in a folder of its own, and what they write when nothing disturbs them."""

import hashlib
import json
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from case import Torture, wrong_exit
from events import command
from forks import Fork, fork, import_everything
from material import BUNDLES, WINDOWS

from qa.bundle import open_bundle
from qa.errors import BundleError

TRAINED = ["--data", "questions.json", "--epochs", "2", "--batch-size", "4", "--precision", "fp32"]


@dataclass(frozen=True)
class Stage:
    """A command and the bundle or file it makes; `resumes` where it has --resume."""

    words: tuple[str, ...]
    result: str = "made"
    resumes: bool = True


STAGES = {
    "finetune": Stage(("distill.finetune", "--model", "encoder", "--head", "linear", "--out", "made", *WINDOWS, *TRAINED)),
    "distil": Stage(
        ("distill.run", "--teacher", "teacher", "--student-layers", "1", "--out", "runs", *TRAINED), "runs/student"
    ),
    "distil from cached logits": Stage(
        (
            "distill.run", "--teacher", "teacher", "--student-layers", "1", "--hidden-weight", "0", "--cache", "cache",
            "--out", "runs", *TRAINED,
        ),
        "runs/student",
    ),
    "prune": Stage(
        ("compress.prune", "--model", "teacher", "--importance-windows", "8", "--out", "made", *TRAINED)
    ),
    "prune single weights": Stage(
        ("compress.prune", "--model", "teacher", "--method", "magnitude", "--iterations", "2", "--out", "made", *TRAINED)
    ),
    "export to ONNX": Stage(("export.onnx", "--model", "student", "--quantize", "int8", "--out", "made"), resumes=False),
    "export to TFLite": Stage(("export.tflite", "--model", "student", "--quantize", "int8", "--out", "made"), resumes=False),
    "evaluate": Stage(
        ("qa.evaluate", "--data", "questions.json", "--model", "student", "--out", "made.json"), "made.json", resumes=False
    ),
}  # fmt: skip


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
    """The command in a fork, in `folder`; `again` goes on with what a stopped one left; `watched` is for `events.command`."""
    words = [*stage.words, *(["--resume"] if again and stage.resumes else [])]
    return fork(lambda: command(words, **watched), scratch, folder)


def written(folder: Path) -> dict[str, str]:
    """SHA-256 of every file that is there, without curves, whose names are times, and without links to the material.

    A manifest and a card tell how fast something was, so of these only what must repeat is taken.
    """
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink() or path.is_dir() or "events.out" in name or any(p.is_symlink() for p in path.parents):
            continue
        raw = path.read_bytes()
        if path.name == "README.md":
            raw = b""
        elif path.name == "manifest.json":
            files = json.loads(raw)["files"]
            raw = json.dumps({key: value for key, value in files.items() if key != "README.md"}).encode()
        found[name] = hashlib.sha256(raw).hexdigest()
    return found


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
        n_bytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
        found = Reference(int(count.read_text()), time.monotonic() - began, written(folder), n_bytes)
        kept.write_text(json.dumps(vars(found)), encoding="utf-8")
    return Reference(**json.loads(kept.read_text(encoding="utf-8")))


def half_finished(stage: Stage, folder: Path) -> str:
    """Nothing where the result is absent or whole; else what is wrong with it."""
    path = folder / stage.result
    try:
        if path.is_dir():
            open_bundle(path)
        elif path.exists():
            json.loads(path.read_bytes())
    except (BundleError, ValueError) as error:
        return f"half a result: {error}"
    return ""


def drafts(folder: Path) -> list[str]:
    """What a command that was not killed should have cleaned up."""
    marks = (".unfinished", ".partial")
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if any(mark in path.name for mark in marks)]


def goes_on(stage: Stage, folder: Path, scratch: Path, expected: Reference) -> str:
    """Run the command again to its end: what is then there must be what an undisturbed run leaves."""
    if stage.resumes or not (folder / stage.result).exists():
        code, said = start(stage, folder, scratch, again=True).finish()
        if code != 0:
            return f"could not go on: {wrong_exit(code, said, (0,)) or said}"
    found = written(folder)
    wrong = sorted(key for key in found.keys() | expected.files.keys() if found.get(key) != expected.files.get(key))
    return f"other than undisturbed: {', '.join(wrong)}" if wrong else ""


class OfStages(Torture):
    """A sort whose cases take the stages in turn, each in a fork."""

    def prepare(self) -> None:
        """Import what stages import."""
        import_everything()

    def stage(self, number: int) -> tuple[str, Stage, Reference]:
        """A case's: its name, what it is, and what it leaves undisturbed."""
        name = list(STAGES)[number % len(STAGES)]
        return name, STAGES[name], reference(name, self.material, self.scratch)
