"""Bundles computed on other targets: over ssh with a real sshd, under an emulator's stand-in, and all that
can go wrong."""

import json
import re
import shlex
import sys

import numpy as np
import pytest
from benchmark_results import failure, scored
from compare_cli import run_cli
from comparisons import copied, question, rebundle, write_data
from ssh_host import Board

from benchmarks import measure_and_show
from benchmarks.measure import accuracy, hosts, on_target
from benchmarks.measure.conditions import Host, this_host
from benchmarks.measure.hosts import TargetError, count_between_marks
from benchmarks.measure.on_target import agreement, check_same_model, parity
from benchmarks.measure.worker_process import WORKER
from benchmarks.results.files import append_result, read_results
from benchmarks.results.rows import Failure, Latency, Machine, TargetAccuracy
from benchmarks.results.stats import speedup
from qa.base.cli import EXIT_INTERRUPTED
from qa.base.errors import BundleError, ProbeError
from qa.base.journal import Journal
from qa.bundles.bundle import open_bundle
from qa.data.squad import Example
from qa.evaluation.bootstrap import Interval
from qa.runtime.remote import complaint
from qa.text.features import Window
from qa.text.settings import QASettings

# Ends the board's side of the connection that this very command came by.
CUT = """p=$PPID
while :; do case $(cat /proc/$p/comm) in sshd*) break;; esac; p=$(awk '{print $4}' /proc/$p/stat); done
kill -9 $p"""


@pytest.fixture(scope="module")
def board(tmp_path_factory, bare_site):
    with Board(tmp_path_factory.mktemp("board"), bare_site).running() as running:
        yield running


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(measure_and_show, "write_report", lambda path, page: None)


@pytest.fixture
def client(board, monkeypatch):
    """The board, found by the ssh client of this process, and as a board should be."""
    monkeypatch.setenv("PATH", f"{board.path}:/usr/bin:/bin")
    board.python()
    return board


@pytest.fixture
def export(tiny_export):
    return tiny_export("onnx").path


@pytest.fixture
def rows(tmp_path):
    return tmp_path / "rows.jsonl"


@pytest.fixture
def data(tmp_path):
    contexts = ["Paris Paris Paris Paris", "It rained on Monday. " * 12, "Rome Rome Rome"]
    answers = [("Paris", 0), ("Monday", 13), ("Rome", 0)]
    paragraphs = [
        {"context": context, "qas": [question(f"q{number}", *answer)]}
        for number, (context, answer) in enumerate(zip(contexts, answers, strict=True))
    ]
    return write_data(tmp_path / "questions.json", paragraphs)


@pytest.fixture
def compared(data, rows, monkeypatch):
    """A function that compares bundles on a target, with more words; it returns the exit code."""

    def run(target, *words):
        return run_cli(monkeypatch, *words, "--target", target, "--data", data, "--rows", rows)

    return run


@pytest.mark.system
def test_over_ssh_answers_and_times_are_those_of_the_board(client, export, compared, rows, capsys):
    assert compared("ssh:board", export, "--quick") == 0
    captured = capsys.readouterr()
    first, *timed = read_results(rows)
    assert isinstance(first, TargetAccuracy)
    assert (first.target, first.n, first.instructions_per_window) == ("ssh:board", 3, None)
    assert first.parity_max_abs < 1e-4  # the same runtime, with another number of threads perhaps
    assert first.same_spans == 1.0
    assert first.f1 == first.reference_f1 > 0
    assert first.reference == f"{first.runtime} on {this_host().machine}"
    assert str(first.machine).endswith(str(this_host().machine))  # the board is this machine
    assert {(row.lengths, row.threads) for row in timed} >= {("unpadded", 1), (128, 1)}
    assert len({row.date for row in timed}) == 1
    for row in timed:
        assert isinstance(row, Latency)
        assert row.n_runs >= 64
        assert row.quick
        assert 0 < row.latency_ms_p50 <= row.latency_ms_p99
        assert row.load_average >= 0
        assert len(row.round_ms) == 8
        assert list(row.affinity) == this_host().cores_for(row.threads)
        assert row.peak_memory_mb > 0
        # These would be of another machine than the board.
        assert (row.other_load, row.tokenize_ms_p50, row.decode_ms_p50) == (None, None, None)
    assert "--target ssh:board" in first.command
    assert "100.0%" in captured.out
    assert list(client.tmp.glob("pocketqa.*")) == []


@pytest.mark.system
def test_over_ssh_bundles_take_turns_and_a_stopped_run_goes_on(
    client, export, compared, rows, tmp_path, monkeypatch, capsys
):
    other = rebundle(export, tmp_path / "other", stage="other")

    def stop(self, entry):
        add(self, entry)
        if len(self.entries) == 4 and "turns" in entry:
            raise KeyboardInterrupt

    add = Journal.add
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "add", stop)
        assert compared("ssh:board", export, other, "--quick") == EXIT_INTERRUPTED
    assert list(client.tmp.glob("pocketqa.*")) == []
    before = read_results(rows)
    assert [type(row) for row in before] == [TargetAccuracy] * 2
    assert compared("ssh:board", export, other, "--quick") == 0
    assert "on ssh:board reused from the results" in capsys.readouterr().err
    after = read_results(rows)
    assert after[:2] == before
    timed = {(row.model, row.lengths, row.threads): row for row in after[2:]}
    assert len(timed) == len(after) - 2 >= 4
    assert len({row.date for row in after}) == 1
    one, two = (timed[name, "unpadded", 1] for name in (export.name, "other"))
    assert isinstance(speedup(one, two), Interval)
    assert list((tmp_path / "rows.jsonl.journal").glob("*")) == []


@pytest.mark.system
@pytest.mark.parametrize(
    ("host", "wanted"),
    [
        ("closed", "Connection refused"),
        ("stranger", "Permission denied"),
        ("unknown", "Host key verification failed"),
    ],
)
def test_a_host_that_refuses_is_one_line_and_nothing_is_written(
    host, wanted, client, export, compared, rows, capsys
):
    assert compared(f"ssh:{host}", export) == 2
    line = rf"error: ssh:{host}: .*{wanted}.*; 'ssh {host} true' must work without a password\n"
    assert re.fullmatch(line, capsys.readouterr().err)
    assert not rows.exists()


@pytest.mark.system
def test_a_host_without_python_is_one_line(client, export, compared, capsys):
    (client.home / "pocketqa" / "bin" / "python").unlink()
    assert compared("ssh:board", export) == 2
    assert capsys.readouterr().err == "error: ssh:board: has no python3; install Python 3.9 or newer there\n"


@pytest.mark.system
def test_a_host_without_the_runtime_is_a_row_that_says_what_to_install(
    client, export, compared, rows, poor_site
):
    client.python(site=poor_site)
    assert compared("ssh:board", export) == 1
    (only,) = read_results(rows)
    assert isinstance(only, Failure)
    assert "an ONNX bundle needs onnxruntime, which is not installed" in only.error
    assert "pip install numpy ai-edge-litert onnxruntime" in only.error
    assert "\n" not in only.error
    assert (only.target, only.machine, only.runtime) == ("ssh:board", Machine("ssh:board"), None)
    assert list(client.tmp.glob("pocketqa.*")) == []


@pytest.mark.system
def test_a_connection_lost_half_way_leaves_the_other_rows(client, export, compared, rows, tmp_path, capsys):
    """One question is a sample."""
    other = rebundle(export, tmp_path / "other", stage="other")
    append_result(rows, scored())
    client.python(before=f"if [ -e $HOME/first ]; then\n{CUT}\nfi\n: > $HOME/first")
    assert compared("ssh:board", export, other, "--skip-latency", "--questions", 1) == 1
    (client.home / "first").unlink()
    old, good, lost = read_results(rows)
    assert (old.model, type(good), good.n, lost.model) == ("teacher", TargetAccuracy, 1, "other")
    assert lost.error.startswith("ssh:board: the connection was lost half-way (")
    assert "other on ssh:board failed: ssh:board: the connection was lost" in capsys.readouterr().out


@pytest.mark.system
def test_a_worker_killed_for_memory_is_its_models_failure(client, export, compared, rows):
    client.python(before="kill -9 $$")
    assert compared("ssh:board", export) == 1
    (killed,) = read_results(rows)
    assert ("connection" in killed.error, "Killed" in killed.error or "137" in killed.error) == (False, True)


@pytest.fixture
def emulator(tmp_path, bare_site, monkeypatch):
    """A set-up whose emulator is this machine's Python, and whose counter adds 1,000 instructions from mark
    to mark."""
    setup = tmp_path / "arm64"
    (setup / "cpus" / "neoverse-n1").mkdir(parents=True)
    (setup / "versions.txt").write_text("QEMU 1:7.2\nnumpy 2\n")
    (setup / "python.py").write_text(
        "import itertools, os, runpy, sys\n"
        f"sys.path[:0] = [os.getcwd(), {str(bare_site)!r}]\n"
        "marks = []\n"
        "def mark():\n"
        "    marks.append(f'{1000 * len(marks)}\\n')\n"
        "    open(os.environ['ICOUNT_FILE'], 'w').writelines(marks)\n"
        "os.getppid = mark\n"
        "request = sys.stdin.readline()\n"
        "sys.stdin = itertools.chain([request], sys.stdin)\n"
        "open(sys.argv[0] + '.log', 'w').write(' '.join(sys.argv[1:]) + ' ' + os.environ['LITERT'] + '\\n' "
        "+ request)\n"
        "runpy.run_module(sys.argv[3], run_name='__main__', alter_sys=True)\n"
    )
    words = shlex.join([sys.executable, "-S", "-s", "-P", str(setup / "python.py")])
    Board.script(setup / "python-arm64", f'exec {words} "$@"')
    monkeypatch.setattr(hosts, "SETUP", setup)
    return setup


@pytest.mark.parametrize(
    ("target", "litert"), [("qemu:neoverse-n1", ""), ("qemu:neoverse-n1/litert-1.4.0", "1.4.0")]
)
def test_under_qemu_instructions_are_counted_and_never_time(
    target, litert, emulator, export, compared, rows, capsys
):
    (emulator / "litert-1.4.0").mkdir()
    assert compared(target, export) == 0
    (only,) = read_results(rows)
    assert isinstance(only, TargetAccuracy)  # and no result with times
    assert (only.target, only.instructions_per_window, only.n, only.same_spans) == (target, 1000, 3, 1.0)
    assert str(only.machine).startswith("neoverse-n1 under QEMU 1:7.2")
    started, request = (emulator / "python.py.log").read_text().splitlines()
    assert started == f"neoverse-n1 -m {WORKER} {litert}"
    assert json.loads(request)["threads"] == 1
    assert target in capsys.readouterr().out


def test_what_the_rows_have_is_not_computed_again(emulator, export, compared, rows, capsys):
    assert compared("qemu:neoverse-n1", export, "--questions", 2) == 0
    for _ in range(2):
        assert compared("qemu:neoverse-n1", export) == 0
        assert [row.n for row in read_results(rows)] == [2, 3], "other questions are measured anew"
    assert f"{export.name}: accuracy on qemu:neoverse-n1 reused from the results" in capsys.readouterr().err
    (answers,) = rows.with_name("rows.predictions").iterdir()
    before = json.loads(answers.read_text())
    answers.write_text("{")
    assert compared("qemu:neoverse-n1", export) == 0
    assert json.loads(answers.read_text()) == before, "damaged answers are computed anew"


def test_a_model_that_failed_since_is_reused_as_a_newer_result(emulator, export, compared, rows):
    assert compared("qemu:neoverse-n1", export) == 0
    (good,) = read_results(rows)
    names = {"bundle_sha256": good.bundle_sha256, "target": good.target, "machine": Machine(good.target)}
    append_result(rows, failure(good.model, **names, data=good.data, date="2999-01-01T00:00:00Z"))
    assert compared("qemu:neoverse-n1", export) == 0
    assert [type(row) for row in read_results(rows)] == [TargetAccuracy, Failure, TargetAccuracy]


def test_a_runtime_that_is_missing_here_is_known_before_the_target_computes(
    emulator, export, compared, rows, monkeypatch
):
    def missing(bundle, threads):
        raise BundleError("an ONNX bundle needs onnxruntime")

    monkeypatch.setattr(on_target, "load_runtime", missing)
    monkeypatch.setattr(on_target, "run_windows", lambda *_, **__: pytest.fail("the target computed"))
    assert compared("qemu:neoverse-n1", export) == 1
    (only,) = read_results(rows)
    assert only.error == "an ONNX bundle needs onnxruntime"


def test_what_is_retained_is_of_this_machines_baseline_on_the_same_file(
    emulator, export, compared, rows, data, tmp_path, monkeypatch, capsys
):
    """The export itself is the baseline: it retains all. A run after the baseline's adds that, computing nothing.

    Scores on another file, whose questions have the same ids, are none of the baseline's.
    """
    for module in (accuracy, on_target):
        monkeypatch.setattr(module, "MIN_QUESTIONS", 1)
    other = tmp_path / "other.json"
    other.write_bytes(data.read_bytes() + b"\n")
    assert run_cli(monkeypatch, export, "--data", other, "--rows", rows, "--skip-latency") == 0
    assert compared("qemu:neoverse-n1", export) == 0
    assert "has no baseline of this machine for these questions" in capsys.readouterr().err
    assert run_cli(monkeypatch, export, "--data", data, "--rows", rows, "--skip-latency") == 0
    (emulator / "python.py.log").unlink()
    for _ in range(2):
        assert compared("qemu:neoverse-n1", export) == 0
    _, alone, base, compared_with_it = read_results(rows)
    assert (alone.f1_retained, alone.exact_retained, alone.baseline) == (None, None, None)
    assert alone.f1_low <= alone.f1 <= alone.f1_high
    assert alone.resampled == "questions"
    assert (alone.same_answers, alone.same_answers_low, alone.same_answers_high) == (1.0, 1.0, 1.0)
    assert base.f1 == compared_with_it.f1 > 0
    assert (compared_with_it.f1_retained, compared_with_it.exact_retained) == (1.0, 1.0)
    assert compared_with_it.exact_retained_low is None, "a draw of three questions may have no exact one"
    assert compared_with_it.baseline_sha256 == base.bundle_sha256
    assert "compute" not in (emulator / "python.py.log").read_text()
    assert run_cli(monkeypatch, "--report", "--rows", rows, "--data", data) == 0


def test_a_sample_does_not_decide_whether_models_may_decline(
    emulator, export, compared, rows, data, tmp_path
):
    """The only question of the sample has an answer, another one of the data has none."""
    declining = copied(open_bundle(export), tmp_path / "declining", null_threshold=-1e9).path
    content = json.loads(data.read_text())
    unanswerable = {"id": "q3", "question": "When?", "answers": [], "is_impossible": True}
    content["data"][0]["paragraphs"][-1]["qas"].append(unanswerable)
    for threshold in (None, -1e9):
        assert compared("qemu:neoverse-n1", declining, "--questions", 1) == 0
        row = read_results(rows)[-1]
        assert (row.n, row.HasAns_total, row.null_threshold) == (1, None, threshold)
        data.write_text(json.dumps(content))
    assert row.f1 == 0.0


def test_a_worker_that_dies_or_marks_too_little_is_a_row(emulator, export, compared, rows):
    working = (emulator / "python-arm64").read_text()
    Board.script(emulator / "python-arm64", "echo one line >&2; echo Illegal instruction >&2; exit 132")
    assert compared("qemu:neoverse-n1", export) == 1
    (emulator / "python-arm64").write_text(working)
    text = (emulator / "python.py").read_text()
    (emulator / "python.py").write_text(text.replace("marks.append", "marks or marks.append"))
    assert compared("qemu:neoverse-n1", export) == 1
    died, unmarked = read_results(rows)
    assert died.error == "qemu:neoverse-n1: Illegal instruction"
    assert "the instruction counter set 1 marks for 3 calls" in unmarked.error


def test_a_target_that_is_none_is_refused(emulator, export, compared, capsys, make_bundle):
    refusals = {
        "qemu:z80": "no such CPU; there are qemu:neoverse-n1",
        "qemu:neoverse-n1/litert-1.4.0": "has no LiteRT 1.4.0; remove it and run benchmarks/measure/arm64_python.sh",
        "board": "--target must be cpu, cuda, ssh:USER@HOST, qemu:CPU or qemu:CPU/litert-1.4.0",
        "ssh:": "--target must be cpu",
        "ssh:-oProxyCommand=touch x": "--target must be ssh:USER@HOST",
    }
    for target, wanted in refusals.items():
        assert compared(target, export) == 2
        assert wanted in capsys.readouterr().err
    assert compared("qemu:neoverse-n1", make_bundle()) == 2
    assert "none of the bundles is an export" in capsys.readouterr().err
    assert compared("qemu:neoverse-n1", export, make_bundle(), "--questions", 1) == 0
    skipped = f"{make_bundle().name}: skipped, --target qemu:neoverse-n1 computes exports only"
    assert skipped in capsys.readouterr().err.splitlines()
    (emulator / "versions.txt").unlink()
    assert compared("qemu:neoverse-n1", export) == 2
    assert "has no ARM64 Python; run benchmarks/measure/arm64_python.sh once" in capsys.readouterr().err


def test_the_copied_files_win_over_an_installed_project_and_over_scripts_in_the_home(
    export, compared, rows, tmp_path, bare_site, monkeypatch
):
    """Over a stand-in for ssh that runs the command here, in another home."""
    home = tmp_path / "home"
    others = [home / "json.py", *(home / "site" / name / "__init__.py" for name in ("qa", "benchmarks"))]
    for path in (*others, home / "pocketqa" / "bin" / "python"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("raise ImportError('not the copied file')")
    run = f'PYTHONPATH="$PYTHONPATH:{bare_site}:{home}/site" exec {shlex.quote(sys.executable)} -S -s "$@"'
    Board.script(home / "pocketqa" / "bin" / "python", run)
    Board.script(tmp_path / "ssh", f'for script; do :; done; cd {home}; HOME={home} exec sh -c "$script"')
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert compared("ssh:board", export, "--skip-latency") == 0
    (only,) = read_results(rows)
    assert (type(only), only.same_spans) == (TargetAccuracy, 1.0)


def test_a_host_that_hangs_is_one_line(export, compared, tmp_path, monkeypatch, capsys):
    Board.script(tmp_path / "ssh", "exec sleep 60")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(hosts, "SHELL_TIMEOUT_S", 0.5)
    assert compared("ssh:board", export) == 2
    said = "error: ssh:board: does not answer within 0.5 seconds; is its disk or network stuck?\n"
    assert capsys.readouterr().err == said


# Arithmetic


def test_answers_agree_where_they_are_the_same_text():
    """Nine of twelve, over questions, since there is one article."""
    examples = [Example(f"q{n}", "t", "What?", "Rome", (), False) for n in range(12)]
    answers = {f"q{n}": "a" if n % 4 else "" for n in range(12)}
    other = answers | dict.fromkeys(("q0", "q4", "q8"), "d")
    found = agreement(examples, answers, other)
    assert found["same_answers"] == 0.75
    assert 0 <= found["same_answers_low"] < 0.75 < found["same_answers_high"] <= 1
    assert agreement(examples[:4], answers, other) == {"same_answers": 0.75}, "few have no interval"


def test_counts_are_differences_of_pairs_of_marks():
    assert count_between_marks("10\n110\n120\n420\n", 2).tolist() == [100, 300]
    for text, n_calls in (("10\n110\n120\n", 2), ("10\n110\n", 2), ("10\nx\n", 1), ("110\n10\n", 1), ("", 1)):
        with pytest.raises(TargetError, match=r"run benchmarks/measure/arm64_python\.sh again"):
            count_between_marks(text, n_calls)


def test_parity_counts_the_largest_difference_and_equal_best_spans():
    three = np.arange(3)
    windows = [Window(n, np.arange(5), 1, three * 2, three * 2 + 1, np.ones(3, bool), 0, 0) for n in range(2)]
    flat = np.zeros(5, np.float32)
    peak = np.array([0, 0, 4, 0, 0], np.float32)
    other = np.array([0, 0, 0, 4.5, 0], np.float32)
    found = parity(windows, [(peak, peak), (peak, peak)], [(peak, peak + 0.25), (flat, other)], QASettings())
    assert found == {"parity_max_abs": 4.5, "same_spans": 0.5}


def test_a_target_that_computes_another_model_is_refused():
    right = np.array([1.0, -1.0, 3.0, -3.0], np.float32)
    reference = [(right, right), (right[:2], right[:2])]
    check_same_model(reference, [(right, right + 1e-5), reference[1]], "fp32", "old runtime on ssh:pi")
    for wrong in (right[::-1], right * np.nan):
        with pytest.raises(ProbeError, match="old runtime on ssh:pi computes this int8 model wrongly"):
            check_same_model(reference, [(right, wrong), reference[1]], "int8", "old runtime on ssh:pi")


def test_the_line_that_says_what_went_wrong():
    assert complaint("INFO: x\nerror: no numpy\nbye\n") == "no numpy"
    assert complaint("a\nb\n\n") == "b"
    assert complaint("") == ""


def test_an_arm_board_is_described_by_what_its_kernel_tells():
    cpuinfo = (
        "processor\t: 0\nFeatures\t: fp asimd asimdhp asimddp\nCPU implementer\t: 0x41\nCPU part\t: 0xd0b\n"
    )
    system = {"cpuinfo": cpuinfo, "cores": 4, "architecture": "aarch64", "board": "Raspberry Pi 5 Model B"}
    wanted = "Raspberry Pi 5 Model B, aarch64 (implementer 0x41, part 0xd0b), 4 cores, asimddp asimdhp"
    assert str(Host(system).machine) == wanted
