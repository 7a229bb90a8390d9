"""Texts that break programs, asked about with a model of every runtime."""

from case import Torture, refused_or
from mutations import odd_text

import qa

RUNTIMES = ("student", "onnx-int8", "tflite-int8")
LONGEST, MEGABYTE = 20_000, 1_000_000


class Texts(Torture):
    """Every text is answered with characters that stand where the answer says, or refused."""

    name, n_cases, seconds = "texts", 2000, 300

    def prepare(self) -> None:
        """Load each model, as a user does."""
        self.models = [qa.load(self.material / name, threads=1) for name in RUNTIMES]
        self.words = (self.material / "questions.json").read_text(encoding="utf-8")[:20_000].split()

    def run(self, number: int) -> str:
        """One question about one passage, to one model; every 500th passage is a megabyte."""
        rng = self.rng(number)
        longest = MEGABYTE if number % 500 == 499 else LONGEST
        context, question = odd_text(rng, self.words, longest), odd_text(rng, self.words, rng.choice((40, 400)))
        if longest == MEGABYTE:
            context = (context + " ") * (MEGABYTE // (len(context) + 1))
        model = self.models[number % len(self.models)]

        def asked() -> str:
            answer = model.answer(question, context)
            if answer.start is None or answer.end is None:
                return "" if answer.text == "" else f"an answer without a place: {answer.text!r}"
            right = answer.text and context[answer.start : answer.end] == answer.text and 0 < answer.probability <= 1
            return "" if right else f"{answer!r} is not what stands there"

        return refused_or(asked)
