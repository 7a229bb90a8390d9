"""The line "next: ..." at the end of a stage: spelled as the command was started, and it runs as printed."""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name

import pytest
import tyro
from checkpoints import write_checkpoint
from comparisons import write_examples
from places import ROOT
from tiny_models import ENCODER_CONFIGS

from benchmarks.fit import FitOptions
from compress.cast import CastOptions, cast
from compress.embeddings import EmbeddingsOptions, quantize_embeddings
from compress.options import PruneOptions, QATOptions
from compress.prune.prune import prune
from compress.qat.train import train
from distill.average import AverageOptions, average
from distill.logits import LogitsOptions, compute_logits
from distill.options import FinetuneOptions
from distill.train_on_gold import finetune
from export.options import TFLiteOptions
from export.tflite.exporter import TFLiteExporter
from qa.base import shipped
from qa.base.commands import COMMANDS, split_command
from qa.base.errors import UnsupportedExport
from qa.base.next_step import say_next, say_next_scoring, say_next_training
from qa.bundles.bundle import open_bundle
from qa.bundles.hf_import import CheckpointOptions, import_model
from qa.bundles.next_export import export_format
from qa.data.convert.rows import RowsOptions, convert_rows
from qa.data.datasets import resolve
from qa.data.origins import MINILM
from qa.data.sample import SampleOptions, write_sample
from qa.data.squad import read_squad
from qa.models.model import QAModel
from qa.split import SplitOptions, split

pytestmark = pytest.mark.usefixtures("fresh_accelerate")


@pytest.mark.parametrize(
    ("program", "python", "wanted"),
    [
        ("/bin/there/pocketqa", "python", "pocketqa compare"),
        (".venv/bin/pocketqa", "python", ".venv/bin/pocketqa compare"),
        ("/x/distill/run.py", "python", "python -m benchmarks.compare"),
        ("/x/distill/run.py", ".venv/bin/python", ".venv/bin/python -m benchmarks.compare"),
        ("-m", "/my envs/bin/python3", "'/my envs/bin/python3' -m benchmarks.compare"),
    ],
)
def test_it_is_spelled_as_the_command_was_started(program, python, wanted, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [program])
    monkeypatch.setattr(sys, "orig_argv", [python])
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/there/{name}")
    say_next("compare", Path.cwd() / "my model", "b")
    assert capsys.readouterr().out == f"next: {wanted} 'my model' b\n"


def test_a_file_whose_name_looks_like_a_flag_is_told_from_one(capsys):
    say_next("compare", Path("-mine.json"), Path.cwd() / "-yours.json", "--data", "-")
    assert capsys.readouterr().out.endswith(" ./-mine.json ./-yours.json --data -\n")


SCRIPT = Path(sysconfig.get_path("scripts")) / "pocketqa"


@pytest.mark.parametrize(
    "started", [f"{sys.executable} -m qa.data.sample", f"{SCRIPT} sample"], ids=["python", "pocketqa"]
)
def test_it_runs_as_it_is_printed(started, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def out(line):
        done = subprocess.run(
            line, shell=True, capture_output=True, text=True, cwd=tmp_path, env=environment, check=True
        )
        return done.stdout

    line = out(f"{started} --questions 2 --out 'two questions.json'").splitlines()[-1]
    assert line.startswith(f"next: {started.partition(' ')[0]} ")
    assert out(line.removeprefix("next: ")).startswith("EM ")


def following(printed):
    """The command of the last line, and its options as the command reads them: its inputs are there, its
    output is not.
    """
    words = shlex.split(printed.splitlines()[-1])
    assert words[:2] == ["next:", "pocketqa"]
    name, arguments = split_command(words[2:])
    options = tyro.cli(resolve_name(COMMANDS[name].options), args=arguments)
    out = getattr(options, "out", None)
    assert out is None or not out.exists()
    inputs = [getattr(options, key, None) for key in ("model", "teacher", "student", "data", "file")]
    inputs = [*filter(None, inputs), *getattr(options, "bundles", ())]
    assert [given for given in inputs if given not in ("embedded", MINILM) and not Path(given).exists()] == []
    return name, options


@pytest.fixture
def started_by_name(monkeypatch, tmp_path):
    """The command was started as pocketqa, in a folder of its own."""
    monkeypatch.setattr(sys, "argv", ["pocketqa"])
    monkeypatch.setattr(shutil, "which", lambda name: str(Path.cwd() / name))
    monkeypatch.chdir(tmp_path)
    return tmp_path


FP32 = {"precision": "fp32"}
BRIEF = {"epochs": 0.05, **FP32}
QAT = {"epochs": 0, "calibration_windows": 0, **FP32}
TFLITE = "export tflite"
# (command that follows, stage, its options of a function that makes bundles, of data and of a folder)
STAGES = {
    "sample to score": ("evaluate", write_sample, lambda m, d, f: SampleOptions(f / "s.json", 2)),
    "sample to train": ("fit", write_sample, lambda m, d, f: SampleOptions(f / "s.json", 2, split="train")),
    "sample with unlabelled": (
        "distill",
        write_sample,
        lambda m, d, f: SampleOptions(f / "s.json", 2, split="train", add=(str(unlabelled(f)),)),
    ),
    "split": ("qat", split, lambda m, d, f: SplitOptions(file="everyday", out=f / "parts")),
    "convert": ("fit", convert_rows, lambda m, d, f: RowsOptions(str(rows(f)), f / "mine.json")),
    "finetune": (
        "distill",
        finetune,
        lambda m, d, f: FinetuneOptions(out=f / "f", model=str(m()), data=d, **BRIEF),
    ),
    "logits": (
        "distill",
        compute_logits,
        lambda m, d, f: LogitsOptions(teacher=m(), model=m(seed=1), data=d, **FP32),
    ),
    "average": (TFLITE, average, lambda m, d, f: AverageOptions(models=(m(), m(seed=1)), out=f / "a")),
    "cast": ("compare", cast, lambda m, d, f: CastOptions(m(), f / "c")),
    "embeddings": (TFLITE, quantize_embeddings, lambda m, d, f: EmbeddingsOptions(m(), f / "e", "pq4")),
    "prune": (
        TFLITE,
        prune,
        lambda m, d, f: PruneOptions(model=m(), out=f / "p", data=d, keep_ffn=0.5, **BRIEF),
    ),
    "qat": (TFLITE, train, lambda m, d, f: QATOptions(model=m(), out=f / "q", data=d, **QAT)),
    "qat of RoBERTa": (
        TFLITE,
        train,
        lambda m, d, f: QATOptions(model=m("roberta"), out=f / "q", data=d, **QAT),
    ),
    "checkpoint of RoBERTa": (TFLITE, import_model, lambda m, d, f: CheckpointOptions(roberta(f), f / "i")),
}


def roberta(folder):
    return str(write_checkpoint(folder / "hf", "roberta"))


def unlabelled(folder):
    (example,) = read_squad(resolve("everyday", "train"))[:1]
    without = replace(example, answers=(), is_impossible=False, unlabelled=True)
    return write_examples(folder / "unlabelled.json", [without])


def rows(folder):
    path = folder / "rows.csv"
    path.write_text("question,context,answer\nWho?,Ada wrote it.,Ada\n")
    return path


@pytest.mark.parametrize("stage", STAGES)
def test_each_stage_names_a_command_that_can_follow(stage, make_bundle, small_squad, started_by_name, capsys):
    wanted, run, options_of = STAGES[stage]
    run(options_of(make_bundle, str(small_squad), started_by_name))
    name, options = following(capsys.readouterr().out)
    assert name == wanted
    if name == "export tflite":
        assert options.quantize == "int8"
        exporter = TFLiteExporter(options)
        exporter.check(QAModel.from_pretrained(exporter.source))
    if stage == "split":
        fit = FitOptions("mine.csv", started_by_name / "fit")
        assert (options.epochs, options.learning_rate) == (fit.epochs, fit.learning_rate)


def test_without_the_checkout_an_encoder_is_trained(started_by_name, monkeypatch, capsys):
    data = write_examples(
        started_by_name / "mine.v1.json", read_squad(ROOT / "qa/data/excerpt/squad-excerpt-dev.json.gz")[:2]
    )
    monkeypatch.setattr(shipped, "FOLDER", started_by_name)
    say_next_scoring(data)
    assert capsys.readouterr().out == ""
    say_next_training(data)
    name, options = following(capsys.readouterr().out)
    assert (name, options.data, options.out) == ("finetune", "mine.v1.json", Path("runs/mine-model"))


@pytest.mark.parametrize(("name", "wanted"), [("bert", "tflite"), ("roberta", "tflite"), ("bidaf", "onnx")])
def test_the_format_is_one_that_can_express_the_model(name, wanted, make_bundle, make_whole_bundle, tmp_path):
    path = make_bundle(encoder=name) if name in ENCODER_CONFIGS else make_whole_bundle(name).path
    options = TFLiteOptions(model=path, out=tmp_path / "out")
    refused = pytest.raises(UnsupportedExport, match="TFLite cannot express")
    with refused if wanted == "onnx" else nullcontext():
        TFLiteExporter(options).check(QAModel.from_pretrained(path))
    assert export_format(open_bundle(path)) == wanted
