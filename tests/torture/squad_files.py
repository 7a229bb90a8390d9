"""Damaged SQuAD files and prediction files."""

from case import Torture, refused_or
from mutations import damaged_bytes, damaged_json

from qa.data.metrics import evaluate_predictions
from qa.data.squad import read_predictions, read_squad


class SquadFiles(Torture):
    """A damaged file is refused, or read so that every answer stands where it says; it can then be scored."""

    name = "squad files"
    n_cases = 5000

    def prepare(self) -> None:
        """Read what will be damaged."""
        self.raw = (self.material / "questions.json").read_bytes()
        self.examples = read_squad(self.material / "questions.json")
        self.file = self.scratch / "squad.json"

    def run(self, number: int) -> str:
        """One file."""
        rng = self.rng(number)
        predictions = number % 4 == 3
        raw = (
            b'{"' + b'": "a", "'.join(e.id.encode() for e in self.examples) + b'": "b"}'
            if predictions
            else self.raw
        )
        self.file.write_bytes((damaged_json if rng.randrange(3) else damaged_bytes)(raw, rng))
        return refused_or(self._predictions if predictions else self._questions)

    def _questions(self) -> str:
        examples = read_squad(self.file)
        moved = [
            e.id for e in examples for a in e.answers if e.context[a.start : a.start + len(a.text)] != a.text
        ]
        evaluate_predictions(examples, {e.id: e.context[:20] for e in examples})
        return f"answers elsewhere: {moved[:3]}" if moved else ""

    def _predictions(self) -> str:
        scores = evaluate_predictions(self.examples, read_predictions(self.file))
        return "" if 0 <= scores["f1"] <= 100 else f"F1 {scores['f1']}"
