"""Pruned students: within a size or a time, the best for their cost first; what cannot work is said
before any work."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from stops import stopped_at

from compress.product_quantization import compress_words
from distill.options import DistillOptions
from distill.prune_plan.allocation import Target, best_within, between_layers
from distill.prune_plan.costs import UnitCosts, file_bytes, file_costs, time_costs, words_bytes
from distill.prune_plan.importance import Importance
from distill.prune_plan.options import PruningOptions
from distill.prune_plan.plan import select_units, targets_of
from distill.train_on_teacher import distil
from distill.training.checkpoint import CHECKPOINT
from export.tflite.times import TimesConfig
from export.tflite.times import main as measure_times
from export.tflite.timing import copies, fit, measure, size
from qa.base.errors import OptionError, PocketQAError
from qa.bundles.bundle import open_bundle
from qa.models.model import QAModel

pytestmark = pytest.mark.usefixtures("fresh_accelerate")


def model_of(make_bundle, *names):
    return QAModel.from_pretrained(make_bundle(*names))


def importance(heads, neurons):
    return Importance(
        [torch.tensor(h) for h in heads], [torch.tensor(n).repeat_interleave(32) for n in neurons]
    )


def test_the_best_for_its_cost_is_kept_first():
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
        width = best_within(scores, [Target("mb", limit, costs)])
        assert width.heads[0].tolist() == heads
        assert (width.neurons[0][::32] // 32).tolist() == tiles
    with pytest.raises(OptionError, match=r"--target-mb must be at least 13\.00, .* a layer, got 12\.9"):
        best_within(scores, [Target("mb", 12.9, costs)])


def test_heads_go_for_time_and_neurons_for_bytes_and_both_targets_hold():
    generator = torch.Generator().manual_seed(0)
    heads = [torch.rand(12, generator=generator) * 100 for _ in range(6)]
    scores = Importance(heads, [torch.rand(1536, generator=generator)] * 6)
    in_mb = UnitCosts(5.0, 0.064, 0.001)
    in_ms = UnitCosts(1.0, 0.25, 0.001)

    def kept(*targets):
        width = best_within(scores, targets)
        n_heads = sum(map(len, width.heads))
        n_neurons = sum(map(len, width.neurons))
        costs = [t.costs.rest + n_heads * t.costs.head + n_neurons * t.costs.neuron for t in targets]
        for target, cost in zip(targets, costs, strict=True):
            assert cost <= target.limit
        assert any(
            target.limit - cost < target.costs.head for target, cost in zip(targets, costs, strict=True)
        )
        return n_heads, n_neurons

    small = kept(Target("mb", 11.5, in_mb))
    fast = kept(Target("ms", 12.0, in_ms))
    assert small[0] > fast[0]
    assert small[1] < fast[1]
    kept(Target("mb", 11.5, in_mb), Target("ms", 12.0, in_ms))


def test_layers_are_compared_by_the_root_of_their_sums():
    scaled = between_layers(
        Importance([torch.tensor([12.0, 4.0]), torch.tensor([0.0, 0.0])], [torch.tensor([0.09])])
    )
    assert scaled.heads[0].tolist() == [3, 1]
    assert scaled.heads[1].tolist() == [0, 0]
    assert scaled.neurons[0].tolist() == pytest.approx([0.3])
    # plain scores would keep the best two, both of the first layer
    two_layers = importance([[12.0, 4.0], [2.0, 0.0]], [[1.0], [1.0]])
    width = select_units(two_layers, [], PruningOptions(keep_heads=0.5, keep_ffn=1.0))
    assert [heads.tolist() for heads in width.heads] == [[0], [0]]


@pytest.mark.parametrize(
    ("quantize", "name"), [("int8", "bert"), ("int4", "bert"), ("int8", "distilbert"), ("int8", "pruned")]
)
def test_bytes_are_those_of_exported_files(exported_tflite, quantize, name):
    parent, exported = exported_tflite(name, quantize)
    predicted = file_bytes(QAModel.from_pretrained(parent.path), quantize, quantize)
    assert predicted == pytest.approx(exported.weights.stat().st_size, rel=0.02)


def test_units_cost_what_their_removal_saves(make_bundle):
    for quantize, embeddings in (("int8", "pq3"), ("int4", "int4")):
        whole = model_of(make_bundle)
        narrower = model_of(make_bundle, "bert", "4l-gelu-skip", True)
        costs = file_costs(whole, quantize, embeddings)
        assert costs.of(whole) == pytest.approx(file_bytes(whole, quantize, embeddings) / 1e6)
        assert costs.of(narrower) == pytest.approx(file_bytes(narrower, quantize, embeddings) / 1e6)


def table(tmp_path, **changes):
    ms = {"rest": 0.5, "layer": 0.25, "head": 0.125, "neuron": 0.0078125}
    times = {"hidden_size": 64, "head_size": 16, "ms": {"96": ms, "128": {**ms, "head": 0.5}}}
    path = tmp_path / "times.json"
    path.write_text(json.dumps(times | changes))
    return path


def test_times_add_up(make_bundle, tmp_path):
    """By hand: 2 layers, 8 heads, 256 neurons; the head's 64-1024-64-384-2 has as many weights as 1,222
    neurons."""
    model = model_of(make_bundle)
    path = table(tmp_path)
    head_weights = 64 * 1024 + 1024 * 64 + 64 * 384 + 384 * 2
    beside_heads = 0.5 + 2 * 0.25 + 256 * 0.0078125 + head_weights / 128 * 0.0078125
    assert time_costs(model, path, 90).of(model) == pytest.approx(beside_heads + 8 * 0.125)
    assert time_costs(model, path, 97).of(model) == pytest.approx(beside_heads + 8 * 0.5)
    albert = model_of(make_bundle, "albert")
    assert time_costs(albert, path, 90).head == 2 * 0.125  # its one layer runs twice


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"hidden_size": 384},
            "measured on models 384 wide with heads of 16, this one is 64 wide with heads",
        ),
        ({"ms": {}}, "no length of at least 128"),
        ({"ms": {"128": {"rest": 0.1}}}, "not a table that python -m export.tflite.times makes"),
        ({"ms": {"128": {"rest": 0.1, "layer": 1, "head": -1, "neuron": 1}}}, "not a table"),
        ({"hidden_size": "64"}, "not a table"),
    ],
)
def test_a_table_that_does_not_suit_is_refused(make_bundle, tmp_path, changes, message):
    with pytest.raises(OptionError, match=message):
        time_costs(model_of(make_bundle), table(tmp_path, **changes), 128)


def test_the_fit_finds_the_terms_of_a_sum(make_bundle):
    sizes = [size(model) for model in copies(model_of(make_bundle))]
    assert sizes[0] == [1, 2, 8, 256]
    assert len({tuple(one) for one in sizes}) > 4
    terms = torch.tensor([0.5, 0.25, 0.125, 0.01], dtype=torch.float64)
    found = fit(sizes, (torch.tensor(sizes, dtype=torch.float64) @ terms).numpy())
    assert list(found.values()) == pytest.approx(terms.tolist(), rel=1e-3)
    with pytest.raises(PocketQAError, match="measure on a quiet machine"):
        fit(sizes, 1.0 / torch.tensor(sizes, dtype=torch.float64)[:, 2].numpy())


def test_the_bytes_of_product_quantized_tables():
    """By hand: 10 rows of 384 in groups of 3 are 128 codes each; 128 codebooks have 256 entries of 3; and 384
    scales."""
    assert words_bytes(10, 384, "pq3") == 10 * 128 + 128 * 256 * 3 + 4 * 384
    assert words_bytes(10, 385, "pq4") == 10 * 97 + 97 * 256 * 4 + 4 * 385


def test_a_compressed_table_costs_what_it_takes(make_bundle):
    model = model_of(make_bundle)
    flags = DistillOptions(target_mb=5)
    whole = targets_of(flags, model, 128)[0].costs.of(model)
    compress_words(model, "pq3", None)
    saved = words_bytes(30522, 64, "int8") - words_bytes(30522, 64, "pq3")
    assert whole - targets_of(flags, model, 128)[0].costs.of(model) == pytest.approx(saved / 1e6)


@pytest.mark.system  # six models are converted
def test_a_measured_table_serves_as_a_target(make_bundle, tmp_path, monkeypatch):
    """The exports are real and run; the times are made up, for those of models so small are noise."""
    model = model_of(make_bundle)
    terms = np.array([0.5, 0.25, 0.125, 0.01])

    def made_up(files, length, rounds):
        assert (measure(files, length, rounds) > 0).all()
        return np.array([size(copy) for copy in copies(model)]) @ terms

    monkeypatch.setattr("export.tflite.timing.measure", made_up)
    made = measure_times(TimesConfig(model=make_bundle(), out=tmp_path / "times.json", rounds=3))
    assert list(made["ms"]) == ["128"]
    costs = time_costs(model, tmp_path / "times.json", 128)
    assert (costs.head, costs.neuron) == pytest.approx((0.125, 0.01), rel=1e-3)


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
    limit = file_bytes(model_of(make_bundle), "int8", "pq3") / 1e6 - 0.03
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
    assert predicted == pytest.approx(file_bytes(ours, "int8", "pq3") / 1e6)
