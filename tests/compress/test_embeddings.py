"""Product-quantized word tables: k-means, every encoder, gradients, what bundles store, and what they
refuse.
"""

import json

import numpy as np
import pytest
import torch
from comparisons import rebundle
from safetensors.torch import load_file, save_file
from tiny_models import ENCODER_CONFIGS

from compress.embeddings import EmbeddingsOptions, quantize_embeddings
from compress.product_quantization import (
    compress_words,
    k_means,
    nearest_centres,
    product_quantized,
    token_counts,
)
from distill.student import student_from_layers
from qa.base.errors import BundleError, OptionError
from qa.bundles.bundle import open_bundle
from qa.data.squad import read_squad
from qa.models.encoders import Encoder
from qa.models.model import QAModel
from qa.models.quantized_embedding import CODEBOOK_SIZE, ProductQuantizedEmbedding
from qa.text.features import make_windows


def tiny(kind="bert", vocab_size=400):
    """A model whose word vectors are 32 wide, or 16, with other rows than any codebook's."""
    torch.manual_seed(0)
    config = ENCODER_CONFIGS[kind]()
    config.vocab_size = vocab_size
    return QAModel(Encoder(config), "linear").eval()


def inputs(vocab_size=400):
    ids = torch.randint(3, vocab_size, (2, 12), generator=torch.Generator().manual_seed(0))
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": torch.zeros_like(ids)}


def compress_evenly(model, form):
    """With tokens that all occur as often."""
    compress_words(model, form, np.zeros(model.encoder.words.num_embeddings))


# k-means


def test_points_in_few_places_are_met_exactly():
    places = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)
    points = places[np.arange(1000) % 200]
    nearest, centres = k_means(points, np.ones(1000), seed=0)
    assert np.square(centres[nearest] - points).sum() < 0.02 * np.square(points).sum()
    few, exact = k_means(places, np.ones(200), seed=0)
    assert np.allclose(exact[few], places, atol=1e-6), "as many centres as points"


def test_centres_are_the_weighted_means_of_their_points():
    random = np.random.default_rng(1)
    points = random.normal(size=(3000, 2)).astype(np.float32)
    weights = random.integers(1, 50, 3000).astype(float)
    nearest, centres = k_means(points, weights, seed=3)
    assert np.array_equal(nearest, nearest_centres(points, centres))
    at_least = np.square(points[:, None] - centres).sum(-1).argmin(1)
    assert (at_least == nearest).mean() > 0.999, "but for ties in rounding"
    again = k_means(points, weights, seed=3)
    assert np.array_equal(nearest, again[0])
    assert np.array_equal(centres, again[1])
    inside = [nearest == k for k in np.unique(nearest)]
    means = np.stack([np.average(points[rows], axis=0, weights=weights[rows]) for rows in inside])
    assert np.abs(means - centres[np.unique(nearest)]).max() < 0.1, "near the fixed point of Lloyd's rounds"


def test_frequent_tokens_are_kept_more_exactly():
    counts = np.where(np.arange(3000) % 10 == 0, 1000, 0)
    models = [tiny(vocab_size=3000), tiny(vocab_size=3000)]
    before = models[0].encoder.words.weight.detach().clone()
    for model, given in zip(models, (0 * counts, counts), strict=True):
        compress_words(model, "pq4", given)
    errors = [(model.encoder.words.weight.detach() - before).square().sum(1).numpy() for model in models]
    assert errors[1][counts > 0].mean() < 0.9 * errors[0][counts > 0].mean()


def test_the_stage_counts_the_tokens_of_training_questions(
    make_bundle, tmp_path, small_squad, monkeypatch, capsys
):
    bundle = open_bundle(rebundle(make_bundle(), tmp_path / "trained", grid={"precision": "int4"}))
    given = []

    def compress_with(model, form, counts):
        given.append((form, counts.tolist()))
        model.encoder.set_words(ProductQuantizedEmbedding(30522, 64, form))

    monkeypatch.setattr("compress.product_quantization.compress_words", compress_with)
    made = quantize_embeddings(EmbeddingsOptions(bundle.path, tmp_path / "t", "pq4", data=str(small_squad)))
    assert made.manifest.qat == bundle.manifest.qat, "its Linears are the same"
    assert capsys.readouterr().out.endswith(f"--model {made.path} --quantize int4\n")
    text = small_squad.read_text().replace('"is_impossible": false', '"unlabelled": true')
    (tmp_path / "unlabelled.json").write_text(text)
    counts = token_counts(bundle, 30522, read_squad(tmp_path / "unlabelled.json", unlabelled=True))
    windows = make_windows(read_squad(small_squad), bundle.tokenizer, bundle.settings)
    assert counts.sum() == sum(len(w.input_ids) for w in windows)
    assert given == [("pq4", counts.tolist())]


# In a model


@pytest.mark.parametrize("form", ["pq3", "pq4"])
def test_as_many_entries_as_tokens_change_nothing(form):
    model = tiny(vocab_size=CODEBOOK_SIZE)
    with torch.no_grad():
        wanted = model(**inputs(CODEBOOK_SIZE))["start_logits"]
        compress_evenly(model, form)
        seen = model(**inputs(CODEBOOK_SIZE))["start_logits"]
    assert (seen - wanted).abs().max() < 1e-5


@pytest.mark.parametrize("kind", ENCODER_CONFIGS)
def test_every_encoder_computes_with_the_table_that_its_codes_stand_for(kind, tmp_path):
    model = tiny(kind)
    reference = tiny(kind)
    counts = model.count_parameters()
    compress_evenly(model, "pq3")
    with torch.no_grad():
        reference.encoder.words.weight.copy_(model.encoder.words.weight)
        wanted = reference(**inputs())["end_logits"]
        seen = model(**inputs())["end_logits"]
    assert (seen - wanted).abs().max() < 1e-5
    assert model.count_parameters() == counts
    model.save_pretrained(tmp_path)
    with torch.no_grad():
        assert torch.equal(QAModel.from_pretrained(tmp_path)(**inputs())["end_logits"], seen)


def test_a_whole_models_words_are_compressed_too(make_whole, tmp_path):
    model = make_whole("qanet")
    compress_evenly(model, "pq4")
    model.save_pretrained(tmp_path)
    with torch.no_grad():
        wanted, seen = (m(**inputs())["start_logits"] for m in (model, QAModel.from_pretrained(tmp_path)))
    assert torch.equal(wanted, seen)


def test_codebooks_train_and_codes_stay():
    model = tiny()
    compress_evenly(model, "pq3")
    words = model.encoder.words
    codes = words.get_buffer("codes").clone()
    codebooks = words.codebooks.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    model(**inputs())["start_logits"].square().sum().backward()
    optimizer.step()
    used = torch.zeros(words.codebooks.shape[:2], dtype=torch.bool).flatten()
    used[words.entries(inputs()["input_ids"]).flatten().long()] = True
    moved = (words.codebooks.detach() != codebooks).any(-1).flatten()
    assert torch.equal(words.get_buffer("codes"), codes)
    assert moved[~used].sum() == 0
    assert moved[used].float().mean() > 0.99


def test_a_student_of_some_layers_takes_the_table_over():
    teacher = tiny()
    compress_evenly(teacher, "pq3")
    student = student_from_layers(teacher, 1)
    assert torch.equal(student.encoder.words.weight, teacher.encoder.words.weight)
    assert student.encoder.words.codebooks is not teacher.encoder.words.codebooks
    assert student.count_parameters().total < teacher.count_parameters().total


def test_a_compressed_table_is_compressed_further_but_not_back():
    model = tiny()
    compress_evenly(model, "pq3")
    before = model.encoder.words
    compress_evenly(model, "pq3")
    assert model.encoder.words is before
    compress_evenly(model, "pq4")
    after = model.encoder.words
    assert after.form == "pq4"
    plain = torch.nn.Embedding.from_pretrained(before.weight.detach())
    assert torch.equal(after.weight, product_quantized(plain, "pq4", np.zeros(400)).weight)
    with pytest.raises(OptionError, match="is pq4 already, which is smaller; make pq3 from"):
        compress_evenly(model, "pq3")


# What is stored


@pytest.fixture
def saved(tmp_path):
    """A folder with a model whose table is pq3."""
    model = tiny()
    compress_evenly(model, "pq3")
    model.save_pretrained(tmp_path)
    return tmp_path


WORDS = "encoder.model.embeddings.word_embeddings"


def test_a_byte_is_stored_for_each_group(saved):
    tensors = load_file(saved / "model.safetensors")
    config = json.loads((saved / "config.json").read_text())
    assert tensors[f"{WORDS}.codes"].dtype == torch.int8
    assert tensors[f"{WORDS}.codes"].shape == (400, 22)  # 64 values in groups of 3
    assert tensors[f"{WORDS}.codebooks"].shape == (22, 256, 3)
    assert f"{WORDS}.weight" not in tensors
    assert config["word_table"] == "pq3"
    assert config["not_in_transformers"] == "its embedding table is product-quantized"
    assert config["model_type"] == "pocketqa"


@pytest.mark.parametrize("form", ["pq2", "pq4", "pq0", "int8", 3, None, [], {}, True])
def test_a_config_that_does_not_fit_is_one_line(saved, form):
    config = json.loads((saved / "config.json").read_text())
    (saved / "config.json").write_text(json.dumps(config | {"word_table": form}))
    with pytest.raises(BundleError) as refused:
        QAModel.from_pretrained(saved)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("codes", lambda codes: codes.float()),
        ("codes", lambda codes: codes.to(torch.uint8)),
        ("codes", lambda codes: codes[:-1]),
        ("codes", lambda codes: codes[:, :-1]),
        ("codebooks", lambda codebooks: codebooks.to(torch.int8)),
        ("codebooks", lambda codebooks: codebooks[:, :255]),
    ],
)
def test_tensors_that_do_not_fit_are_one_line(saved, name, change):
    tensors = load_file(saved / "model.safetensors")
    tensors[f"{WORDS}.{name}"] = change(tensors[f"{WORDS}.{name}"]).contiguous()
    save_file(tensors, saved / "model.safetensors")
    with pytest.raises(BundleError, match=r"does not fit config\.json") as refused:
        QAModel.from_pretrained(saved)
    assert "\n" not in str(refused.value)
