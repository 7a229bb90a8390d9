"""Damaged bundles, sealed again so that their hashes fit: as a hostile author would make them."""

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
from case import Torture, refused_or
from forks import fork, import_everything
from mutations import damaged_bytes, damaged_json

import qa
from qa.base.files import file_sha256
from qa.bundles.bundle import PROBE
from qa.data.squad import read_squad
from qa.formats.precision import PRECISIONS
from qa.runtime.probe import ProbeWindow, read_probe, relative_difference
from qa.runtime.runtimes import run_length
from qa.text.features import collate

KINDS = ("student", "onnx-fp32", "onnx-int8", "tflite-fp32", "tflite-int8")
N_QUESTIONS = 3
ROOM = 2  # beyond the probe's tolerance: other windows than the probe's may differ by more


def turned(window: ProbeWindow) -> ProbeWindow:
    """A window the probe has not seen, of words that it has: the context from its end to its beginning.

    Of words it has not seen a probe can say nothing: their rows of the table enter no window of its own.
    """
    begin = window.context_begin
    ids = window.input_ids
    return replace(window, input_ids=np.concatenate([ids[:begin], ids[begin:-1][::-1], ids[-1:]]))


class Bundles(Torture):
    """A damaged bundle is refused or answers; weights that compute something else are refused.

    A file may crash its runtime: then `load(..., isolated=True)` must say so.
    """

    name = "bundles"
    n_cases = 1500
    seconds = 120

    def prepare(self) -> None:
        """Let the sound ones compute, in forks: this process must not start a runtime's threads."""
        import_everything()
        self.examples = read_squad(self.material / "questions.json")[:N_QUESTIONS]
        for name in KINDS[1:]:
            fork(
                lambda name=name: np.save(self._expected(name), self._logits(self.material / name)),
                self.scratch,
            ).finish()

    def _expected(self, name: str) -> Path:
        return self.scratch / f"{name}.npy"

    def _logits(self, path: Path) -> np.ndarray:
        runtime = qa.load(path, threads=1).runtime
        found = []
        for window in map(turned, read_probe((path / PROBE).read_bytes(), str(path)).windows):
            n = len(window.input_ids)
            start, end = runtime(collate([window], run_length(runtime, n)))
            found += [start[0, :n], end[0, :n]]
        return np.concatenate(found)

    def run(self, number: int) -> str:
        """One bundle with one damaged file."""
        rng = self.rng(number)
        name = KINDS[number % len(KINDS)]
        path = self.scratch / "bundle"
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(self.material / name, path)
        files = sorted(json.loads((path / "manifest.json").read_bytes())["files"])
        weights = next(file for file in files if file.startswith("model."))
        chosen = weights if rng.randrange(2) else rng.choice([*files, "manifest.json"])
        self._damage(path / chosen, rng)
        if chosen != "manifest.json":
            self._seal(path, files)
        # A PyTorch model is what its weights say, and settings or words may well change what windows there
        # are.
        judged = chosen == weights and name != "student"
        said_file = self.scratch / "said"
        said_file.write_text("")
        code, _ = fork(
            lambda: said_file.write_text(refused_or(lambda: self._use(path, name, judged))), self.scratch
        ).finish()
        said = said_file.read_text(encoding="utf-8")
        if code < 0:
            said = self._announced(path)
        elif code != 0:
            said = said or f"ended with {code}"
        return f"{chosen} of {name}: {said}" if said else ""

    def _use(self, path: Path, name: str, judged: bool) -> str:
        if not judged:
            qa.load(path, threads=1).answer_all([(e.question, e.context) for e in self.examples])
            return ""
        away = relative_difference(np.load(self._expected(name)), self._logits(path))
        allowed = ROOM * PRECISIONS[name.rpartition("-")[2]].probe_tolerance
        return f"logits {away:.3g} away, and not refused" if away > allowed else ""

    def _announced(self, path: Path) -> str:
        """Whether a file that ends the process is told of where it is isolated."""

        def use() -> str:
            model = qa.load(path, threads=1, isolated=True)
            model.answer_all([(e.question, e.context) for e in self.examples])
            return "ended a process, but not an isolated one"

        return refused_or(use)

    def _seal(self, path: Path, files: list[str]) -> None:
        manifest = json.loads((path / "manifest.json").read_bytes())
        manifest["files"] = {file: file_sha256(path / file) for file in files}
        (path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")

    def _damage(self, path: Path, rng: random.Random) -> None:
        raw = path.read_bytes()
        is_json = path.suffix == ".json" and rng.randrange(3) > 0
        path.write_bytes(damaged_json(raw, rng) if is_json else damaged_bytes(raw, rng))
