"""Heads compared from end to end on a tiny encoder: results, tables, a stop and what follows, failures, and
what is refused."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import BertConfig, BertModel

import export.tflite.stage
from benchmarks.experiments import base, heads
from benchmarks.experiments.base import evenly
from benchmarks.experiments.heads import HeadsConfig, command, main
from benchmarks.results.rows import Accuracy, Failure, Latency, read_results
from distill.training.objectives import supervised
from qa.base.errors import BundleError, OptionError, UnsupportedExport
from qa.models.heads import HEADS
from qa.models.pretrained import copy_tokenizer, embedded_folder

pytestmark = pytest.mark.usefixtures("fresh_accelerate", "converted_once")

N_STEPS = 3


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """A folder with two random layers of BERT, as from a hub."""
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("encoder")
    config = BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    copy_tokenizer(embedded_folder(), folder)
    return folder


@pytest.fixture
def make_config(encoder, small_squad, tmp_path):
    def make(**changes):
        given = {
            "encoder": str(encoder),
            "layers": 1,
            "heads": ("linear", "2l-tanh"),
            "data": str(small_squad),
            "eval_data": str(small_squad),
            "train_windows": 8 * N_STEPS,
            "batch_size": 8,
            "dev_questions": 10,
            "learning_rate": 1e-3,
            "precision": "fp32",
            "out": tmp_path / "zoo",
            "skip_exports": True,
        }
        return HeadsConfig(**(given | changes))

    return make


@pytest.fixture
def batches(monkeypatch):
    """The indices of every batch that any model was trained on, in order."""
    seen = []

    def recording(model, batch, indices):
        seen.append(indices.tolist())
        return supervised(model, batch, indices)

    monkeypatch.setattr(base, "supervised", recording)
    return seen


def test_heads_are_trained_alike_scored_exported_and_timed(make_config, batches, monkeypatch, tmp_path):
    convert = export.tflite.stage.main

    def cannot(config):
        if config.model.name.startswith("2l-tanh"):
            raise UnsupportedExport(
                "TFLite cannot express this model (for the test); try python -m export.onnx"
            )
        return convert(config)

    monkeypatch.setattr(export.tflite.stage, "main", cannot)
    readme = tmp_path / "README.md"
    readme.write_text("before\n<!-- results:begin zoo -->\nold\n<!-- results:end zoo -->\nafter\n")
    config = make_config(seeds=(0, 1), skip_exports=False, write=readme)
    rows = main(config)

    runs = [batches[first : first + N_STEPS] for first in range(0, len(batches), N_STEPS)]
    assert len(runs) == 4
    assert runs[0] == runs[1] != runs[2] == runs[3]
    scored = [row for row in rows if isinstance(row, Accuracy) and row.stage != "export"]
    assert [row.model for row in scored] == ["linear-seed0", "2l-tanh-seed0", "linear-seed1", "2l-tanh-seed1"]
    assert [row.head_params for row in scored] == [66, 32 * 384 + 384 + 2 * 384 + 2] * 2
    for row in scored:
        scores = json.loads((config.out / "scores" / f"{row.model}.json").read_text())
        assert len(scores["f1"]) == row.n == 10
        assert np.mean(list(scores["f1"].values())) * 100 == pytest.approx(row.f1)
        assert np.mean(list(scores["exact"].values())) * 100 == pytest.approx(row.exact)
    timed = {row.model for row in rows if isinstance(row, Latency)}
    exports = {f"{kind}-{precision}" for kind in ("onnx", "tflite") for precision in ("fp32", "int8")}
    assert timed == {f"linear-seed0-{e}" for e in exports} | {
        f"2l-tanh-seed0-{e}" for e in exports if "onnx" in e
    }
    in_int8 = {row.model: row.n for row in rows if isinstance(row, Accuracy) and row.stage == "export"}
    assert in_int8 == {
        f"{name}-int8": 10 for name in ("linear-seed0-onnx", "2l-tanh-seed0-onnx", "linear-seed0-tflite")
    }
    unsupported = [row for row in rows if isinstance(row, Failure)]
    assert {row.model for row in unsupported} == {"2l-tanh-seed0-tflite-fp32", "2l-tanh-seed0-tflite-int8"}
    assert all(row.unsupported and row.error.startswith("TFLite cannot") for row in unsupported)
    assert {row.bundle_sha256 for row in unsupported} == {scored[1].bundle_sha256}
    assert read_results(config.out / "rows.jsonl") == rows

    table = (config.out / "zoo.md").read_text()
    assert (
        readme.read_text()
        == f"before\n<!-- results:begin zoo -->\n{table.strip()}\n<!-- results:end zoo -->\nafter\n"
    )
    line = next(line for line in table.splitlines() if line.startswith("| 2l-tanh | 1"))
    assert line.count("not supported") == 2
    assert "Differences from linear" in table
    svg = (config.out / "zoo.svg").read_text()
    assert ">10k<" in svg, "of the axis of parameters"
    assert "1  linear<" in svg
    assert "2  2l-tanh<" in svg

    monkeypatch.setattr(heads, "train", None)
    monkeypatch.setattr(base, "evaluate", None)
    monkeypatch.setattr(export.tflite.stage, "main", None)
    assert main(config) == []
    assert (config.out / "zoo.md").read_text() == table


def test_a_whole_model_starts_from_the_encoders_words_and_only_repeated_heads_get_more_seeds(
    make_config, encoder, monkeypatch
):
    seen = {}

    def recording(model, batch, indices):
        if model.head_name == "qanet" and not seen:
            seen["words"] = model.encoder.model.embedding.words.weight.detach().clone()
        return supervised(model, batch, indices)

    monkeypatch.setattr(base, "supervised", recording)
    config = make_config(heads=("linear", "qanet"), seeds=(0, 1), repeat=("linear",), train_windows=8)
    rows = main(config)
    assert [row.model for row in rows] == ["linear-seed0", "qanet-seed0", "linear-seed1"]
    words = load_file(encoder / "model.safetensors")["embeddings.word_embeddings.weight"]
    assert torch.equal(seen["words"], words)
    table = (config.out / "zoo.md").read_text()
    assert "qanet: whole models of fresh weights" in table
    assert "qanet<" not in (config.out / "zoo.svg").read_text(), (
        "it has no head whose parameters could be shown"
    )


def test_a_stopped_run_goes_on_with_the_model_under_way(make_config, batches, monkeypatch, tmp_path):
    recording = base.supervised

    def stopped(*arguments):
        if len(batches) == N_STEPS + 2:
            raise KeyboardInterrupt
        return recording(*arguments)

    monkeypatch.setattr(base, "supervised", stopped)
    with pytest.raises(KeyboardInterrupt):
        main(make_config())
    monkeypatch.setattr(base, "supervised", recording)
    before = len(batches)
    rows = main(make_config())
    assert len(batches) == before + 1, "the third step of the second head alone was left"
    assert [row.model for row in rows] == ["2l-tanh-seed0"]
    straight = make_config(out=tmp_path / "straight")
    main(straight)
    resumed, whole = (
        load_file(out / "2l-tanh-seed0" / "model.safetensors") for out in (make_config().out, straight.out)
    )
    assert all(torch.equal(tensor, whole[name]) for name, tensor in resumed.items())


def test_a_head_that_fails_is_a_row_and_the_others_go_on(make_config, monkeypatch, capsys):
    fresh_model = heads.fresh_model

    def failing(encoder, folder, head, **options):
        if head == "linear":
            raise RuntimeError("out of\nmemory")
        return fresh_model(encoder, folder, head, **options)

    monkeypatch.setattr(heads, "fresh_model", failing)
    config = make_config()
    with pytest.raises(SystemExit) as stop:
        command(config)
    assert stop.value.code == 1
    failed, fine = read_results(config.out / "rows.jsonl")
    assert (failed.model, failed.error) == ("linear-seed0", "out of memory")
    assert (fine.model, type(fine)) == ("2l-tanh-seed0", Accuracy)
    table = (config.out / "zoo.md").read_text()
    assert "linear-seed0: out of memory" in table
    assert "Differences" not in table

    monkeypatch.setattr(heads, "fresh_model", fresh_model)
    assert [row.model for row in main(config)] == ["linear-seed0"]
    table = (config.out / "zoo.md").read_text()
    assert "out of memory" not in table
    assert "Differences from linear" in table


def test_unknown_heads_list_the_known_ones(make_config):
    with pytest.raises(
        OptionError, match=f"--heads must be one of {', '.join(HEADS)}, qanet.*, got quadratic"
    ):
        make_config(heads=("linear", "quadratic"))


def test_other_options_for_models_that_are_there_are_refused(make_config):
    config = make_config(heads=("linear",))
    main(config)
    with pytest.raises(
        BundleError, match="linear-seed0: made with windows 24, not 25; choose another --out, or remove it"
    ):
        main(make_config(train_windows=25))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"heads": ()}, "--heads"),
        ({"heads": ("linear", "linear")}, "--heads"),
        ({"seeds": (1, 1)}, "--seeds"),
        ({"repeat": ("pointer",)}, "--repeat must be one of --heads, got pointer"),
        ({"train_windows": 0}, "--train-windows must be at least 1, got 0"),
        ({"eval_data": None}, "--eval-data must be given when --data is a file"),
        ({"optimizer": "sgd"}, "--optimizer must be one of adamw, adafactor"),
    ],
)
def test_options_that_cannot_work_are_refused(make_config, changes, message):
    with pytest.raises(OptionError, match=message):
        make_config(**changes)


def test_more_layers_than_the_encoder_has_are_refused_before_anything_is_written(make_config):
    config = make_config(layers=3)
    with pytest.raises(OptionError, match="--layers must be at most the encoder's 2, got 3"):
        main(config)
    assert not config.out.exists()


def test_a_file_without_markers_is_refused_before_anything_is_trained(make_config, tmp_path):
    readme = tmp_path / "README.md"
    with pytest.raises(OptionError, match="no such file"):
        make_config(write=readme)
    readme.write_text("no markers")
    with pytest.raises(OptionError, match="<!-- results:begin zoo -->"):
        make_config(write=readme)


def test_an_even_share_has_first_and_last_and_no_question_twice():
    assert evenly(range(10), 4) == [0, 3, 6, 9]
    assert evenly(range(7), 7) == evenly(range(7), None) == evenly(range(7), 100) == list(range(7))
    assert len(set(evenly(range(10570), 2000))) == 2000
