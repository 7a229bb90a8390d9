"""Commands as a user types them: one clear line, exit code 2, no traceback, nothing left behind."""

import os
import runpy
import shlex
import signal
import subprocess
import sys
from unittest.mock import Mock

import pytest

from qa.base.cli import one_line
from qa.base.errors import OptionError
from qa.base.stops import Terminated, signals_of_a_stop, stops_wait
from qa.models.heads import HEADS


def one_error(code, stderr):
    assert code == 2, stderr
    assert "Traceback" not in stderr
    lines = [line for line in stderr.splitlines() if line.strip()]
    assert len(lines) == 1, stderr
    return lines[0]


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Run `python -m MODULE ARGUMENTS` in an empty folder, in this process: (exit code, stderr)."""
    monkeypatch.chdir(tmp_path)

    def run(module, *arguments):
        monkeypatch.setattr(sys, "argv", [module, *arguments])
        if not hasattr(sys.modules.get(module), "__path__"):  # of a package, __main__ runs
            monkeypatch.delitem(sys.modules, module, raising=False)
        with pytest.raises(SystemExit) as caught:
            runpy.run_module(module, run_name="__main__")
        return caught.value.code, capsys.readouterr().err

    return run


WRONG = [
    ("qa.evaluate --data absent.json --predictions p.json", "absent.json: no such file"),
    ("qa.evaluate --data embedded", "give either --model or --predictions"),
    ("qa.ask --model absent --question ? --context absent.txt", "absent.txt: no such file"),
    ("qa.ask --question ' ' --context absent.txt", "--question must be more than spaces, got ' '"),
    ("qa.ask --model m --question ? --threads 100000", "the cores there are, got 100000"),
    ("qa.data.convert triviaqa --questions q.json --evidence e --out o", "--evidence must be a folder"),
    ("qa.data.augment --data absent.json --out o.json", "absent.json: no such file"),
    ("qa.data.augment --out \udcff.json", "'\\udcff.json': is not UTF-8; give it, or the file it names"),
    ("qa.data.augment --out ''", "--out .: is a folder; give a file"),
    ("qa.data.augment --out /", "--out /: is a folder; give a file"),
    ("qa.data.augment --out /dev/null", "--out /dev/null: is a device or a pipe; give a file"),
    ("benchmarks.table", "rows must be at least one file"),
    ("benchmarks.table rows.jsonl --name x86", "--name must be given with --write, got x86"),
    ("export.tune --model m --data a.json --data b.json", "--data: is given twice"),
    ("benchmarks.table rows.jsonl --plot ''", "--plot .: is a folder; give a file"),
    ("export.onnx --model /", "--model /: the root of a disk is no model; give a model's folder"),
    ("export.onnx --quantize int4", "--quantize int4 is for tflite only, not for onnx"),
    ("export.tflite --quantize int9", "--quantize must be one of fp32, fp16, int8, int8-weights, int4"),
    ("distill.run --recipe thesis-9", "--recipe must be one of embedded, thesis-1, "),
    ("distill.run --student-head deep", f"unknown head 'deep'; known heads: {', '.join(HEADS)}"),
    ("distill.run --temperature 0", "--temperature must be above 0 and finite, got 0"),
    ("distill.run --seed -1", "--seed must be at least 0 and below"),
    ("distill.run --epochs inf", "--epochs must be above 0 and finite, got inf"),
    ("distill.run --student-layers 0", "--student-layers must be at least 1, got 0"),
    ("distill.run --student-layers 2 --target-mb 9", "combined with --keep-... or --target-mb"),
    ("distill.run --student-encoder qanet --freeze-encoder", "combined with --student-encoder qanet"),
    ("distill.run --freeze-encoder", "--hidden-weight must be 0 with --freeze-encoder, got 10"),
    ("distill.finetune --out o --head bidaf --activation gelu_tanh", "combined with --head bidaf"),
    ("distill.finetune --out o --head bidaf --freeze-encoder", "cannot be combined with --head bidaf"),
    ("distill.run --target-mb 9 --keep-ffn 0.5", "--keep-ffn cannot be combined with --target-mb"),
    ("distill.run --target-mb 12", "--target-mb must be at least 13.77, the size of the model"),
    ("distill.run --student-layers 9", "must be between 1 and the teacher's 6, got 9"),
    ("distill.run --precision int3", "--precision must be one of auto, bf16, fp32"),
    ("distill.run --data absent.json", "absent.json: no such file"),
    ("distill.run --teacher absent", "'absent': no such folder here, and the hub did not give it"),
    ("distill.run --student-encoder absent", "model.safetensors and tokenizer.json, or use minilm-l6"),
    ("distill.run --hidden-weight 0 --cache /dev/null/c", "--cache /dev/null/c: /dev/null is no folder"),
    ("compress.prune --model /", "--model /: the root of a disk is no model; give a model's folder"),
    ("compress.prune --model absent", "'absent': no such folder here, and the hub did not give it"),
    ("compress.prune --model absent --keep-ffn 2", "--keep-ffn must be in (0, 1], got 2"),
    ("compress.prune --model m --method magnitude --keep-ffn 0.5", "cannot be combined with --method"),
    ("compress.prune --model m --sparsity 0.5", "--sparsity cannot be combined with --method structured"),
    ("compress.prune --model m --target-quantize int4", "--target-quantize needs --target-mb"),
    ("compress.qat --model absent --quantize fp16", "--quantize must be one of int8, int4, got"),
]


@pytest.mark.parametrize(("words", "says"), WRONG, ids=[ascii(words) for words, _ in WRONG])
def test_wrong_input_gets_one_line(tmp_path, command, words, says):
    assert says in one_error(*command(*shlex.split(words)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    ["benchmarks.table in.json --plot in.json", "qa.evaluate --data in.json --model absent --out in.json"],
)
def test_an_input_is_not_overwritten(tmp_path, command, words):
    (tmp_path / "in.json").write_text("{}")
    assert "in.json: is an input of this command; give another file" in one_error(*command(*words.split()))
    assert (tmp_path / "in.json").read_text() == "{}"


def test_a_fresh_process_says_no_more_than_the_error(tmp_path):
    arguments = [sys.executable, "-m", "export.tflite", "--model", "absent"]
    result = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "'absent': no such folder here, and the hub did not give it" in one_error(
        result.returncode, result.stderr
    )
    assert result.stdout == ""


STOPPED = """
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from qa.bundles.bundle import new_bundle
from qa.base.cli import run_with

@dataclass
class Config:
    out: Path

def main(config: Config):
    with new_bundle(config.out, None) as draft, tempfile.TemporaryDirectory(dir=config.out.parent):
        (draft.path / "model.onnx").write_bytes(b"half")
        subprocess.run([sys.executable, "-c", "import time; print('busy', flush=True); time.sleep(3600)"])

for number in (signal.SIGINT, signal.SIGHUP):  # which a background job of a shell, or nohup, ignores
    signal.signal(number, signal.default_int_handler)
run_with(Config, lambda: main)
"""


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)]
)
def test_a_command_that_is_stopped_leaves_nothing_half_made(tmp_path, number, code):
    arguments = [sys.executable, "-c", STOPPED, "--out", str(tmp_path / "bundle")]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "busy\n"
    assert len(list(tmp_path.iterdir())) == 2
    process.send_signal(number)
    rest, stderr = process.communicate(
        timeout=600
    )  # waits for the child's end of the pipe too: a child that lives sleeps longer
    assert (process.returncode, stderr, rest) == (code, "interrupted\n", "")
    assert list(tmp_path.iterdir()) == []


PRINTING = """
from dataclasses import dataclass
from qa.base.cli import run_with

@dataclass
class Config:
    pass

run_with(Config, lambda: lambda config: print("printed"))
"""


@pytest.mark.parametrize(
    ("stdout", "code", "said"), [("/dev/full", 2, "error: the disk is full"), (None, 141, "")]
)
def test_what_cannot_be_printed_ends_a_command_without_a_trace(stdout, code, said):
    """Python would fail at its exit, with code 120, where the output waits in a buffer."""
    if stdout is None:
        read, write = os.pipe()
        os.close(read)
    else:
        write = os.open(stdout, os.O_WRONLY)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        [sys.executable, "-c", PRINTING],
        check=False,
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    os.close(write)
    assert done.returncode == code
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == bool(said)


def test_a_stop_waits_for_the_end_of_a_block_that_must_not_be_cut():
    done = []

    def work():
        with stops_wait():
            signal.raise_signal(signal.SIGTERM)
            done.append("in the block")
        done.append("behind it")

    with pytest.raises(Terminated), signals_of_a_stop():
        work()
    assert done == ["in the block"]


def test_a_signal_that_comes_twice_does_not_cut_the_clean_up():
    done = []

    def work():
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGTERM)
            done.append("cleaned up")

    with pytest.raises(Terminated), signals_of_a_stop():
        work()
    assert done == ["cleaned up"]


def test_unknown_flag_exits_2_too(command):
    code, stderr = command("qa.evaluate", "--data", "embedded", "--nonsense", "1")
    assert code == 2
    assert "nonsense" in stderr


def test_existing_run_folder_is_refused_untouched(tmp_path, command):
    (tmp_path / "runs" / "demo").mkdir(parents=True)
    (tmp_path / "runs" / "demo" / "notes.txt").write_text("mine")
    assert "runs/demo: exists already" in one_error(*command("distill.run"))
    assert (tmp_path / "runs" / "demo" / "notes.txt").read_text() == "mine"


def test_a_message_moves_no_cursor():
    assert one_line(OptionError("id q\x1b[2J\n\u202eof")) == "id q[2J of"
    assert one_line(FileNotFoundError(2, "No such file", "a\x1b]0;x\x07.txt")) == "a]0;x.txt: No such file"


def test_full_disk_is_said_in_words():
    error = OSError(28, "No space left on device", "model.onnx")
    assert "the disk is full while writing model.onnx" in one_line(error)


def test_a_user_without_a_home_is_told_so_only_where_one_is_needed(command, monkeypatch):
    monkeypatch.setattr("qa.data.datasets.Path.home", Mock(side_effect=RuntimeError("no home directory")))
    said = one_error(*command("distill.run", "--data", "squad_v2"))
    assert "no home folder for the cache; set HOME or XDG_CACHE_HOME" in said


def test_unreachable_data_names_the_offline_way(command, monkeypatch):
    monkeypatch.setattr("qa.data.datasets.SQUAD_URL", "http://127.0.0.1:9/")
    line = one_error(*command("distill.run", "--data", "squad_v2"))
    assert "squad_v2: cannot download" in line
    assert line.endswith("or embedded")
