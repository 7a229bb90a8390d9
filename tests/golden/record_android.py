"""Record what Python makes of texts and questions, for the Android core's tests to repeat; Python's own tests
check it too.

    python -m export.tflite --model MODEL --quantize int8 --out BUNDLE
    PYTHONPATH=tests/support python tests/golden/record_android.py --model BUNDLE
    PYTHONPATH=tests/support python tests/golden/record_android.py

The second command only decodes the recorded logits again, into `answers.json.gz`. The first one writes into tests/golden/android: `package`, the members of the packaged file; `tokens.json.gz`, texts with
token ids and offsets; `answers.json.gz`, questions with every window's tokens and logits and the answers
decoded from them; `preselection.json`, which windows of long passages are read. Offsets are in code points.
Logits are rounded to multiples of 1/64: their sums are then exact, so that equal scores come up and have to
be put in order, and the files stay small.
"""

import argparse
import gzip
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import tokenizers
from unicode_texts import generated_texts

from export.android.package import MEMBERS, read_package
from qa.base import sampling
from qa.bundles.bundle import open_bundle
from qa.data.datasets import EMBEDDED, resolve
from qa.data.squad import Example, read_squad
from qa.models.pretrained import embedded_folder
from qa.runtime.runtimes import load_runtime, run_windows
from qa.text.answers import decode
from qa.text.features import make_windows
from qa.text.preselection import preselect
from qa.text.settings import QASettings
from qa.text.tokenization import load_tokenizer

OUT = Path(__file__).parent / "android"
SEED = 20
N_GENERATED = 1500
N_CONTEXTS = 60
N_QUESTIONS = 100
N_JOINED = 6
N_MOVED = 20
# (contexts, from each to the next); questions on each
LONG_PASSAGES = [(50, 1), (90, 7), (40, 3), (60, 11)]
N_LONG = 10
STEP = 1 / 64

HARD_TEXTS = [
    "",
    " ",
    "\t\n\r",
    "\u200b\ufeff",
    "a",
    "Café naïve",
    "Cafe\u0301!",
    "unaffable\u00a0x",
    "東京7",
    "🤔",
    "don't",
    "U.S.A.",
    # spaces, and what looks like one
    "a\u000bb\u000cc\u0085d",
    "a\u001cb\u001fc",
    "a\u2007b\u202fc\u3000d\u1680e\u2028f\u2029g",
    "a\u180eb\u200bc\u00add\u2060e\ufefff",
    "\ufffd \ue000 \U000f0000 \U0010fffd",
    "a\u0600b\u06ddc\u08e2d\u110bde",
    "\U000110cdx\U00013430y\U000e0001z",
    # case
    "ΟΔΟΣ ΟΔΟΣΑ",
    "İstanbul ISTANBUL ıstanbul",
    "STRASSE Straße STRAẞE",
    "ﬁne oﬃce ½ Ⅷ ⓐ",
    "\u212a\u212b\u2126",
    "ǅ Ǆ ǆ ǰ ΐ ᾳ ᾼ ᾈ",
    "\U00010400\U00010428 \U0001e900 \ua640 \u1c90\u10d0 \u2c2f \ua7dc",
    "\u13a0\uab70\u13f0\u13f8",
    # decomposition, order of marks, marks at the start, marks of newer Unicode
    "ế ậ ǖ Ṩ ṩ",
    "q\u0307\u0323 q\u0323\u0307",
    "\u0301abc",
    "\u0f71\u0f72\u0f74\u0f80",
    "a\u0315\u0300\u05ae\u0062",
    "\u0344 \u0340\u0341 \u0343",
    "e\u0301\u200b\u0323",
    "\u1ab0\u0334\u1dfa\u08d3\u0897",
    "x\u0900\u0903\u093c\u094d",
    "\u0958\u095f \u09dc \u0b5c",
    "\u0f73\u0f75\u0f81",
    "\U0001d15e\U0001d1bf\U0001d1c0",
    "\U00011938\U00011935\U00011930",
    "\u1734\u1715 \u17d2",
    "\u05d0\u05b7\u05bc\u05b0 \ufb2e \ufb1f",
    "नमस्ते दुनिया",
    "สวัสดีครับ",
    "สำ\u0e49\u0e38",
    "تَجْرِبَة آ أ ؤ",
    "각 한국어 \u1100\u1161\u11a8 \ud7b0\ua960 힣",
    "がぎ か\u3099 パ ハ\u309a",
    "\u302a\u302b ア",
    # ideographs and their edges
    "\u3400\u4dbf\u4dc0\u4e00\u9fff\uf900\ufaff",
    "\U00020000\U0002a6df\U0002a6e0\U0002a700\U0002b81f\U0002b820\U0002b91f\U0002b920\U0002ceaf\U0002ceb0",
    "\U0002f800\U0002fa1d\U0002fa1f \uf900\ufa0e\ufa30\ufad9 \U00030000",
    "a中b文c\u0301字",
    "〇々〆ヶ〡",
    "你好,世界!今天是2024年",
    # punctuation, of Unicode 8.0 and later, and symbols that are none
    "$1+1=2 a^b `c` |d| ~e <f>",
    "€5 20° 3×4 ±1 ©2024 №9",
    "“quoted” ‘single’ … — – ‐ ⁃",
    "¿Qué? ¡No!",
    "\u2e42\u2e43\u2e4f\u2e52\u2e5d",
    "\u166d\u09fd\u0a76\u0c77\u0c84\u061d\u1b4e\u1b7d",
    "\U000111c9\U000111cd\U0001e95e\U00010ead\U00011fff",
    "、。「」・!?()",
    "a...b--c__d",
    "»«‹›„",
    # special tokens as text
    "[SEP]",
    "[CLS] a [SEP] b [PAD]",
    "x[UNK]y[MASK]z",
    "##ing ing ##",
    "[sep] [ SEP ] [SEP",
    "[unused1] [unused99]",
    # words that are long, unknown, or both
    "a" * 99,
    "a" * 100,
    "a" * 101,
    "a" * 200 + " b",
    "\U0001d4d0" * 100,
    "\U0001d4d0" * 101,
    "é" * 100,
    "é" * 101,
    "e\u0301" * 100,
    "각" * 33,
    "각" * 34,
    "İ" * 100,
    "中" * 101,
    "a\u200b" * 100,
    "a" * 50 + "-" + "b" * 60,
    "x" * 98 + "☃",
    "☃",
    "pre☃post",
    "unknownword☃ known",
    "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "qwxzqwxz",
    "12345678901234567890",
    "3.14159e-10",
    "C++ C# .NET",
    # emoji
    "👩‍👩‍👧‍👦 ok",
    "❤️ ❤ 👍🏽 🇩🇪 1️⃣",
    "a🙂b",
    "\U0001f468\u200d\U0001f4bb\ufe0f",
    "\U000e0100 \ufe00 \ufe0e",
    # odd ones
    "\u202eabc\u202c",
    "Tab\tseparated\nlines\r\nhere",
    "\x00a\x7fb",
    "ﷺ ﷲ",
    "㋿ ㏿ ™ ℡",
    "x̲y̲ a⃝ b⃠",
    "Łódź Đà Ħ ø æ œ þ ð",
    "naı̈ve façade coöperate",
]

ODD_PASSAGES = [
    ("empty", "", "What is it?"),
    ("blank", " \u200b\n", "What is it?"),
    ("no-question", "Ada Lovelace wrote the first program.", ""),
    ("separator", "The token [SEP] ends a passage. [CLS] begins it.", "What does [SEP] end?"),
    (
        "unicode",
        "Zoë Ångström met 東京 teams (👩‍👩‍👧‍👦) in Thessaloniki, ΘΕΣΣΑΛΟΝΊΚΗΣ; 한국어 naı̈ve e\u0301cole.",
        "Who met 東京 teams?",
    ),
    (
        "long-question",
        "Ada Lovelace wrote the first program in 1843.",
        "Who, " + "really and truly, " * 40 + "wrote it?",
    ),
]


def evenly(items, n):
    """`n` of the items, evenly taken."""
    return [items[i] for i in sampling.evenly(len(items), n, ends=True)]


def write_json(path, value):
    """Compact JSON in ASCII, gzip, the same bytes every time."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True)
    path.write_bytes(gzip.compress(text.encode("ascii"), compresslevel=9, mtime=0))


def json_lines(rows):
    """A list with a line for each item."""
    return ["[\n", ",\n".join(json.dumps(row) for row in rows), "\n]\n"]


def record_tokens(tokenizer, examples):
    """Every text with its ids and offsets."""
    contexts = list(dict.fromkeys(e.context for e in examples))
    real = evenly(contexts, min(N_CONTEXTS, len(contexts))) + evenly(
        [e.question for e in examples], N_QUESTIONS
    )
    texts = HARD_TEXTS + generated_texts(N_GENERATED, SEED) + real
    rows = []
    for text, encoding in zip(texts, tokenizer.encode_batch(texts, add_special_tokens=False), strict=True):
        starts = [start for start, _ in encoding.offsets]
        ends = [end for _, end in encoding.offsets]
        rows.append({"text": text, "ids": encoding.ids, "starts": starts, "ends": ends})
    return rows


def choose_examples(examples):
    """All questions, some on long passages, some on passages of other articles, and odd ones."""
    contexts = list(dict.fromkeys(e.context for e in examples))
    chosen = list(examples)
    for number, example in enumerate(evenly(examples, N_JOINED)):
        at = contexts.index(example.context)
        n = 2 + number % 2
        others = [contexts[(at + 11 * (k + 1)) % len(contexts)] for k in range(n)]
        joined = "\n".join([*others[:1], example.context, *others[1:]])
        chosen.append(Example(f"joined-{number}", "", joined, example.question, (), False))
    for number, example in enumerate(evenly(examples[5:], N_MOVED)):
        foreign = [e.context for e in examples if e.title != example.title]
        chosen.append(
            Example(f"moved-{number}", "", foreign[37 * number % len(foreign)], example.question, (), True)
        )
    return chosen + [
        Example(name, "", context, question, (), True) for name, context, question in ODD_PASSAGES
    ]


def record_preselection(tokenizer, settings, contexts):
    """Questions on long passages, which are named by the numbers of their contexts: which windows are
    read.
    """
    examples = []
    passages = []
    for number, (n, step) in enumerate(LONG_PASSAGES):
        members = [(k * step + number) % len(contexts) for k in range(n)]
        passages += [members] * N_LONG
        asked = [
            example
            for example in read_squad(resolve(EMBEDDED, "dev"))
            if contexts.index(example.context) in members
        ]
        text = "\n".join(contexts[k] for k in members)
        examples += [replace(example, context=text, answers=()) for example in evenly(asked, N_LONG - 1)]
        examples.append(
            replace(asked[0], context=text, answers=(), question="Zoë Ångström, 東京 (👩‍👩‍👧‍👦)?")
        )
    windows = make_windows(examples, tokenizer, settings)
    rows = []
    for number, (example, members) in enumerate(zip(examples, passages, strict=True)):
        own = [window for window in windows if window.example == number]
        step = min(len(own[0].char_starts), settings.doc_stride)
        read = {window.input_ids.tobytes() for window in preselect(own, settings)}
        firsts = [row * step for row, window in enumerate(own) if window.input_ids.tobytes() in read]
        rows.append(
            {"contexts": members, "question": example.question, "windows": len(own), "first_tokens": firsts}
        )
    return rows


def choose_thresholds(predictions):
    """None, and thresholds that leave more and more questions unanswered; one is exactly a question's own
    difference."""
    differences = sorted(p.null_difference for p in predictions if p.candidates)
    quantiles = [round(float(np.quantile(differences, share)), 2) for share in (0.05, 0.25, 0.5, 0.75, 0.95)]
    return [None, *quantiles, differences[len(differences) // 3]]


def record_windows(bundle, examples):
    """Contexts, and each question with its windows and their logits."""
    runtime = load_runtime(bundle)
    windows = make_windows(examples, bundle.tokenizer, bundle.settings)
    contexts = list(dict.fromkeys(e.context for e in examples))
    questions = [
        {"id": e.id, "question": e.question, "context": contexts.index(e.context), "windows": []}
        for e in examples
    ]
    for window, pair in zip(windows, run_windows(runtime, windows, progress=True), strict=True):
        # + 0.0: there is no -0.0
        start, end = (np.round(part.astype(np.float64) / STEP) * STEP + 0.0 for part in pair)
        questions[window.example]["windows"].append(
            {
                "input_ids": window.input_ids.tolist(),
                "start_logits": start.tolist(),
                "end_logits": end.tolist(),
            }
        )
    made_by = {
        "command": "python tests/golden/record_android.py --model BUNDLE",
        "runtime": runtime.name,
        "tokenizers": tokenizers.__version__,
        "model": bundle.reference(),
    }
    return {"made_by": made_by, "contexts": contexts, "thresholds": [], "questions": questions}


def with_answers(recorded, tokenizer, settings):
    """The recorded windows with thresholds and with what their logits are decoded to."""
    contexts = recorded["contexts"]
    examples = [
        Example(q["id"], "", contexts[q["context"]], q["question"], (), False) for q in recorded["questions"]
    ]
    windows = [[] for _ in examples]
    for window in make_windows(examples, tokenizer, settings):
        windows[window.example].append(window)
    predictions = [
        decode(
            own, [(np.array(w["start_logits"]), np.array(w["end_logits"])) for w in q["windows"]], settings
        )
        for q, own in zip(recorded["questions"], windows, strict=True)
    ]
    thresholds = choose_thresholds(predictions)
    questions = [
        question
        | {
            "candidates": [[c.score, c.start, c.end, c.share] for c in prediction.candidates],
            "null_score": prediction.null_score,
            "answered": [prediction.best(threshold) is not None for threshold in thresholds],
        }
        for question, prediction in zip(recorded["questions"], predictions, strict=True)
    ]
    return recorded | {"thresholds": thresholds, "questions": questions}


def main():
    """Write all files of the folder."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, help="TFLite bundle in int8")
    model = parser.parse_args().model
    if model is None:
        recorded = json.loads(gzip.decompress((OUT / "answers.json.gz").read_bytes()))
        settings = QASettings(**json.loads((OUT / "package" / "qa.json").read_bytes())["settings"])
        answers = with_answers(recorded, load_tokenizer(embedded_folder()), settings)
        write_json(OUT / "answers.json.gz", answers)
        return
    bundle = open_bundle(model, format="tflite")
    read_package(bundle.weights)
    examples = read_squad(resolve(EMBEDDED, "dev"))
    (OUT / "package").mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(bundle.weights) as archive:
        for name in MEMBERS:
            (OUT / "package" / name).write_bytes(archive.read(name))
    write_json(OUT / "tokens.json.gz", record_tokens(bundle.tokenizer, examples))
    windows = record_windows(bundle, choose_examples(examples))
    answers = with_answers(windows, bundle.tokenizer, bundle.settings)
    write_json(OUT / "answers.json.gz", answers)
    chosen = record_preselection(bundle.tokenizer, bundle.settings, answers["contexts"])
    (OUT / "preselection.json").write_text("".join(json_lines(chosen)), encoding="ascii")


if __name__ == "__main__":
    main()
