"""The page's core as a Node process, and differential runs of it against Python."""

import random
from collections import Counter
from dataclasses import replace
from hashlib import blake2b

import numpy as np
from package_faults import with_settings
from places import ROOT

from export.android.check import equal_predictions
from export.android.core_process import CoreProcess
from export.android.package import read_package
from qa.data.datasets import EMBEDDED, resolve
from qa.data.squad import Example, read_squad
from qa.text.answers import decode
from qa.text.features import collate, make_windows
from qa.text.preselection import preselect

SERVER = ROOT / "tests/export/web/core_server.mjs"
QUESTIONS_A_MODEL = 25  # then other settings are packaged
MOST_WORDS = (0, 1, 2, 5, 50, 120, 300, 700, 1500, 4000)
SHORT_STRIDE = 10
MOST_WITH_SHORT_STRIDE = 3000  # characters: a window for each token takes long
ODD = [
    *(
        "שָׁלוֹם",
        "السَّلَامُ",
        "हिन्दी",
        "中文測試",
        "👩\u200d👩\u200d👧\u200d👦",
        "❤️",
        "a\u0301\u0327",
        "e\u0308",
        "\u200b",
        "\u202e",
    ),
    *("İ", "ﬁ", "!", "…", "각", "[SEP]", "##ing", "\u0301", "\ufeff", "\ud83d", "\n", "\t", "x" * 150),
]
SCALES = {"plain": 4.0, "ties": 2.0, "many ties": 1.0, "zeros": 1.0, "large": 1e37}


class NodeCore(CoreProcess):
    """The JavaScript core with one model file open."""

    def __init__(self, model):
        self._start(["node", str(SERVER), str(model.resolve())], model)


class HashedLogits:
    """Runtime whose logits are a hash of the window; padding holds larger ones, which must not be read."""

    def __init__(self, mode):
        self.mode = mode

    def __call__(self, inputs):
        n = int(inputs["attention_mask"].sum())
        seen = b"".join(
            inputs[name][0, :n].astype("<i4").tobytes() for name in ("input_ids", "token_type_ids")
        )
        rng = np.random.default_rng(int.from_bytes(blake2b(seen, digest_size=8).digest(), "little"))
        values = rng.normal(size=(2, n)) * SCALES[self.mode]
        match self.mode:
            case "ties":
                values = np.round(values / 2) * 2
            case "many ties":
                values = np.round(values).clip(-1, 1)
            case "zeros":
                values = np.where(values < 0, -0.0, 0.0)
        logits = np.full((2, inputs["input_ids"].shape[1]), 3.3e38, np.float32)
        logits[:, :n] = values
        return logits[:1], logits[1:]


class Generator:
    """Passages, questions and settings, the same for the same seed."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        contexts = dict.fromkeys(e.context for e in read_squad(resolve(EMBEDDED, "dev")))
        self.words = " ".join(contexts).split()

    def _words(self, n, share_odd):
        rng = self.rng
        return [rng.choice(ODD if rng.random() < share_odd else self.words) for _ in range(n)]

    def passage(self):
        rng = self.rng
        n = rng.choice(MOST_WORDS)
        match rng.randint(0, 8):
            case 0:
                return ""
            case 1:
                return rng.choice(["\u200b", "\u0301", " ", "\n\n", "👍", "中", "!"]) * rng.randint(1, 40)
            case 2:
                return rng.choice(["", " "]).join(self._words(n // 4 + 1, 1))
            case 3:
                return "same word " * (n + 1)
            case _:
                return rng.choice([" ", "\n"]).join(self._words(n, 0.1))

    def question(self):
        rng = self.rng
        if rng.randint(0, 6) == 0:
            return rng.choice(["", "?", "\u200b", "x" * 200, "中", "👍", "a " * 90])
        return " ".join(self._words(rng.randint(1, rng.choice([5, 12, 80])), 0.15))

    def settings(self):
        rng = self.rng
        return {
            "doc_stride": rng.choice([1, 7, 64, 128, 300, 1000]),
            "n_best": rng.choice([1, 2, 5, 20, 64]),
            "max_answer_length": rng.choice([1, 3, 30, 400]),
            "max_question_length": rng.choice([1, 5, 64, 200]),
            "null_threshold": rng.choice([None, 0, -3.5, 2.25, 100]),
        }


def whole(text):
    """The text as Python's tokenizer takes it: it knows no half of a surrogate pair."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def compare_questions(bundle, n, seed, folder):
    """Ask both; return the questions that differ, in words, and how many were preselected or declined."""
    generator = Generator(seed)
    lengths = [s["length"] for s in read_package(bundle.weights).info["signatures"]]
    differ = []
    tally = Counter()
    for block in range(0, n, QUESTIONS_A_MODEL):
        changes = generator.settings() if block // QUESTIONS_A_MODEL % 2 else {}
        settings = replace(bundle.settings, **changes)
        with NodeCore(with_settings(bundle.weights, folder / "model.tflite", changes)) as core:
            for _ in range(min(QUESTIONS_A_MODEL, n - block)):
                passage, question = generator.passage(), generator.question()
                if settings.doc_stride < SHORT_STRIDE:
                    passage = passage[:MOST_WITH_SHORT_STRIDE]
                read_all = generator.rng.random() < 0.25
                runtime = HashedLogits(generator.rng.choice(list(SCALES)))
                example = Example("x", "", whole(passage), whole(question), (), False)
                everything = make_windows([example], bundle.tokenizer, settings)
                windows = everything if read_all else preselect(everything, settings)
                logits = []
                for window in windows:
                    length = next(one for one in lengths if one >= len(window.input_ids))
                    start, end = runtime(collate([window], length))
                    logits.append((start[0], end[0]))
                expected = decode(windows, logits, settings)
                seen = core.ask(passage, question, runtime, read_all=read_all)
                answered = expected.best(settings.null_threshold) is not None
                tally["preselected"] += len(windows) < len(everything)
                tally["declined"] += not answered
                counts = (seen.n_windows, seen.n_windows_in_text, seen.answered)
                equal = equal_predictions(seen.prediction, expected)
                if not equal or counts != (len(windows), len(everything), answered):
                    differ.append(f"{runtime.mode} {changes} {len(passage)} characters, {question[:60]!a}")
    return differ, tally
