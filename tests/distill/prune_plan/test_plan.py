"""Pruned students: within a size, the best for their size first; what cannot work is said before any work."""

from dataclasses import replace

import pytest
import torch
from quick import quick
from stops import stopped_at

from distill.options import DistillOptions
from distill.prune_plan.allocation import best_within, between_layers
from distill.prune_plan.costs import UnitCosts, file_bytes, file_costs, linear_bytes, words_bytes
from distill.prune_plan.importance import Importance
from distill.prune_plan.options import PruningOptions
from distill.prune_plan.plan import select_units, target_costs
from distill.train_on_teacher import distil
from distill.training.checkpoint import CHECKPOINT
from qa.base.errors import OptionError
from qa.bundles.bundle import open_bundle
from qa.models.model import QAModel
from qa.models.quantized_embedding import ProductQuantizedEmbedding
from qa.text.settings import QASettings

pytestmark = pytest.mark.usefixtures("fresh_accelerate")


def model_of(make_bundle, *names):
    return QAModel.from_pretrained(make_bundle(*names))


def importance(heads, neurons):
    return Importance(
        [torch.tensor(h) for h in heads], [torch.tensor(n).repeat_interleave(32) for n in neurons]
    )


def test_the_best_for_its_size_is_kept_first():
    """By hand. A head costs as much as two tiles: after the best of each come tile 5, head 6, tile 2.5, head
    4, tile 1."""
    scores = importance([[6.0, 4.0, 9.0]], [[1.0 / 32, 2.5 / 32, 5.0 / 32, 7.0 / 32]])
    costs = UnitCosts(rest=10.0, head=2.0, neuron=1 / 32)
    for limit, heads, tiles in (
        (13.0, [2], [3]),
        (14.0, [2], [2, 3]),
        (16.0, [0, 2], [2, 3]),
        (17.0, [0, 2], [1, 2, 3]),
    ):
        width = best_within(scores, limit, costs)
        assert width.heads[0].tolist() == heads
        assert (width.neurons[0][::32] // 32).tolist() == tiles
    with pytest.raises(OptionError, match=r"--target-mb must be at least 13\.00, .* a layer, got 12\.9"):
        best_within(scores, 12.9, costs)


def test_layers_are_compared_by_the_root_of_their_sums():
    scaled = between_layers(
        Importance([torch.tensor([12.0, 4.0]), torch.tensor([0.0, 0.0])], [torch.tensor([0.09])])
    )
    assert scaled.heads[0].tolist() == [3, 1]
    assert scaled.heads[1].tolist() == [0, 0]
    assert scaled.neurons[0].tolist() == pytest.approx([0.3])
    # plain scores would keep the best two, both of the first layer
    two_layers = importance([[12.0, 4.0], [2.0, 0.0]], [[1.0], [1.0]])
    width = select_units(two_layers, None, PruningOptions(keep_heads=0.5, keep_ffn=1.0))
    assert [heads.tolist() for heads in width.heads] == [[0], [0]]


@pytest.mark.parametrize(
    ("quantize", "name"),
    quick(("int8", "bert"), ("int4", "bert"), rest=[("int8", "pruned"), ("int8", "distilbert")]),
)
def test_bytes_are_those_of_exported_files(exported_tflite, quantize, name):
    parent, exported = exported_tflite(name, quantize)
    predicted = file_bytes(QAModel.from_pretrained(parent.path), quantize, quantize, 384)
    assert predicted == pytest.approx(exported.weights.stat().st_size, rel=0.02)


def test_a_model_of_fixed_lengths_has_a_graph_for_each(make_bundle):
    """Four graphs: of 128, 192, 256 and the longest window's tokens, 9,000 bytes each and 6,000 a layer."""
    bytes_of = {}
    for fixed in (False, True):
        model = model_of(make_bundle)
        model.head.fixed_lengths = fixed
        bytes_of[fixed] = file_bytes(model, "int8", "int8", 384)
    assert bytes_of[True] - bytes_of[False] == 3 * (9_000 + 6_000 * len(model.encoder.layers))
    model.encoder.model.pair_bytes = 8
    pairs = 128**2 + 192**2 + 256**2 + 384**2
    assert file_bytes(model, "int8", "int8", 384) - bytes_of[True] == pytest.approx(8 * pairs)
    shorter = file_bytes(model, "int8", "int8", 256) - bytes_of[True] - 8 * (128**2 + 192**2 + 256**2)
    assert shorter == pytest.approx(-(9_000 + 6_000 * len(model.encoder.layers))), "one graph fewer"


def test_units_cost_what_their_removal_saves(make_bundle):
    for quantize, embeddings in (("int8", "pq3"), ("int4", "int4")):
        whole = model_of(make_bundle)
        narrower = model_of(make_bundle, "bert", "4l-gelu-skip", True)
        costs = file_costs(whole, quantize, embeddings, 384)
        assert costs.of(whole) == pytest.approx(file_bytes(whole, quantize, embeddings, 384) / 1e6)
        assert costs.of(narrower) == pytest.approx(file_bytes(narrower, quantize, embeddings, 384) / 1e6)


def test_a_layer_that_is_applied_several_times_has_query_key_and_value_twice(make_bundle):
    model = model_of(make_bundle, "albert", "linear")
    costs = file_costs(model, "int8", "int8", 384)
    assert costs.of(model) == pytest.approx(file_bytes(model, "int8", "int8", 384) / 1e6)
    (parts,) = model.encoder.layer_parts()
    width, size = parts.query.in_features, parts.head_size
    assert costs.head == pytest.approx((6 * linear_bytes(width, size, 8) + size * width) / 1e6)


def test_the_bytes_of_product_quantized_tables():
    """By hand: 10 rows of 384 in groups of 3 are 128 codes each; 128 codebooks have 256 entries of 3; and 384
    scales."""
    assert words_bytes(10, 384, "pq3") == 10 * 128 + 128 * 256 * 3 + 4 * 384
    assert words_bytes(10, 385, "pq4") == 10 * 97 + 97 * 256 * 4 + 4 * 385


def test_a_compressed_table_costs_what_it_takes(make_bundle):
    model = model_of(make_bundle)
    flags = DistillOptions(target_mb=5)
    whole = target_costs(flags, model, QASettings()).of(model)
    model.encoder.set_words(ProductQuantizedEmbedding(30522, 64, "pq3"))
    saved = words_bytes(30522, 64, "int8") - words_bytes(30522, 64, "pq3")
    assert whole - target_costs(flags, model, QASettings()).of(model) == pytest.approx(saved / 1e6)


def test_the_default_student_is_as_deep_as_its_teacher_and_narrower(make_bundle, few, tmp_path):
    teacher = open_bundle(make_bundle())
    config = DistillOptions(out=tmp_path / "r", teacher=teacher.path, **few)
    student = distil(config)
    kept = student.manifest.width
    assert len(kept["heads_per_layer"]) == 2
    assert sum(kept["heads_per_layer"]) == 5
    assert 128 <= sum(kept["neurons_per_layer"]) <= 160  # half, in whole tiles
    assert QAModel.from_pretrained(student.path).config()["neurons_per_layer"] == kept["neurons_per_layer"]
    assert open_bundle(teacher.path).sha256 == teacher.sha256
    assert distil(replace(config, resume=True)) == student


def test_a_target_is_kept_and_an_interrupted_run_goes_on(make_bundle, few, tmp_path, capsys):
    limit = file_bytes(model_of(make_bundle), "int8", "pq3", 384) / 1e6 - 0.03
    few |= {"epochs": 1, "target_mb": limit, "target_embeddings": "pq3"}
    config = DistillOptions(out=tmp_path / "r", teacher=make_bundle(), **few)
    straight = distil(replace(config, out=tmp_path / "straight"))
    with stopped_at(2):
        distil(config)
    assert "student: stopped after 2 steps" in capsys.readouterr().err
    assert (tmp_path / "r" / "training" / "student" / CHECKPOINT).is_file()
    student = distil(replace(config, resume=True))
    ours, theirs = (QAModel.from_pretrained(bundle.path) for bundle in (student, straight))
    assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), theirs.parameters(), strict=True))
    predicted = student.manifest.width["predicted_mb"]
    assert limit - 0.01 < predicted <= limit
    assert predicted == pytest.approx(file_bytes(ours, "int8", "pq3", 384) / 1e6)
