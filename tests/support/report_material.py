"""Rows, answers and a data file as a comparison leaves them: three models on a CPU, and ARM, a phone, a
failure, odd text."""

from benchmark_results import LITERT, ORT, TORCH, failure, on_phone, on_target, scored, timed

from benchmarks.measure.accuracy import answers_path, save_answers
from benchmarks.results.files import append_result
from benchmarks.results.rows import Data, Machine
from qa.base.files import file_sha256
from qa.data.metrics import evaluate_predictions
from qa.data.squad import Answer, Example, read_squad, write_squad

ODD_NAME = "<b>bold</b> & Zürich 東京 \u202e\u2028\U0001f600 int8"
ODD_QUESTION = "Whose <i>tag</i> & which \u202eway?"
CPU = Machine("Z80", 2)
ARM = Machine("QEMU's neoverse-n1")
PIXEL = Machine("Pixel 8, Android 16")
TEACHER, STUDENT, INT8, ODD, QEMU = (digit * 64 for digit in "abcde")

PASSAGES = {
    "Paris & <Lyon> are cities. " + "It rained on Monday. " * 4 + "Lyon & Paris again.": [
        ("p1", "What is a city?", "Paris"),
        ("p2", "When did it rain?", "Monday"),
        ("p3", ODD_QUESTION, "<Lyon>"),
    ],
    "Whisky is made in Scotland. " * 30: [
        ("w1", "Where is it made?", "Scotland"),
        ("w2", "Is it made?", "Scotland"),
    ],
    "Ada \u202e Lovelace \U0001f600 wrote it.": [
        ("a1", "To whom is it due?", "Ada"),
        ("a2", "How was it made?", "wrote it"),
    ],
}
# F1 in percent, worked by hand: teacher 6 of 7; student 5; int8 loses p3 as well, and has 2/3 for "wrote" of
# "wrote it".
RIGHT = {qid: text for asked in PASSAGES.values() for qid, _, text in asked}
ANSWERS = {
    TEACHER: RIGHT | {"a2": "Lovelace"},
    STUDENT: RIGHT | {"a2": "Lovelace", "p2": "Paris"},
    INT8: RIGHT | {"a2": "wrote", "p2": "Paris", "p3": "Monday"},
}


def write_data(path):
    """Seven questions on three passages of 26, 150 and 7 words."""
    examples = [
        Example(qid, f"Article_{n}", context, text, (Answer(gold, context.index(gold)),), is_impossible=False)
        for n, (context, asked) in enumerate(PASSAGES.items())
        for qid, text, gold in asked
    ]
    write_squad(path, examples)
    return path


def make_results(data_path):
    """All results, oldest first: scores, times at two settings, another target's, a phone's and a failure."""
    examples = read_squad(data_path)
    f1 = {bundle: evaluate_predictions(examples, answers)["f1"] for bundle, answers in ANSWERS.items()}
    command = "python benchmarks/compare.py runs/teacher 'runs/a b' --data squad.json"
    run = {"data": Data(data_path.name, file_sha256(data_path)), "machine": CPU, "stage": "export"}
    run |= {"date": "2026-01-02T03:04:05Z", "command": command, "params": 1000}
    by_teacher = {"n": 7, "n_windows": 8, "exact": 50.0, "baseline": "teacher", "baseline_sha256": TEACHER}
    torch = {"precision": "fp32", "runtime": TORCH, "stage": "distill"}
    models = [
        ("teacher", TEACHER, 40.5, torch | {"params": 2000, "size_bytes": 8_123_456}),
        ("student", STUDENT, 20.25, torch | {"size_bytes": 4_123_456}),
        ("student-int8", INT8, 9.125, {"runtime": LITERT, "size_bytes": 1_234_567, "parent_sha256": STUDENT}),
        (ODD_NAME, ODD, 5.5, {"runtime": ORT, "size_bytes": 1_100_000}),
    ]
    scores = []
    times = []
    for name, bundle, ms, own in models:
        facts = run | {"bundle_sha256": bundle, "precision": "int8"} | own
        score = f1.get(bundle, 33.25)
        retained = score / f1[TEACHER]
        more = by_teacher | {"f1_retained": retained}
        if bundle in f1:
            more |= {"f1_low": score - 1.5, "f1_high": score + 1.5}
            more |= {"f1_retained_low": retained - 0.02, "f1_retained_high": retained + 0.02}
        if bundle == INT8:
            more |= {"same_answers": 5 / 7, "same_answers_as": "student"}
        scores.append(scored(name, score, **facts, **more))
        times += [timed(name, ms, "unpadded", n_runs=24, **facts), timed(name, 2 * ms, n_runs=24, **facts)]
    there = run | {"target": "qemu:neoverse-n1", "machine": ARM, "n": 5, "n_windows": 8}
    for (name, bundle, _, own), score, n in (
        (models[0], f1[TEACHER], 1_234_567_890),
        (models[2], 77.5, 234_567_890),
    ):
        facts = there | {"bundle_sha256": bundle, "precision": "int8"} | own
        times.append(on_target(name, n, f1=score, **facts))
    phone = {"machine": PIXEL, "lengths": 128, "threads": 4, "data": None}
    times.append(on_phone("student-int8", 17.5, **(run | {"bundle_sha256": INT8} | phone)))
    return [*scores, *times, failure("broken", "cannot load <it>", precision="int8", **run)]


def write_material(folder):
    """Write data.json, rows.jsonl and the kept answers. Returns the paths of results and data, and the results."""
    data = write_data(folder / "data.json")
    results = make_results(data)
    path = folder / "rows.jsonl"
    for result in results:
        append_result(path, result)
    for bundle, answers in ANSWERS.items():
        save_answers(answers_path(path, bundle, results[0].data.sha256), answers)
    return path, data, results
