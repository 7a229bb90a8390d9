"""The mean of models: of their weights, with a threshold and an origin of its own, and only where they have
one shape."""

import json
import re
import shutil

import pytest
import torch

from compress.cast import CastOptions
from compress.cast import cast as store
from compress.embeddings import EmbeddingsOptions
from compress.embeddings import quantize_embeddings as quantize
from distill.average import AverageOptions, average
from distill.options import FinetuneOptions
from distill.train_on_gold import finetune
from qa.base.errors import BundleError, OptionError
from qa.bundles.bundle import open_bundle
from qa.models.model import QAModel

pytestmark = pytest.mark.usefixtures("fresh_accelerate")


def as_stage(folder, stage):
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"stage": stage}))


@pytest.fixture
def models(make_bundle, few, tmp_path):
    """One trained from the other."""
    first = shutil.copytree(make_bundle(), tmp_path / "first")
    as_stage(first, "finetune")
    config = FinetuneOptions(model=str(first), out=tmp_path / "further", learning_rate=1e-3, **few)
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
    (line,) = (line for line in card.splitlines() if "the mean of" in line)
    assert re.search(r"stage average, .*, the mean of `first` \(.*\) and `further` \([^)]*\)$", line)


def test_a_mean_of_students_is_no_teacher(models, tmp_path):
    as_stage(models[1], "distill")
    assert not average(AverageOptions(models=models, out=tmp_path / "mean")).manifest.is_teacher


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
