"""Check that the Android app's tokenizer gives the tokens and offsets of the training tokenizer.

    python tests/support/android_tokens.py --model BUNDLE --data dev-v1.1.json dev-v2.0.json

Both tokenize every context and question of the data, and generated strings over all of Unicode.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from unicode_texts import generated_texts

from export.android.check import open_tflite
from export.android.core_process import CoreProcess
from qa.base.cli import check_option, run_with
from qa.base.errors import ParityError
from qa.base.progress import Progress
from qa.data.datasets import EMBEDDED, resolve
from qa.data.squad import read_squad

SHOWN = 5


@dataclass(frozen=True)
class TokensOptions:
    """Compare the Android app's tokenizer, run on the JVM, with the training tokenizer."""

    model: Path
    """TFLite bundle whose tokenizer is compared."""
    data: tuple[str, ...] = (EMBEDDED,)
    """SQuAD JSON files (plain or gzip), or embedded, everyday, squad, squad_v2 (their dev parts)."""
    generated: int = 100_000
    """Number of generated strings over all of Unicode, in addition."""
    seed: int = 0
    """Seed of the generated strings."""

    def __post_init__(self) -> None:
        check_option(self.generated >= 0, "--generated", self.generated, "0 or more")


def main(config: TokensOptions) -> None:
    """Print how many texts and tokens were equal; ParityError when any was not."""
    bundle = open_tflite(config.model)
    tokenizer = bundle.tokenizer
    sources: dict[str, list[str]] = {}
    for name in config.data:
        path = resolve(name, "dev")
        examples = read_squad(path)
        sources[path.name] = list(
            dict.fromkeys([e.context for e in examples] + [e.question for e in examples])
        )
    sources["generated"] = generated_texts(config.generated, config.seed)
    n_different = 0
    with CoreProcess(bundle.weights) as core:
        for name, texts in sources.items():
            n_tokens = n_here = 0
            for text in Progress(texts, desc=name, unit="text"):
                encoding = tokenizer.encode(text, add_special_tokens=False)
                tokens = core.encode(text)
                n_tokens += len(encoding.ids)
                expected = (encoding.ids, encoding.offsets)
                if tokens != expected:
                    n_here += 1
                    if n_different + n_here <= SHOWN:
                        print(f"differs: {text!a}\n  app    {tokens}\n  Python {expected}", file=sys.stderr)
            print(
                f"{name}: {len(texts):,} texts, {n_tokens:,} tokens, {n_here} texts with another id or offset"
            )
            n_different += n_here
    if n_different:
        raise ParityError(
            f"{n_different} texts are tokenized otherwise by the app than by the training tokenizer"
        )


if __name__ == "__main__":
    run_with(TokensOptions, lambda: main)
