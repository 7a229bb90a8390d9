"""Check that the Android app's tokenizer gives the tokens and offsets of the training tokenizer.

    python tests/support/android_tokens.py --model BUNDLE --data dev-v1.1.json dev-v2.0.json

Both tokenize every context and question of the data, and 100,000 generated strings over all of Unicode.
"""

import argparse
import sys
from pathlib import Path

from unicode_texts import generated_texts

from export.android.core_process import CoreProcess
from qa.bundles.bundle import open_bundle
from qa.data.datasets import EMBEDDED, resolve
from qa.data.squad import read_squad


def differing_tokens(core, tokenizer, texts):
    """A line for each text to which a core gives other ids or offsets than the training tokenizer."""
    for text, wanted in zip(texts, tokenizer.encode_batch(texts, add_special_tokens=False), strict=True):
        seen = core.encode(text)
        if seen != (wanted.ids, wanted.offsets):
            yield f"{text!a}: the core {seen}, Python {(wanted.ids, wanted.offsets)}"


def main(words=None):
    """Print how many texts differ, and each of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True, help="TFLite bundle")
    parser.add_argument("--data", nargs="+", default=[EMBEDDED], help="names or files; of names the dev part")
    parser.add_argument("--generated", type=int, default=100_000, help="number of generated strings")
    options = parser.parse_args(words)
    bundle = open_bundle(options.model, format="tflite")
    sources = {"generated": generated_texts(options.generated, 0)}
    for name in options.data:
        examples = read_squad(resolve(name, "dev"))
        sources[name] = list(dict.fromkeys([text for e in examples for text in (e.context, e.question)]))
    all_differing = []
    with CoreProcess(bundle.weights) as core:
        for name, texts in sources.items():
            differing = list(differing_tokens(core, bundle.tokenizer, texts))
            print(f"{name}: {len(texts):,} texts, {len(differing)} with another id or offset", flush=True)
            all_differing += differing
    sys.exit("\n".join(all_differing) or None)


if __name__ == "__main__":
    main()
