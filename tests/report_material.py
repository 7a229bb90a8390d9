"""Rows, answers and a data file as a comparison leaves them: three models on a CPU, and ARM, a phone, a failure, odd text."""

import hashlib
import json

from benchmarks.accuracy import answers_path, save_answers
from qa.metrics import evaluate_predictions
from qa.squad import read_squad

ODD_NAME = "<b>bold</b> & Zürich 東京 \u202e\u2028\U0001f600 int8"
ODD_QUESTION = "Whose <i>tag</i> & which \u202eway?"
CPU, ARM, PIXEL = "Z80, 2 cores", "QEMU's neoverse-n1", "Pixel 8, Android 16"
TEACHER, STUDENT, INT8, ODD, QEMU = (digit * 64 for digit in "abcde")

PASSAGES = [
    ("Paris & <Lyon> are cities. " + "It rained on Monday. " * 4 + "Lyon & Paris again.", [
        ("p1", "What is a city?", "Paris"), ("p2", "When did it rain?", "Monday"), ("p3", ODD_QUESTION, "<Lyon>"),
    ]),
    ("Whisky is made in Scotland. " * 30, [("w1", "Where is it made?", "Scotland"), ("w2", "Is it made?", "Scotland")]),
    ("Ada \u202e Lovelace \U0001f600 wrote it.", [("a1", "To whom is it due?", "Ada"), ("a2", "How was it made?", "wrote it")]),
]  # fmt: skip


def write_data(path):
    """Seven questions on three passages of 26, 150 and 7 words."""
    articles = []
    for number, (context, asked) in enumerate(PASSAGES):
        qas = [
            {"id": qid, "question": question, "answers": [{"text": text, "answer_start": context.index(text)}]}
            for qid, question, text in asked
        ]
        articles.append({"title": f"Article_{number}", "paragraphs": [{"context": context, "qas": qas}]})
    path.write_text(json.dumps({"version": "1.1", "data": articles}, ensure_ascii=False), encoding="utf-8")
    return path


# F1 in percent, worked by hand: teacher 6 of 7; student 5 and a half ("Ada wrote" against "Ada": 2/3); int8 loses p3 as well.
ANSWERS = {
    TEACHER: {"p1": "Paris", "p2": "Monday", "p3": "<Lyon>", "w1": "Scotland", "w2": "Scotland", "a1": "Ada", "a2": "Lovelace"},
    STUDENT: {"p1": "Paris", "p2": "Paris", "p3": "<Lyon>", "w1": "Scotland", "w2": "Scotland", "a1": "Ada", "a2": "Lovelace"},
    INT8: {"p1": "Paris", "p2": "Paris", "p3": "Monday", "w1": "Scotland", "w2": "Scotland", "a1": "Ada", "a2": "wrote"},
}


def make_rows(data_path):
    """All rows, oldest first: accuracy, then latency at two settings."""
    examples = read_squad(data_path)
    data = {"name": data_path.name, "sha256": hashlib.sha256(data_path.read_bytes()).hexdigest()}
    f1 = {bundle: evaluate_predictions(examples, answers)["f1"] for bundle, answers in ANSWERS.items()}
    shared = {
        "target": "cpu", "machine": CPU, "data": data, "n": 7, "n_windows": 8, "exact": 50.0, "baseline": "teacher",
        "baseline_sha256": TEACHER, "command": "python benchmarks/compare.py runs/teacher 'runs/a b' --data squad.json",
        "date": "2026-01-02T03:04:05Z", "status": "ok",
    }  # fmt: skip

    def model(name, bundle, **more):
        figures = {"f1": f1.get(bundle, 33.25), "f1_retained": f1.get(bundle, 33.25) / f1[TEACHER]}
        return {"model": name, "bundle_sha256": bundle, "stage": "export", **shared, **figures, **more}

    models = [
        (model("teacher", TEACHER, precision="fp32", runtime="torch 2.13.0+cpu", params=2000, size_bytes=8_123_456), 40.5),
        (model("student", STUDENT, precision="fp32", runtime="torch 2.13.0+cpu", params=1000, size_bytes=4_123_456), 20.25),
        (
            model("student-int8", INT8, precision="int8", runtime="ai-edge-litert 2.3.0", params=1000, size_bytes=1_234_567)
            | {"same_answers": 5 / 7, "same_answers_as": "student"},
            9.125,
        ),
        (model(ODD_NAME, ODD, precision="int8", runtime="onnxruntime 1.31.1", params=1000, size_bytes=1_100_000), 5.5),
    ]
    rows = [row for row, _ in models]
    for row, ms in models:
        for lengths, factor in (("real", 1.0), (384, 2.0)):
            names = {"p50": 0.9, "p90": 1.2, "p99": 1.5, "mean": 1.0}
            times = {f"latency_ms_{name}": ms * factor * share for name, share in names.items()}
            rows.append(row | times | {"threads": 1, "batch": 1, "lengths": lengths, "n_warmup": 3, "n_runs": 24})
    on_arm = {"target": "qemu:neoverse-n1", "machine": ARM, "n": 5, "lengths": 384, "threads": 1, "batch": 1}
    rows.append(rows[0] | on_arm | {"bundle_sha256": QEMU, "baseline_sha256": QEMU, "instructions_per_window": 1_234_567_890})
    rows.append(rows[2] | on_arm | {"baseline_sha256": QEMU, "instructions_per_window": 234_567_890, "f1": 77.5})
    phone = {
        key: rows[2][key] for key in ("model", "bundle_sha256", "stage", "precision", "size_bytes", "command", "date", "status")
    }
    phone |= {"target": "phone", "machine": PIXEL, "runtime": "LiteRT benchmark_model + XNNPACK", "lengths": 128, "threads": 4}
    rows.append(phone | {"n_runs": 50, "latency_ms_p50": 17.5, "latency_ms_p95": 18.0, "latency_ms_mean": 17.625})
    failed = {"f1": None, "f1_retained": None, "exact": None, "runtime": None, "status": "cannot load <it>"}
    rows.append(model("broken", "f" * 64, precision="int8", size_bytes=7) | failed)
    return [{key: value for key, value in row.items() if value is not None} for row in rows]


def write_material(folder):
    """Write data.json, rows.jsonl and the kept answers. Returns the paths of rows and data, and the rows."""
    data = write_data(folder / "data.json")
    rows = make_rows(data)
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    for bundle, answers in ANSWERS.items():
        save_answers(answers_path(path, bundle, rows[0]["data"]["sha256"]), answers)
    return path, data, rows
