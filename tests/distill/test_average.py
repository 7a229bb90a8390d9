"""The mean of models: of their weights, with a threshold and an origin of its own, and only where they have
one shape."""

import re
import shutil
from contextlib import nullcontext

import pytest
import torch
from comparisons import rebundle
from json_files import change_json

from compress.cast import CastOptions
from compress.cast import cast as store
from compress.embeddings import EmbeddingsOptions
from compress.embeddings import quantize_embeddings as quantize
from distill.average import AverageOptions, average, shape_of
from distill.options import FinetuneOptions
from distill.train_on_gold import finetune
from qa.base.errors import BundleError, OptionError
from qa.bundles.bundle import MANIFEST, open_bundle
from qa.models.model import QAModel

pytestmark = pytest.mark.usefixtures("fresh_accelerate")


@pytest.fixture(scope="module")
def models(make_bundle, small_squad, tmp_path_factory):
    """One trained from the other."""
    folder = tmp_path_factory.mktemp("models")
    first = shutil.copytree(make_bundle(), folder / "first")
    change_json(first / MANIFEST, stage="finetune")
    brief = {"data": str(small_squad), "epochs": 0.1, "batch_size": 4, "precision": "fp32"}
    config = FinetuneOptions(model=str(first), out=folder / "further", learning_rate=1e-3, **brief)
    return first, finetune(config).path


def test_weights_are_the_mean_and_both_are_named(models, tmp_path):
    made = average(AverageOptions(models=models, out=tmp_path / "mean"))
    first, second, mean = (QAModel.from_pretrained(path).state_dict() for path in (*models, made.path))
    assert any(not torch.equal(tensor, second[name]) for name, tensor in first.items())
    for name, tensor in mean.items():
        assert torch.allclose(tensor, (first[name] + second[name]) / 2, atol=1e-7), name
    assert made.manifest.stage == "average"
    assert made.manifest.is_teacher
    assert [part.sha256 for part in made.manifest.averaged] == [open_bundle(path).sha256 for path in models]
    assert {ancestor.name for ancestor in made.manifest.ancestors} == {path.name for path in models}
    card = (store(CastOptions(made.path, tmp_path / "stored")).path / "README.md").read_text()
    # Behind the mean lie two models, so the card ends there.
    assert re.findall(r"^- \*\*(\w+)\*\*", card, re.MULTILINE) == ["stored", "mean"]
    (line,) = (line for line in card.splitlines() if "the mean of" in line)
    assert re.search(r"stage average, .*, the mean of `first` \(.*\) and `further` \([^)]*\)$", line)


@pytest.mark.parametrize(
    ("encoders", "seeds", "is_refused", "line"),
    [
        ("aa", (0, 0), False, ""),
        ("aa", (0, 1), False, "--seed 0, 1"),
        ("ab", (0, 0), True, ""),
        ("a?", (0, 0), False, ""),
        ("xy", (0, 0), False, "checkpoints do not say if they have one origin"),
    ],
)
def test_models_start_from_one_encoder_and_one_head(
    encoders, seeds, is_refused, line, make_bundle, tmp_path, capsys
):
    def made(number):
        encoder = {"name": "e", "sha256": encoders[number] * 64}
        facts = {"stage": "finetune", "config": {"seed": seeds[number], "head": None}}
        facts |= {"encoder": encoder} if encoders[number] in "ab" else {}
        path = rebundle(make_bundle(seed=number), tmp_path / str(number), **facts)
        if encoders[number] in "xy":
            change_json(
                path / MANIFEST, source={"name": "c", "files": {"model.safetensors": encoders[number]}}
            )
        return path

    first, second = models = made(0), made(1)
    refused = pytest.raises(OptionError, match=rf"--models {second}: .* {first}; ")
    with refused if is_refused else nullcontext():
        average(AverageOptions(models=models, out=tmp_path / "mean"))
    printed = capsys.readouterr().err
    assert line in printed
    assert ("--seed" in printed) == line.startswith("--seed")


def test_models_whose_ancestors_began_with_other_heads_are_told_apart(make_bundle, tmp_path, capsys):
    encoder = {"name": "e", "sha256": "a" * 64}
    models = []
    for seed in (0, 1):
        first = {"name": "first", "sha256": f"{seed}" * 64, "stage": "finetune", "encoder": encoder}
        path = rebundle(
            make_bundle(seed=seed), tmp_path / str(seed), stage="finetune", config={"seed": 7, "head": None}
        )
        change_json(path / MANIFEST, ancestors=[first | {"config": {"seed": seed, "head": None}}])
        models.append(path)
    average(AverageOptions(models=tuple(models), out=tmp_path / "mean"))
    assert "--seed 0, 1" in capsys.readouterr().err


def test_what_a_common_teacher_taught_has_no_common_origin(make_bundle, tmp_path):
    teacher = {
        "name": "t",
        "sha256": "1" * 64,
        "stage": "finetune",
        "encoder": {"name": "e", "sha256": "2" * 64},
    }
    models = []
    for number, encoder in enumerate("ab"):
        facts = {"stage": "distill", "encoder": {"name": encoder, "sha256": encoder * 64}}
        path = rebundle(make_bundle(seed=number), tmp_path / encoder, **facts)
        change_json(path / MANIFEST, ancestors=[teacher])
        models.append(path)
    with pytest.raises(OptionError, match=rf"--models {models[1]}: .* {models[0]}; "):
        average(AverageOptions(models=tuple(models), out=tmp_path / "mean"))


def test_models_that_were_pruned_apart_have_no_mean(make_bundle, tmp_path):
    """One ancestor, and perhaps other heads of it: nothing in the weights tells them apart."""
    origin = make_bundle()
    facts = {"stage": "prune", "config": {"method": "structured"}}
    models = tuple(rebundle(origin, tmp_path / name, **facts, name=name) for name in ("a", "b"))
    with pytest.raises(OptionError, match=rf"--models {models[1]}: was not pruned together with {models[0]}"):
        average(AverageOptions(models=models, out=tmp_path / "mean"))


def test_what_a_checkpoint_says_of_itself_is_no_shape(make_bundle):
    first, second = (QAModel.from_pretrained(make_bundle()) for _ in range(2))
    second.encoder.config.language = "en"
    second.encoder.config.architectures = ["BertForMaskedLM"]
    second.encoder.config.hidden_dropout_prob = 0.3
    second.encoder.config.initializer_range = 0.3
    assert shape_of(first) == shape_of(second)
    second.encoder.config.layer_norm_eps = 1e-5
    assert shape_of(first) != shape_of(second)


def test_a_mean_of_students_is_no_teacher(models, tmp_path):
    student = shutil.copytree(models[1], tmp_path / "student")
    change_json(student / MANIFEST, stage="distill")
    mean = average(AverageOptions(models=(models[0], student), out=tmp_path / "mean"))
    assert not mean.manifest.is_teacher


def test_what_has_no_mean_is_refused_by_name(make_bundle, models, small_squad, tmp_path):
    for wrong in ((models[0],), (models[0], models[0])):
        with pytest.raises(OptionError, match="--models must be two models or more, each once"):
            AverageOptions(models=wrong, out=tmp_path / "mean")
    quantized = EmbeddingsOptions(models[0], tmp_path / "pq4", "pq4", data=str(small_squad))
    for other in (make_bundle(head="linear"), quantize(quantized).path):
        with pytest.raises(OptionError, match=rf"--models {other}: is not of the shape of {models[0]}"):
            average(AverageOptions(models=(models[0], other), out=tmp_path / "mean"))
    assert not (tmp_path / "mean").exists()
    (tmp_path / "there").mkdir()
    with pytest.raises(BundleError, match="exists already"):
        average(AverageOptions(models=models, out=tmp_path / "there"))
