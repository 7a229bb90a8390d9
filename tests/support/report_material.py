"""Rows, answers and a data file as a comparison leaves them: three models on a CPU, and ARM, a phone, a
failure, odd text."""

import hashlib
import json

from benchmarks.measure.accuracy import answers_path, save_answers
from benchmarks.results.files import append_result
from benchmarks.results.rows import (
    Accuracy,
    Data,
    Failure,
    Latency,
    Machine,
    PhoneLatency,
    Runtime,
    TargetAccuracy,
)
from qa.data.metrics import evaluate_predictions
from qa.data.squad import read_squad

ODD_NAME = "<b>bold</b> & Zürich 東京 \u202e\u2028\U0001f600 int8"
ODD_QUESTION = "Whose <i>tag</i> & which \u202eway?"
CPU = Machine("Z80", 2)
ARM = Machine("QEMU's neoverse-n1")
PIXEL = Machine("Pixel 8, Android 16")
TEACHER, STUDENT, INT8, ODD, QEMU = (digit * 64 for digit in "abcde")

PASSAGES = [
    (
        "Paris & <Lyon> are cities. " + "It rained on Monday. " * 4 + "Lyon & Paris again.",
        [
            ("p1", "What is a city?", "Paris"),
            ("p2", "When did it rain?", "Monday"),
            ("p3", ODD_QUESTION, "<Lyon>"),
        ],
    ),
    (
        "Whisky is made in Scotland. " * 30,
        [("w1", "Where is it made?", "Scotland"), ("w2", "Is it made?", "Scotland")],
    ),
    (
        "Ada \u202e Lovelace \U0001f600 wrote it.",
        [("a1", "To whom is it due?", "Ada"), ("a2", "How was it made?", "wrote it")],
    ),
]


def write_data(path):
    """Seven questions on three passages of 26, 150 and 7 words."""
    articles = []
    for number, (context, asked) in enumerate(PASSAGES):
        qas = [
            {
                "id": qid,
                "question": question,
                "answers": [{"text": text, "answer_start": context.index(text)}],
            }
            for qid, question, text in asked
        ]
        articles.append({"title": f"Article_{number}", "paragraphs": [{"context": context, "qas": qas}]})
    path.write_text(json.dumps({"version": "1.1", "data": articles}, ensure_ascii=False), encoding="utf-8")
    return path


# F1 in percent, worked by hand: teacher 6 of 7; student 5 and a half ("Ada wrote" against "Ada": 2/3); int8
# loses p3 as well.
ANSWERS = {
    TEACHER: {
        "p1": "Paris",
        "p2": "Monday",
        "p3": "<Lyon>",
        "w1": "Scotland",
        "w2": "Scotland",
        "a1": "Ada",
        "a2": "Lovelace",
    },
    STUDENT: {
        "p1": "Paris",
        "p2": "Paris",
        "p3": "<Lyon>",
        "w1": "Scotland",
        "w2": "Scotland",
        "a1": "Ada",
        "a2": "Lovelace",
    },
    INT8: {
        "p1": "Paris",
        "p2": "Paris",
        "p3": "Monday",
        "w1": "Scotland",
        "w2": "Scotland",
        "a1": "Ada",
        "a2": "wrote",
    },
}


def make_results(data_path):
    """All results, oldest first: scores, times at two settings, another target's, a phone's and a failure."""
    examples = read_squad(data_path)
    data = Data(data_path.name, hashlib.sha256(data_path.read_bytes()).hexdigest())
    f1 = {bundle: evaluate_predictions(examples, answers)["f1"] for bundle, answers in ANSWERS.items()}
    shared = {
        "stage": "export",
        "target": "cpu",
        "machine": CPU,
        "data": data,
        "date": "2026-01-02T03:04:05Z",
        "command": "python benchmarks/compare.py runs/teacher 'runs/a b' --data squad.json",
    }
    scores = {"n": 7, "n_windows": 8, "exact": 50.0, "baseline": "teacher", "baseline_sha256": TEACHER}
    torch = Runtime("torch", "2.13.0+cpu")
    litert = Runtime("ai-edge-litert", "2.3.0")
    ort = Runtime("onnxruntime", "1.31.1")
    models = [
        (
            "teacher",
            TEACHER,
            {"precision": "fp32", "runtime": torch, "params": 2000, "size_bytes": 8_123_456},
            40.5,
        ),
        (
            "student",
            STUDENT,
            {"precision": "fp32", "runtime": torch, "params": 1000, "size_bytes": 4_123_456},
            20.25,
        ),
        (
            "student-int8",
            INT8,
            {"precision": "int8", "runtime": litert, "params": 1000, "size_bytes": 1_234_567},
            9.125,
        ),
        (ODD_NAME, ODD, {"precision": "int8", "runtime": ort, "params": 1000, "size_bytes": 1_100_000}, 5.5),
    ]
    found = []
    times = []
    for name, bundle, own, ms in models:
        facts = {"model": name, "bundle_sha256": bundle, **own, **shared}
        facts |= {"parent_sha256": STUDENT} if bundle == INT8 else {}
        facts |= {"stage": "distill"} if own["precision"] == "fp32" else {}
        score = f1.get(bundle, 33.25)
        agreed = {"same_answers": 5 / 7, "same_answers_as": "student"} if bundle == INT8 else {}
        retained = score / f1[TEACHER]
        ends = {"f1_low": score - 1.5, "f1_high": score + 1.5} if bundle in f1 else {}
        ends |= (
            {"f1_retained_low": retained - 0.02, "f1_retained_high": retained + 0.02} if bundle in f1 else {}
        )
        found.append(Accuracy(**facts, **scores, f1=score, f1_retained=retained, **agreed, **ends))
        for lengths, factor in (("unpadded", 1.0), (384, 2.0)):
            names = {"p50": 0.9, "p90": 1.2, "p99": 1.5, "mean": 1.0}
            figures = {f"latency_ms_{name}": ms * factor * share for name, share in names.items()}
            times.append(
                Latency(**facts, **figures, threads=1, batch=1, lengths=lengths, n_warmup=3, n_runs=24)
            )
    there = {"target": "qemu:neoverse-n1", "machine": ARM}
    counted = {"reference": "here", "reference_f1": 80.0, "parity_max_abs": 0.1, "same_spans": 1.0}
    counted |= {"n": 5, "n_windows": 8, "exact": 50.0}
    for (name, bundle, own, _), score, n in (
        (models[0], f1[TEACHER], 1_234_567_890),
        (models[2], 77.5, 234_567_890),
    ):
        facts = {"model": name, "bundle_sha256": bundle, **own, **shared, **there, **counted, "f1": score}
        times.append(TargetAccuracy(**facts, instructions_per_window=n))
    facts = {"model": "student-int8", "bundle_sha256": INT8, "precision": "int8", "size_bytes": 1_234_567}
    facts |= shared | {"data": None}
    facts |= {"target": "phone", "machine": PIXEL, "runtime": Runtime("LiteRT", variant="+ XNNPACK")}
    facts |= {"lengths": 128, "threads": 4}
    facts |= {"n_warmup": 5, "n_runs": 50, "load_ms": 40.0, "latency_ms_first": 25.0}
    times.append(PhoneLatency(**facts, latency_ms_p50=17.5, latency_ms_p95=18.0, latency_ms_mean=17.625))
    broken = {"model": "broken", "bundle_sha256": "f" * 64, "precision": "int8", "size_bytes": 7, **shared}
    return [*found, *times, Failure(**broken, error="cannot load <it>")]


def write_material(folder):
    """Write data.json, rows.jsonl and the kept answers. Returns the paths of results and data, and the
    results."""
    data = write_data(folder / "data.json")
    results = make_results(data)
    path = folder / "rows.jsonl"
    for result in results:
        append_result(path, result)
    for bundle, answers in ANSWERS.items():
        save_answers(answers_path(path, bundle, results[0].data.sha256), answers)
    return path, data, results
