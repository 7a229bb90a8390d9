"""An adapter and its encoder make the trained model again, bit for bit; anything else is refused."""

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from distill.adapter import AdapterOptions, apply_adapter
from distill.options import FinetuneOptions
from distill.train_on_gold import finetune
from distill.training.lora import merged_weight
from qa.base.errors import BundleError, OptionError
from qa.bundles.bundle import open_bundle
from qa.formats.registry import ADAPTER
from qa.models.model import WEIGHTS
from qa.models.pretrained import embedded_folder

pytestmark = pytest.mark.usefixtures("fresh_accelerate")


@pytest.fixture(scope="module")
def trained(small_squad_v2, tmp_path_factory):
    """Bundle of a LoRA training: two layers of MiniLM under a linear head."""
    out = tmp_path_factory.mktemp("lora") / "trained"
    options = {"epochs": 0.1, "batch_size": 4, "max_length": 96, "max_question_length": 24}
    config = FinetuneOptions(
        data=str(small_squad_v2), layers=2, head="linear", lora_rank=2, dropout=False, out=out, **options
    )
    return finetune(config)


@pytest.fixture
def adapter(trained, tmp_path):
    """Folder of the adapter: the bundle without its weights."""
    return shutil.copytree(trained.path, tmp_path / "adapter", ignore=shutil.ignore_patterns(WEIGHTS))


def test_an_adapter_is_small_and_makes_the_trained_model_again(trained, adapter, tmp_path):
    size = sum(file.stat().st_size for file in adapter.glob("*.safetensors"))
    assert 0 < size < trained.weights.stat().st_size / 100
    made = apply_adapter(AdapterOptions(adapter=adapter, encoder="minilm-l6", out=tmp_path / "made"))
    assert made.sha256 == trained.sha256
    assert made.weights.read_bytes() == trained.weights.read_bytes()
    assert made.manifest.config["dropout"] is False


def test_an_adapter_alone_is_no_model_and_the_message_names_the_command(adapter):
    with pytest.raises(
        BundleError, match=r"has an adapter and no model\.safetensors.*distill\.adapter --adapter"
    ):
        open_bundle(adapter)


@pytest.mark.parametrize("fault", ["another encoder", "no weights", "no adapter", "changed", "exists"])
def test_what_does_not_belong_together_is_refused_and_leaves_nothing(make_bundle, adapter, tmp_path, fault):
    encoder, source, out = "minilm-l6", adapter, tmp_path / "made"
    if fault == "another encoder":
        encoder = str(shutil.copytree(embedded_folder(), tmp_path / "encoder", copy_function=shutil.copyfile))
        tensors = load_file(f"{encoder}/{WEIGHTS}")
        name = next(iter(tensors))
        tensors[name] += 1
        save_file(tensors, f"{encoder}/{WEIGHTS}", {"format": "pt"})
    if fault == "no weights":
        encoder = str(shutil.copytree(embedded_folder(), tmp_path / "encoder", copy_function=shutil.copyfile))
        Path(encoder, WEIGHTS).rename(f"{encoder}/pytorch_model.bin")
    if fault == "no adapter":
        source = make_bundle()
    if fault == "changed":
        (adapter / ADAPTER).write_bytes(b"another adapter")
    if fault == "exists":
        out.mkdir()
    wanted = {
        "another encoder": r"--encoder .*minilm-l6, whose weights have the SHA-256 \w{64}",
        "no weights": r"--encoder .*encoder has no model\.safetensors; pickle weights",
        "no adapter": r"--adapter .*distill\.finetune --lora-rank",
        "changed": r"adapter/adapter\.safetensors: changed since it was made",
        "exists": r"exists already",
    }
    before = sorted(tmp_path.iterdir())
    with pytest.raises((BundleError, OptionError), match=wanted[fault]):
        apply_adapter(AdapterOptions(adapter=source, encoder=encoder, out=out))
    assert sorted(tmp_path.iterdir()) == before


def test_training_on_a_model_that_answers_leaves_no_adapter(make_bundle, small_squad_v2, tmp_path):
    """Nothing makes a model of it: distill.adapter takes encoders only."""
    config = FinetuneOptions(
        model=str(make_bundle()), data=str(small_squad_v2), out=tmp_path / "t", lora_rank=2, epochs=0.1
    )
    assert ADAPTER not in finetune(config).manifest.files


def test_weights_that_are_not_those_of_the_manifest_are_not_kept(adapter, tmp_path, monkeypatch):
    monkeypatch.setattr("distill.training.lora.SCALE", 1.0)
    with pytest.raises(BundleError, match=r"the weights made are not those of .*adapter"):
        apply_adapter(AdapterOptions(adapter=adapter, encoder="minilm-l6", out=tmp_path / "made"))
    assert [path.name for path in tmp_path.iterdir()] == ["adapter"]


def test_a_merged_weight_is_rounded_once():
    """Scale 2: 1 + 2 (0.5 x 0.25 + 2^-11 x 1) is exact in fp32, but no sum of fp16 numbers."""
    weight = torch.tensor([[1.0, -1.0]])
    up = torch.tensor([[0.5, 2.0**-11]])
    down = torch.tensor([[0.25, 0.0], [1.0, 0.0]])
    assert merged_weight(weight, up, down).tolist() == [[1.25 + 2.0**-10, -1.0]]


def test_training_continues_an_adapter(trained, adapter, small_squad_v2, tmp_path):
    """With a rate of almost nothing the weights stay; the new adapter makes the new model from the encoder."""
    options = {"epochs": 0.1, "batch_size": 4, "lora_rank": 2, "dropout": False}
    config = FinetuneOptions(
        data=str(small_squad_v2), adapter=adapter, learning_rate=1e-12, out=tmp_path / "on", **options
    )
    further = finetune(config)
    assert further.settings.max_length == trained.settings.max_length
    assert further.manifest.parent.sha256 == trained.sha256
    before, after = load_file(trained.weights), load_file(further.weights)
    for name, tensor in before.items():
        torch.testing.assert_close(after[name], tensor, rtol=0, atol=1e-6)
    shutil.copytree(further.path, tmp_path / "small", ignore=shutil.ignore_patterns(WEIGHTS))
    made = apply_adapter(
        AdapterOptions(adapter=tmp_path / "small", encoder="minilm-l6", out=tmp_path / "made")
    )
    assert made.sha256 == further.sha256


def test_an_adapter_is_continued_at_its_own_rank(adapter, small_squad_v2, tmp_path):
    config = FinetuneOptions(data=str(small_squad_v2), adapter=adapter, lora_rank=4, out=tmp_path / "on")
    with pytest.raises(OptionError, match=r"--lora-rank.*2"):
        finetune(config)
