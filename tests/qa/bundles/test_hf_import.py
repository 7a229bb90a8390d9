"""Checkpoints of transformers become bundles that compute the same, wherever a bundle is taken; what is none
is refused."""

import re
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from checkpoints import FAMILIES, write_checkpoint
from comparisons import UNTRAINED_SPANS
from safetensors.torch import load_file, save_file
from sealed import RECORD
from transformers import AutoModelForQuestionAnswering

from compress.options import PruneOptions
from compress.prune.prune import prune
from distill.options import FinetuneOptions
from distill.train_on_gold import finetune
from export.onnx.exporter import export as export_onnx
from export.options import OnnxOptions, TFLiteOptions
from export.parity import real_windows
from export.tflite.exporter import TFLiteExporter
from qa.base.commands import run_command
from qa.base.errors import BundleError, DownloadError, OptionError
from qa.bundles import hf_import as checkpoints
from qa.bundles.bundle import new_bundle, open_bundle
from qa.bundles.hf_import import open_model, output_beside
from qa.evaluate import EvaluateOptions, evaluate
from qa.models.model import QAModel
from qa.models.pretrained import checkpoint_folder
from qa.runtime.runtimes import load_runtime
from qa.text.features import collate
from qa.text.settings import QASettings

pytestmark = pytest.mark.usefixtures("fresh_accelerate")
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def checkpoint(tmp_path):
    """A BERT checkpoint to be spoilt."""
    return write_checkpoint(tmp_path / "given" / "bert-qa", "bert", max_position_embeddings=512)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_bundle_opens_in_transformers_and_comes_back_the_same(tmp_path, family):
    bundle = open_model(write_checkpoint(tmp_path / family, family))
    theirs = AutoModelForQuestionAnswering.from_pretrained(bundle.path)
    theirs.save_pretrained(tmp_path / "again")
    for name in TOKENIZER_FILES:
        if (bundle.path / name).is_file():
            shutil.copyfile(bundle.path / name, tmp_path / "again" / name)
    again = open_model(tmp_path / "again")
    states = [QAModel.from_pretrained(b.path).state_dict() for b in (bundle, again)]
    assert states[0].keys() == states[1].keys()
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_a_link_to_a_device_in_a_checkpoint_is_refused(checkpoint, cache):
    (checkpoint / "merges.txt").symlink_to("/dev/zero")
    with pytest.raises(OptionError, match=r"merges\.txt: is a device or a pipe"):
        open_model(checkpoint)


def test_the_same_files_are_one_bundle_in_the_cache(checkpoint, cache, tmp_path):
    first = open_model(checkpoint)
    assert first.path.is_relative_to(cache)
    assert (first.path.name, first.manifest.stage) == ("bert-qa", "checkpoint")
    assert first.manifest.is_teacher
    assert first.manifest.source.name == "bert-qa"
    assert str(tmp_path) not in (first.path / "manifest.json").read_text()
    assert set(first.manifest.source.files) == {"config.json", "model.safetensors", *TOKENIZER_FILES}
    assert open_model(checkpoint).sha256 == first.sha256
    (first.path / "config.json").write_text("{}")  # damaged: made again
    assert open_model(checkpoint).manifest.files == first.manifest.files
    tensors = load_file(checkpoint / "model.safetensors")
    tensors["qa_outputs.bias"] += 1
    save_file(tensors, checkpoint / "model.safetensors", {"format": "pt"})
    assert open_model(checkpoint).path != first.path


def test_threads_that_make_a_bundle_of_the_cache_at_once_get_the_same(cache):
    n_threads = 4
    all_have_drafts = threading.Barrier(n_threads, timeout=20)
    cached = cache / "packages" / "model"

    def make():
        with new_bundle(cached, RECORD) as draft:
            (draft.path / "model.safetensors").write_bytes(b"weights")
            QASettings().save(draft.path / "qa.json")
            all_have_drafts.wait()
        return draft.bundle

    with ThreadPoolExecutor(n_threads) as threads:
        work = [threads.submit(checkpoints.opened_in_cache, cached, make) for _ in range(n_threads)]
        assert {bundle.result().path for bundle in work} == {cached}
    assert [path.name for path in cached.parent.iterdir()] == ["model"]


def test_every_stage_takes_a_checkpoint(checkpoint, few, small_squad, tmp_path, capsys):
    imported = open_model(checkpoint)
    tuned = finetune(FinetuneOptions(model=str(checkpoint), out=tmp_path / "tuned", **few))
    assert tuned.manifest.parent == imported.reference()
    assert_told_how_to_decline(capsys.readouterr().err)
    pruned = prune(PruneOptions(model=checkpoint, cache=tmp_path / "c", **few))
    assert_told_how_to_decline(capsys.readouterr().err)
    assert pruned.path == tmp_path / "given" / "bert-qa-pruned"
    spans = UNTRAINED_SPANS["int8"]
    exported = export_onnx(OnnxOptions(model=checkpoint, quantize="int8", min_equal_spans=spans))
    assert exported.path == tmp_path / "given" / "bert-qa-onnx-int8"
    assert exported.manifest.parent == imported.reference()
    assert evaluate(EvaluateOptions(data=str(small_squad), model=checkpoint))["total"] == 24


def assert_told_how_to_decline(printed):
    """The model always answers, as all questions it was trained on have an answer: said once."""
    (line,) = [line for line in printed.splitlines() if line.startswith("no-answer threshold: none")]
    assert "--tune-threshold FILE" in line
    assert "python -m export.tune" in line


def test_a_fresh_head_can_be_had_on_a_checkpoint(checkpoint, few, tmp_path):
    given = few | {"head": "2l-tanh", "freeze_encoder": True}
    tuned = finetune(FinetuneOptions(model=str(checkpoint), out=tmp_path / "tuned", **given))
    model, start = (QAModel.from_pretrained(path) for path in (tuned.path, open_model(checkpoint).path))
    assert model.head_name == "2l-tanh"
    assert torch.equal(next(model.encoder.parameters()), next(start.encoder.parameters()))


def test_the_command_writes_a_bundle_with_the_settings_wanted(checkpoint, tmp_path, capsys):
    out = tmp_path / "out"
    given = {"max-length": "256", "max-answer-length": "60", "null-threshold": "0"}
    command = ["--model", str(checkpoint), "--out", str(out)]
    command += [word for name, value in given.items() for word in (f"--{name}", value)]
    run_command("checkpoint", command)
    assert capsys.readouterr().out.split(":")[0] == str(out)
    settings = open_model(out).settings
    assert (settings.max_length, settings.doc_stride, settings.null_threshold) == (256, 128, 0)
    assert settings.max_answer_length == 60


def test_a_bundle_is_not_imported_again(make_bundle, tmp_path):
    """It would lose its thresholds, its held-out questions and its record of training."""
    path = make_bundle(head="linear")
    with pytest.raises(OptionError, match=f"--model {path}: is a bundle already"):
        checkpoints.import_model(checkpoints.CheckpointOptions(str(path), tmp_path / "again"))
    assert list(tmp_path.iterdir()) == []


def test_few_positions_shorten_the_windows(tmp_path):
    bundle = open_model(write_checkpoint(tmp_path / "short", "bert", max_position_embeddings=200))
    assert bundle.settings.max_length == 200
    logits = load_runtime(bundle, 1)(collate(real_windows(bundle, 6)))
    assert np.isfinite(logits[0]).all()


def test_a_hub_that_cannot_be_reached_says_what_to_put_where(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = r"'no-such/model-at-all': no such folder here.*model\.safetensors and tok"
    with pytest.raises(DownloadError, match=told):
        open_model("no-such/model-at-all")


def test_a_slip_in_a_path_asks_no_hub(make_bundle, tmp_path, monkeypatch):
    shutil.copytree(make_bundle(), tmp_path / "models" / "student")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BundleError, match=r"models/students: no such bundle folder"):
        open_model("models/students")
    with pytest.raises(BundleError, match=r"model\.safetensors: is a file; give its folder, models/student"):
        open_model("models/student/model.safetensors")
    with pytest.raises(OptionError, match=r"model\.safetensors': is a file; give its folder, models/student"):
        checkpoint_folder("models/student/model.safetensors")


def test_a_folder_of_checkpoints_and_one_without_its_config_say_what_to_give(tmp_path):
    """Folders as the Trainer of transformers leaves them, and a copy of some files."""
    folder = write_checkpoint(tmp_path / "run" / "checkpoint-500", "bert")
    with pytest.raises(BundleError, match=r"run: no .* give one of the models in it: checkpoint-500$"):
        open_model(tmp_path / "run")
    with pytest.raises(BundleError, match=r"checkpoint-500: no .* qa\.bundles\.hf_import makes one"):
        open_bundle(folder)
    (folder / "config.json").unlink()
    with pytest.raises(BundleError, match=r"checkpoint-500: no .*, or a checkpoint with its config\.json$"):
        open_model(folder)


def test_a_bundle_without_its_manifest_is_no_checkpoint(make_bundle, tmp_path):
    shutil.copytree(make_bundle(), tmp_path / "b")
    (tmp_path / "b" / "manifest.json").unlink()
    with pytest.raises(BundleError, match=r"not a finished bundle; .* run the stage that makes it again"):
        open_model(tmp_path / "b")
    with pytest.raises(BundleError, match="no such bundle folder"):
        open_model(tmp_path / "a" / "b" / "c")


def test_what_is_made_of_a_model_lies_beside_it_or_in_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    assert str(output_beside("deepset/minilm", "onnx-int8")) == "runs/minilm-onnx-int8"
    assert str(output_beside("here", "pruned")) == "here-pruned"
    assert output_beside(".", "pruned") == tmp_path.with_name(f"{tmp_path.name}-pruned")


def test_an_export_without_a_package_names_the_checkpoint_as_it_was_given(tmp_path, capsys):
    folder = write_checkpoint(tmp_path / "given" / "roberta-qa", "roberta")
    exporter = TFLiteExporter(TFLiteOptions(model=folder, out=tmp_path / "out"))
    exporter.check(QAModel.from_pretrained(exporter.parent.path))
    assert exporter.packaged is None
    told = rf"{folder}: its tokenizer is BPE.* needs WordPiece with BertNormalizer with .*no package"
    assert re.search(told, capsys.readouterr().err)
