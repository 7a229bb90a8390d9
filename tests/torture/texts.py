"""Texts that break programs, asked about with a model of every runtime."""

import random

from case import Torture, refused_or
from mutations import odd_text

import qa

RUNTIMES = ("student", "onnx-int8", "tflite-int8")
LONGEST = 20_000
MEGABYTE = 1_000_000


def passage_and_question(number: int, rng: random.Random, words: list[str]) -> tuple[str, str]:
    """An odd passage, every 500th of a megabyte, and an odd question."""
    longest = MEGABYTE if number % 500 == 499 else LONGEST
    passage = odd_text(rng, words, longest)
    question = odd_text(rng, words, rng.choice((40, 400)))
    if longest == MEGABYTE:
        passage = (passage + " ") * (MEGABYTE // (len(passage) + 1))
    return passage, question


class Texts(Torture):
    """Every text is answered with characters that stand where the answer says, or refused."""

    name = "texts"
    n_cases = 1500
    seconds = 300

    def prepare(self) -> None:
        """Load each model, as a user does."""
        self.models = [qa.load(self.material / name, threads=1) for name in RUNTIMES]
        self.words = self.real_words()

    def run(self, number: int) -> str:
        """One question about one passage, to one model."""
        context, question = passage_and_question(number, self.rng(number), self.words)
        model = self.models[number % len(self.models)]

        def asked() -> str:
            answer = model.answer(question, context)
            if answer.start is None or answer.end is None:
                return "" if answer.text == "" else f"an answer without a place: {answer.text!r}"
            right = (
                answer.text
                and context[answer.start : answer.end] == answer.text
                and 0 < answer.probability <= 1
            )
            return "" if right else f"{answer!r} is not what stands there"

        return refused_or(asked)
