"""Record what Python makes of texts and questions, for the Android core's tests to repeat; Python's own tests
check it too.

    python -m export.tflite --model MODEL --quantize int8 --out BUNDLE
    python tests/golden/record_android.py --model BUNDLE --add "another text"
    python tests/golden/record_android.py

The last command only decodes the recorded logits again, into `answers.json.gz`. The one before it writes into
tests/golden/android: `package`, the members of the packaged file; `tokens.json.gz`, texts with token ids and
offsets; `answers.json.gz`, questions with every window's tokens and logits and the answers decoded from them;
`preselection.json`, which windows of long passages are read. Texts, passages and questions are those that the
files have. Offsets are in code points. Logits are rounded to multiples of 1/64: their sums are then exact, so
that equal scores come up and have to be put in order, and the files stay small.
"""

import argparse
import gzip
import json
import zipfile
from pathlib import Path

import msgspec
import numpy as np
import tokenizers

from export.android.package import MEMBERS, read_package
from qa.bundles.bundle import open_bundle
from qa.data.squad import Example
from qa.models.pretrained import embedded_folder
from qa.runtime.runtimes import load_runtime, run_windows
from qa.text.answers import decode
from qa.text.features import make_windows
from qa.text.preselection import preselect
from qa.text.settings import QASettings
from qa.text.tokenization import load_tokenizer

OUT = Path(__file__).parent / "android"
STEP = 1 / 64


def recorded(name):
    """Return the content of a packed file."""
    return json.loads(gzip.decompress((OUT / name).read_bytes()))


def write_json(path, value):
    """Compact JSON in ASCII, gzip, the same bytes every time."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True)
    path.write_bytes(gzip.compress(text.encode("ascii"), compresslevel=9, mtime=0))


def token_rows(tokenizer, texts):
    """Every text with its ids and offsets."""
    rows = []
    for text, encoding in zip(texts, tokenizer.encode_batch(texts, add_special_tokens=False), strict=True):
        starts, ends = ([place[side] for place in encoding.offsets] for side in (0, 1))
        rows.append({"text": text, "ids": encoding.ids, "starts": starts, "ends": ends})
    return rows


def windows_of(asked, tokenizer, settings):
    """The windows of each (question, passage)."""
    examples = [Example("", "", passage, question, (), False) for question, passage in asked]
    windows = [[] for _ in examples]
    for window in make_windows(examples, tokenizer, settings):
        windows[window.example].append(window)
    return windows


def asked_in(answers):
    """(question, passage) of each recorded question."""
    return [(q["question"], answers["contexts"][q["context"]]) for q in answers["questions"]]


def with_windows(answers, bundle):
    """The recorded questions with their windows and a bundle's logits."""
    runtime = load_runtime(bundle)
    questions = []
    windows = windows_of(asked_in(answers), bundle.tokenizer, bundle.settings)
    for question, own in zip(answers["questions"], windows, strict=True):
        rows = []
        for window, pair in zip(own, run_windows(runtime, own), strict=True):
            # + 0.0: there is no -0.0
            start, end = ((np.round(part.astype(np.float64) / STEP) * STEP + 0.0).tolist() for part in pair)
            rows.append({"input_ids": window.input_ids.tolist(), "start_logits": start, "end_logits": end})
        questions.append(question | {"windows": rows})
    made_by = {
        "command": "python tests/golden/record_android.py --model BUNDLE",
        "runtime": runtime.name,
        "tokenizers": tokenizers.__version__,
        "model": msgspec.to_builtins(bundle.reference()),
    }
    return answers | {"made_by": made_by, "questions": questions}


def choose_thresholds(predictions):
    """None, and thresholds that leave more and more questions unanswered; one is exactly a question's own
    difference."""
    differences = sorted(p.null_difference for p in predictions if p.candidates)
    quantiles = [round(float(np.quantile(differences, share)), 2) for share in (0.05, 0.25, 0.5, 0.75, 0.95)]
    return [None, *quantiles, differences[len(differences) // 3]]


def with_answers(answers, tokenizer, settings):
    """The recorded windows with thresholds and with what their logits are decoded to."""
    predictions = [
        decode(
            own, [(np.array(w["start_logits"]), np.array(w["end_logits"])) for w in q["windows"]], settings
        )
        for q, own in zip(
            answers["questions"], windows_of(asked_in(answers), tokenizer, settings), strict=True
        )
    ]
    thresholds = choose_thresholds(predictions)
    questions = [
        question
        | {
            "candidates": [[c.score, c.start, c.end, c.share] for c in prediction.candidates],
            "null_score": prediction.null_score,
            "answered": [prediction.best(threshold) is not None for threshold in thresholds],
        }
        for question, prediction in zip(answers["questions"], predictions, strict=True)
    ]
    return answers | {"thresholds": thresholds, "questions": questions}


def preselection_rows(rows, tokenizer, settings, contexts):
    """Questions on long passages, which are named by the numbers of their contexts: which windows are
    read.
    """
    asked = [(row["question"], "\n".join(contexts[k] for k in row["contexts"])) for row in rows]
    for row, own in zip(rows, windows_of(asked, tokenizer, settings), strict=True):
        step = min(len(own[0].char_starts), settings.doc_stride)
        read = {window.input_ids.tobytes() for window in preselect(own, settings)}
        firsts = [place * step for place, window in enumerate(own) if window.input_ids.tobytes() in read]
        yield row | {"windows": len(own), "first_tokens": firsts}


def main():
    """Write all files of the folder."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, help="TFLite bundle in int8")
    parser.add_argument("--add", metavar="TEXT", nargs="+", default=[], help="more texts to tokenize")
    options = parser.parse_args()
    if options.add and options.model is None:
        parser.error("--add needs --model")
    answers = recorded("answers.json.gz")
    if options.model is None:
        settings = QASettings(**json.loads((OUT / "package" / "qa.json").read_bytes())["settings"])
        tokenizer = load_tokenizer(embedded_folder())
    else:
        bundle = open_bundle(options.model, format="tflite")
        tokenizer, settings = bundle.tokenizer, bundle.settings
        read_package(bundle.weights)
        with zipfile.ZipFile(bundle.weights) as archive:
            for name in MEMBERS:
                (OUT / "package" / name).write_bytes(archive.read(name))
        texts = [row["text"] for row in recorded("tokens.json.gz")] + options.add
        write_json(OUT / "tokens.json.gz", token_rows(tokenizer, texts))
        answers = with_windows(answers, bundle)
        rows = json.loads((OUT / "preselection.json").read_bytes())
        lines = map(json.dumps, preselection_rows(rows, tokenizer, settings, answers["contexts"]))
        (OUT / "preselection.json").write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="ascii")
    write_json(OUT / "answers.json.gz", with_answers(answers, tokenizer, settings))


if __name__ == "__main__":
    main()
