"""Comparing tiny bundles from end to end: rows, reuse, failures, and what is refused before anything is
measured."""

import json
import os
import re
import shlex
import shutil
from pathlib import Path
from unittest.mock import Mock

import pytest
from compare_cli import run_cli
from comparisons import question, rebundle, write_data
from stops import stop_at_part

from benchmarks import measure_and_show, resolve
from benchmarks.measure import accuracy
from benchmarks.measure import latency as measure
from benchmarks.measure.conditions import Host, this_host
from benchmarks.measure.hosts import on_this_machine
from benchmarks.measure.plan import QUICK
from benchmarks.options import CompareOptions
from benchmarks.resolve import command_line
from benchmarks.results.files import read_results
from benchmarks.results.rows import Accuracy, Failure, Latency, Machine
from export.onnx.exporter import export
from export.options import OnnxOptions
from qa.base.errors import OptionError
from qa.base.files import file_sha256
from qa.bundles.bundle import MANIFEST, open_bundle
from qa.data.squad import Answer, Example, read_squad
from qa.evaluation import predict as prediction
from qa.runtime.runtimes import available_cores

WRITE_REPORT = measure_and_show.write_report


@pytest.fixture
def data(tmp_path):
    """Two questions; of the first's context every answer has a positive F1."""
    paragraphs = [
        {"context": "Paris Paris Paris Paris", "qas": [question("q1", "Paris", 0)]},
        {"context": "It rained on Monday. " * 40, "qas": [question("q2", "Monday", 13)]},
    ]
    return write_data(tmp_path / "questions.json", paragraphs)


@pytest.fixture
def teacher(make_bundle, tmp_path):
    return rebundle(make_bundle(), tmp_path / "run" / "teacher", stage="finetune")


@pytest.fixture
def student(make_bundle, teacher, tmp_path):
    return rebundle(
        make_bundle(seed=1), tmp_path / "run" / "student", parent=open_bundle(teacher).reference()
    )


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Seconds go into drawing, and into starting PyTorch for each number of threads; one test for each does
    it."""
    monkeypatch.setattr(measure_and_show, "write_report", lambda path, page: None)
    monkeypatch.setattr(resolve, "available_cores", lambda: 1)


@pytest.fixture
def scored(data):
    """A function: the new rows of bundles whose accuracy is measured."""

    def score(*bundles, data=data, **options):
        return measure_and_show.measure(CompareOptions(bundles, str(data), skip_latency=True, **options))

    return score


@pytest.fixture
def measured(monkeypatch):
    """The names of the data whose accuracy was computed, not reused."""
    computed = []
    real = accuracy.evaluate

    def counting(runtime, bundle, examples, journal):
        computed.append(bundle.path.name)
        return real(runtime, bundle, examples, journal)

    monkeypatch.setattr(accuracy, "evaluate", counting)
    return computed


@pytest.mark.system
def test_end_to_end(teacher, student, data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(measure_and_show, "write_report", WRITE_REPORT)
    code = run_cli(monkeypatch, student, teacher, "--data", data, "--quick")
    captured = capsys.readouterr()
    assert code == 0, captured.err
    rows = read_results(tmp_path / "run" / "rows.jsonl")
    scores = rows[:2]
    latency = rows[2:]
    settings = {(row.model, row.lengths) for row in latency}
    assert settings == {(m, lengths) for m in ("teacher", "student") for lengths in ("unpadded", 128)}
    for row in latency:
        assert row.n_runs >= 64
        assert row.runtime.package == "torch"
        assert row.load_ms > 0
        assert row.peak_memory_mb > 10
        assert list(row.affinity) == this_host().cores_for(row.threads)
        assert row.latency_ms_p50 <= row.latency_ms_p90 <= row.latency_ms_p99
        assert str(tmp_path) not in str(row)
    teacher_scores, student_scores = scores
    assert (teacher_scores.n, teacher_scores.f1_retained, teacher_scores.baseline) == (2, 1.0, "teacher")
    assert teacher_scores.n_windows > 2
    assert teacher_scores.f1 > 0
    assert teacher_scores.f1_retained_low is None  # of itself it retains all
    assert student_scores.size_bytes == (student / "model.safetensors").stat().st_size
    assert student_scores.params == json.loads((student / MANIFEST).read_text())["parameters"]["total"]
    assert student_scores.same_answers_as == "teacher"
    assert student_scores.f1_retained == pytest.approx(student_scores.f1 / teacher_scores.f1)
    assert student_scores.f1_low is None, "two questions have no interval"
    page = (tmp_path / "run" / "report.html").read_text()
    assert "student" in page
    assert str(tmp_path) not in page
    assert re.search(r"student +PyTorch +fp32", captured.out)


def test_the_command_on_a_page_makes_the_page_again(
    teacher, student, make_bundle, data, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    pages = []
    monkeypatch.setattr(measure_and_show, "write_report", lambda path, page: pages.append(page))
    other = rebundle(make_bundle(seed=2), tmp_path / "run" / "other")
    words = ("--data", data, "--skip-latency")
    assert run_cli(monkeypatch, other, teacher, *words) == 0
    assert run_cli(monkeypatch, student, "--baseline", teacher, *words) == 0
    assert pages[1].command.startswith(
        "python benchmarks/compare.py run/teacher run/student --data questions.json --rows"
    )
    assert run_cli(monkeypatch, *shlex.split(pages[1].command)[2:]) == 0
    assert pages[2].render() == pages[1].render()
    assert [e.model for e in pages[1].groups[0].entries] == ["teacher", "student"]


def test_accuracy_is_reused_for_the_same_bundle_data_and_runtime_only(
    teacher, scored, data, tmp_path, measured, monkeypatch, capsys
):
    first = scored(teacher)
    assert measured == ["teacher"]
    assert scored(teacher) == []
    assert measured == ["teacher"]
    assert "reused" in capsys.readouterr().err

    data.write_text(data.read_text() + "\n")  # the same questions, another file
    again = scored(teacher)
    assert measured == ["teacher"] * 2
    assert [row.f1 for row in again] == [row.f1 for row in first]
    monkeypatch.setattr(Host, "machine", Machine("Z80", 1))
    scored(teacher)
    assert measured == ["teacher"] * 3
    rows = tmp_path / "run" / "rows.jsonl"
    assert len(read_results(rows)) == 3
    rows.write_text(rows.read_text().replace('"version":"2', '"version":"1'))
    scored(teacher)
    assert measured == ["teacher"] * 4


def test_scoring_that_was_stopped_goes_on_with_the_questions_it_lacks(
    teacher, scored, data, tmp_path, monkeypatch
):
    monkeypatch.setattr(prediction, "PART_CHARACTERS", 1)
    seen = stop_at_part(monkeypatch, 2)
    with pytest.raises(KeyboardInterrupt):
        scored(teacher)
    (row,) = scored(teacher)
    assert len(seen) == 1 + len(read_squad(data)) == 1 + row.n
    assert not (tmp_path / "run" / "rows.jsonl.journal").exists()


def test_scores_whose_answers_are_gone_are_computed_again(teacher, scored, tmp_path, measured):
    (first,) = scored(teacher)
    (answers,) = (tmp_path / "run" / "rows.predictions").iterdir()
    before = answers.read_bytes()
    answers.unlink()
    (again,) = scored(teacher)
    assert measured == ["teacher"] * 2
    assert (answers.read_bytes(), again.f1_low) == (before, first.f1_low)
    for n, text in enumerate((json.dumps(dict.fromkeys(json.loads(before), "of another machine")), "{"), 3):
        answers.write_text(text)
        scored(teacher)
        assert measured == ["teacher"] * n
        assert answers.read_bytes() == before


def test_scores_of_a_file_that_is_back_under_its_name_are_the_newest_again(
    teacher, make_bundle, scored, tmp_path, measured
):
    kept = shutil.copytree(teacher, tmp_path / "kept")
    other = rebundle(make_bundle(seed=1), tmp_path / "other", stage="finetune", precision="fp16")
    for source in (kept, other, kept):
        shutil.rmtree(teacher)
        shutil.copytree(source, teacher)
        scored(teacher)
    assert measured == ["teacher"] * 2, "nothing is computed twice"
    first, second, third = read_results(tmp_path / "run" / "rows.jsonl")
    assert first.bundle_sha256 == third.bundle_sha256 != second.bundle_sha256
    assert scored(teacher) == []


def test_answers_are_compared_with_those_of_the_parent_across_runs(teacher, make_bundle, scored, tmp_path):
    parent = rebundle(make_bundle(seed=1), tmp_path / "run" / "student")
    copy = rebundle(parent, tmp_path / "run" / "copy", parent=open_bundle(parent).reference())
    assert scored(copy)[0].same_answers is None
    scored(teacher, parent)
    assert [(row.same_answers, row.same_answers_as) for row in scored(teacher, copy)] == [(1.0, "student")]
    # What is known of it stays.
    (answers,) = (tmp_path / "run" / "rows.predictions").glob(f"{open_bundle(parent).sha256[:16]}-*")
    answers.write_text("{")
    assert [(row.same_answers, row.same_answers_as) for row in scored(copy)] == [(1.0, "student")]


def test_the_overlap_of_data_and_training_is_said_and_recorded(
    teacher, make_bundle, scored, data, tmp_path, capsys
):
    trained = {"name": data.name, "sha256": file_sha256(data)}
    tuned = rebundle(make_bundle(seed=1), tmp_path / "run" / "tuned", training_data=trained)
    rows = scored(teacher, tuned)
    assert [row.train_overlap for row in rows] == [None, 1.0]
    captured = capsys.readouterr()
    said = re.findall(r"(.*): train-test overlap: ([\d.%]+|unknown)", captured.err)
    assert said == [("teacher", "unknown"), ("tuned", "100.00%")]
    assert "tuned§" in captured.out


def test_where_all_questions_have_an_answer_every_model_answers_always(
    tiny_export, make_bundle, scored, data, tmp_path, capsys
):
    out = tmp_path / "declining"
    declining = export(OnnxOptions(model=make_bundle(), out=out, quantize="fp32", null_threshold=-1e9)).path
    one, other = scored(tiny_export("onnx").path, declining, rows=tmp_path / "rows.jsonl")
    assert one.f1 == other.f1 > 0
    assert "every model answers always" in " ".join(capsys.readouterr().out.split())
    unanswerable = {"id": "q3", "question": "When?", "answers": [], "is_impossible": True}
    paragraphs = json.loads(data.read_text())["data"][0]["paragraphs"]
    paragraphs[0]["qas"].append(unanswerable)
    row = scored(declining, data=write_data(tmp_path / "with-unanswerable.json", paragraphs))[-1]
    assert (row.HasAns_f1, row.NoAns_f1, row.null_threshold) == (0.0, 100.0, -1e9)
    assert "every model answers always" not in capsys.readouterr().out


def test_a_failure_is_a_row_and_the_others_are_measured(
    tiny_export, make_export, data, tmp_path, monkeypatch, capsys
):
    """No runtime can load one; another fails when it is timed."""
    source = tiny_export("onnx").path  # whose workers start at once
    teacher, student = (rebundle(source, tmp_path / "run" / name) for name in ("teacher", "student"))
    adapter = "def load(path, threads):\n    raise RuntimeError('out of memory')\n"
    (tmp_path / "failing_adapter.py").write_text(adapter)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    find = resolve.find_models

    def failing(named, also=()):
        found = find(named, also)
        found[-1].deployment = on_this_machine(student, "failing_adapter")
        return found

    monkeypatch.setattr(resolve, "find_models", failing)
    broken = make_export("broken", 7)
    words = (broken, student, "--baseline", teacher, "--data", data, "--quick")
    assert run_cli(monkeypatch, *words) == 1
    rows = read_results(tmp_path / "run" / "rows.jsonl")
    assert [(row.model, type(row)) for row in rows] == [
        ("teacher", Accuracy),
        ("broken", Failure),
        ("student", Accuracy),
        ("teacher", Latency),
        ("teacher", Latency),
        ("student", Failure),
    ]
    assert (rows[1].size_bytes, rows[1].runtime) == (7, None)
    assert (rows[-1].error, rows[-1].threads) == ("out of memory", 1)
    out = capsys.readouterr().out
    assert "broken failed:" in out
    assert "student (threads 1) failed: out of memory" in out
    line = next(line for line in out.splitlines() if line.startswith("student "))
    assert f"{rows[2].f1:.2f}" in line.split(), "its accuracy was measured before"


def test_a_batch_that_fails_is_named_and_the_other_times_are_kept(
    tiny_export, data, tmp_path, monkeypatch, capsys
):
    export = tiny_export("onnx").path
    adapter = (
        "from benchmarks.measure.worker import Model\n"
        "from qa.runtime.engines import OnnxRuntime\n"
        "def load(path, threads):\n"
        "    runtime = OnnxRuntime(path, threads)\n"
        "    def call(inputs):\n"
        "        if len(inputs['input_ids']) > 1:\n"
        "            raise RuntimeError('out of memory')\n"
        "        return runtime(inputs)\n"
        "    return Model((runtime.package, runtime.version, ''), None, call, 8)\n"
    )
    (tmp_path / "small_adapter.py").write_text(adapter)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    find = resolve.find_models

    def small(named, also=()):
        (model,) = find(named, also)
        model.deployment = on_this_machine(model.bundle.weights, "small_adapter")
        return [model]

    monkeypatch.setattr(resolve, "find_models", small)
    rows_path = tmp_path / "rows.jsonl"
    threads = sorted({1, available_cores()})  # it is tried again with other threads
    words = ("--lengths", "unpadded", "--batch", 3, 1, "--threads", *threads, "--quick", "--rows", rows_path)
    with monkeypatch.context() as stopping:
        stopping.setattr(measure.Journal, "remove", Mock(side_effect=KeyboardInterrupt))
        assert run_cli(monkeypatch, export, "--data", data, *words) == 130
    assert run_cli(monkeypatch, export, "--data", data, *words) == 1, "and no failure comes twice"
    scores, *others = read_results(rows_path)
    assert isinstance(scores, Accuracy)
    for n, times, failed in zip(threads, others[::2], others[1::2], strict=True):
        assert (times.threads, times.batch, len(times.round_ms)) == (n, 1, QUICK.n_rounds)
        assert (failed.threads, failed.error) == (n, "lengths unpadded, batch 3: out of memory")
    assert f"(threads {n}) failed: lengths unpadded, batch 3: out of memory" in capsys.readouterr().out


def test_a_stopped_comparison_goes_on_and_no_row_comes_twice(
    tiny_export, data, tmp_path, monkeypatch, capsys
):
    rows_path = tmp_path / "run" / "rows.jsonl"
    config = CompareOptions((tiny_export("onnx").path,), str(data), rows=rows_path, quick=True)
    monkeypatch.setattr(resolve, "available_cores", lambda: 2)
    real = measure.run_interleaved_rounds

    def stopped(timings, plan, threads, *others):
        real(timings, plan, threads, *others)
        if threads == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(measure, "run_interleaved_rounds", stopped)
    with pytest.raises(KeyboardInterrupt):
        measure_and_show.measure(config)
    first, *timed = read_results(rows_path)
    assert isinstance(first, Accuracy)
    assert [(row.threads, row.lengths) for row in timed] == [(1, "unpadded"), (1, 128)]
    (journal,) = rows_path.with_name(rows_path.name + ".journal").iterdir()
    monkeypatch.setattr(measure, "run_interleaved_rounds", real)
    measure_and_show.measure(config)
    assert "resuming the run of" in capsys.readouterr().err
    timed = [row for row in read_results(rows_path) if isinstance(row, Latency)]
    settings = [(1, "unpadded"), (1, 128), (2, "unpadded"), (2, 128)]
    assert [(row.threads, row.lengths) for row in timed] == settings
    assert len({row.date for row in timed}) == 1
    assert not journal.exists()


def test_lengths_and_batches_are_settings_of_their_own(tiny_export, data, tmp_path, monkeypatch, capsys):
    export = tiny_export("onnx").path
    rows_path = tmp_path / "run" / "rows.jsonl"
    words = ("--lengths", 96, "padded", "--batch", 1, 3, "--threads", 1, "--rows", rows_path)
    assert run_cli(monkeypatch, export, "--data", data, "--quick", *words) == 0
    timed = [row for row in read_results(rows_path) if isinstance(row, Latency)]
    assert [(row.lengths, row.batch) for row in timed] == [(96, 1), (128, 1), (96, 3), (128, 3)]
    for row in timed:
        assert row.quick
        assert len(row.round_ms) == QUICK.n_rounds
        assert (row.latency_ms_p50 is not None) == (row.batch == 1)
        assert (row.windows_per_s is not None) == (row.batch == 3)
        assert list(row.affinity) == this_host().cores_for(1)
        for name in ("tokenize_ms_p50", "decode_ms_p50", "load_ms", "latency_ms_first", "load_average"):
            assert getattr(row, name) is not None
    assert run_cli(monkeypatch, export, "--data", data, "--quick", "--lengths", 256) == 2
    refusal = "--lengths must be at most 128, as long as windows of tiny-onnx are, got 256"
    assert refusal in capsys.readouterr().err
    assert run_cli(monkeypatch, export, "--data", data, "--quick", "--lengths", "padded", 128) == 2
    refusal = "--lengths must be padded or 128, which are the same for tiny-onnx, got padded 128"
    assert refusal in capsys.readouterr().err


REEL = "--lengths must be unpadded, padded, or a number of tokens from 32, got reel"
PHONE = {"phone_report": (Path("a.json"),)}
REPORT = {"report": True}
MEASURING = {"data": "squad", "baseline": Path("x"), "quick": True, "threads": (1,), "toolchains": Path("x")}


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"lengths": ("reel",)}, REEL),
        ({"lengths": ("16",)}, "--lengths must be unpadded, padded, or a number"),
        ({"lengths": ("unpadded", "unpadded")}, "--lengths must be one value or several, each once"),
        ({"threads": (0,)}, "--threads must be between 1 and"),
        ({"threads": ()}, "--threads must be one value or several"),
        ({"batch": (0,)}, "--batch must be at least 1"),
        ({"target": "gpu", "batch": (1, 32)}, "--target must be cpu, cuda, ssh:USER@HOST, qemu:CPU"),
        ({"target": "ssh:pi", "batch": (1, 32)}, "--batch cannot be combined with --target ssh:pi"),
        ({"target": "ssh:a", "baseline": Path("x")}, "--baseline cannot be combined with --target ssh:a"),
        ({"questions": 3}, "--questions cannot be combined with --target cpu"),
        ({"questions": 3, "target": "cuda"}, "--questions cannot be combined with --target cuda"),
        ({"threads": (1,), "target": "cuda"}, "--threads cannot be combined with --target cuda"),
        ({"questions": 0, "target": "qemu:max"}, "--questions must be at least 1"),
        ({"quick": True, "target": "qemu:max"}, "--quick cannot be combined with --target qemu:max"),
        ({"quick": True, "skip_latency": True}, "--quick cannot be combined with --skip-latency"),
        ({"batch": (1, 32), "skip_latency": True}, "--batch cannot be combined with --skip-latency"),
        *(
            (PHONE | {option: value}, f"--{option} cannot be combined with --phone-report")
            for option, value in MEASURING.items()
        ),
        (PHONE | {"skip_latency": True}, "--skip-latency cannot be combined with --phone-report"),
        (REPORT | {"skip_latency": True}, "--skip-latency cannot be combined with --report"),
        (REPORT | {"lengths": ("128",)}, "--lengths cannot be combined with --report"),
        (REPORT | PHONE, "--phone-report cannot be combined with --report"),
        (PHONE | {"target": "qemu:max"}, "--target cannot be combined with --phone-report"),
    ],
)
def test_options_are_checked(options, wanted):
    with pytest.raises(OptionError, match=re.escape(wanted)):
        CompareOptions(**options)


def test_without_arguments_the_demo_is_compared(teacher, data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_cli(monkeypatch, "--skip-latency") == 2
    assert "holds no finished bundle to compare" in capsys.readouterr().err
    shutil.copytree(teacher, "runs/demo/teacher")
    (tmp_path / "runs/demo/unfinished").mkdir()
    damaged = shutil.copytree(teacher, "runs/demo/damaged")
    (tmp_path / damaged / "qa.json").write_text("{}")
    assert run_cli(monkeypatch, "--skip-latency", "--data", data) == 0
    captured = capsys.readouterr()
    assert "skipped: runs/demo/damaged/qa.json" in captured.err
    rows = read_results(tmp_path / "runs/demo/rows.jsonl")
    assert [row.model for row in rows] == ["teacher"]
    assert rows[0].command == "python benchmarks/compare.py --data questions.json --skip-latency"


def test_bad_input_is_refused_before_anything_is_measured(
    teacher, data, tmp_path, measured, monkeypatch, capsys
):
    empty = tmp_path / "empty"
    empty.mkdir()
    for words in ((teacher, empty), (teacher, tmp_path / "nowhere"), (teacher, "--baseline", empty)):
        assert run_cli(monkeypatch, *words, "--data", data) == 2
        assert capsys.readouterr().err.startswith("error: ")
    assert run_cli(monkeypatch, teacher, "--data", tmp_path / "nothing.json") == 2
    assert run_cli(monkeypatch, teacher, "--data", data, "--batch", "0") == 2
    for folder in (empty, "/"):
        assert run_cli(monkeypatch, teacher, "--data", data, "--rows", folder) == 2
        assert f"--rows {folder}: is a folder; give a file" in capsys.readouterr().err
    page = tmp_path / "report.html"
    assert run_cli(monkeypatch, teacher, "--data", data, "--rows", page) == 2
    assert f"--rows must be another file: the page is written to {page}" in capsys.readouterr().err
    odd = Path(os.fsdecode(os.fsencode(tmp_path / "b") + b"\xff"))
    shutil.copytree(teacher, odd)
    assert run_cli(monkeypatch, odd, "--data", data) == 2
    assert "is not UTF-8" in capsys.readouterr().err
    assert measured == []
    assert not page.exists()
    assert not (tmp_path / "run" / "rows.jsonl").exists()


def test_the_named_baseline_comes_first(teacher, make_bundle, data, tmp_path):
    other = rebundle(make_bundle(seed=2), tmp_path / "other" / "teacher", stage="finetune")
    run = resolve.run_here(CompareOptions((teacher,), str(data), baseline=other))
    assert [m.name for m in run.models] == ["other/teacher", "run/teacher"]
    assert run.baseline is run.models[0]


def test_command_line_has_no_absolute_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bundles = (tmp_path / "runs" / "my student",)
    data = str(tmp_path / "dev.json")
    config = CompareOptions(bundles, data, lengths=("unpadded", "128"), quick=True)
    script = "python benchmarks/compare.py"
    wanted = "'runs/my student' --data dev.json --quick --lengths unpadded 128"
    assert command_line(config) == f"{script} {wanted}"
    assert command_line(CompareOptions()) == script
    page = CompareOptions(rows=Path("a b.jsonl"), data="dev.json", report=True)
    assert command_line(page) == f"{script} --data dev.json --rows 'a b.jsonl' --report"
    reports = CompareOptions((Path("s"),), phone_report=(Path("a.json"), Path("b c.json")))
    assert command_line(reports) == f"{script} s --phone-report a.json 'b c.json'"


def test_em_and_f1_have_intervals_of_their_own():
    """Half of the answers are too short by a word: EM 50 and F1 83.3 of the baseline's 100."""
    examples = [Example(str(n), "t", "red fox", "who?", (Answer("red fox", 0),), False) for n in range(60)]
    right = {example.id: "red fox" for example in examples}
    fields = accuracy.answer_intervals(
        examples, {qid: text[: 7 - 4 * (int(qid) % 2)] for qid, text in right.items()}, right
    )
    for name, share in (("exact", 0.5), ("f1", (1 + 2 / 3) / 2)):
        low, high = fields[f"{name}_low"], fields[f"{name}_high"]
        assert low < 100 * share < high
        assert (fields[f"{name}_retained_low"], fields[f"{name}_retained_high"]) == pytest.approx(
            (low / 100, high / 100)
        )
    assert fields["exact_high"] < fields["f1_low"]
