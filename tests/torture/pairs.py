"""Two processes that make the same thing at once."""

import time

from case import wrong_exit
from stages import OfStages, drafts, goes_on, half_finished, lay_out, start


class Pairs(OfStages):
    """One of them at least makes it, the other does too or is refused, and what is there is whole."""

    name = "two at once"
    n_cases = 36
    seconds = 600

    def run(self, number: int) -> str:
        """One pair."""
        rng = self.rng(number)
        name, stage, expected = self.stage(number)
        folder = self.scratch / "pair"
        lay_out(folder, self.material)
        first = start(stage, folder, self.scratch)
        time.sleep(rng.choice((0, 0.01, rng.random() * expected.seconds)))
        second = start(stage, folder, self.scratch)
        ended = [first.finish(), second.finish()]
        wrong = "; ".join(filter(None, (wrong_exit(*pair) for pair in ended)))
        if not wrong and all(code != 0 for code, _ in ended):
            wrong = f"neither made it: {ended}"
        left = drafts(folder)
        wrong = wrong or (f"left {left}" if left else "") or half_finished(stage, folder)
        wrong = wrong or goes_on(stage, folder, self.scratch, expected)
        return f"{name}: {wrong}" if wrong else ""
