"""Pruning: what is least important goes first, physically; zeros stay zero; parents stay as they are."""

import gc
import gzip
import weakref
import zlib
from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from comparisons import copied, rebundle
from stops import stopped_at

from compress.options import METHODS, PruneOptions
from compress.prune.magnitude import (
    IterativePruning,
    linear_weights,
    magnitude_masks,
    share_of_zeros,
    sparsity_at,
)
from compress.prune.prune import prune
from compress.recovery import with_held_out
from distill.data import DataSplits
from distill.prune_plan.allocation import keep_best
from distill.prune_plan.importance import cached_importance, measure_importance
from distill.prune_plan.options import PruningOptions
from distill.prune_plan.plan import prune_by_importance
from distill.training.batches import model_inputs, to_tensors
from distill.training.checkpoint import CHECKPOINT
from distill.training.objectives import supervised
from qa.base.errors import BundleError, OptionError
from qa.base.files import file_sha256
from qa.bundles.bundle import HELD_OUT, open_bundle
from qa.bundles.card import METHODS_SETTINGS
from qa.bundles.manifest import FileReference
from qa.data.datasets import data_reference
from qa.data.squad import Answer, Example, squad_json
from qa.models.model import QAModel
from qa.text.settings import QASettings

pytestmark = pytest.mark.usefixtures("fresh_accelerate")


@pytest.fixture
def model(make_bundle):
    return QAModel.from_pretrained(make_bundle())


def logits(model, windows):
    with torch.no_grad():
        return model.eval()(**model_inputs(to_tensors(windows)))["start_logits"]


def test_units_that_put_nothing_out_score_zero_and_go_first(model, windows, tmp_path):
    with torch.no_grad():
        for parts in model.encoder.layer_parts():
            parts.down.weight[:, 64:] = 0  # half of the 128 neurons
            parts.attention_output.weight[:, 16:32] = 0  # head 1 of 4
    importance = measure_importance(model, windows)
    for heads, neurons in zip(importance.heads, importance.neurons, strict=True):
        assert heads[1] == 0
        assert (heads[[0, 2, 3]] > 0).all()
        assert (neurons[64:] == 0).all()
        assert (neurons[:64] > 0).all()
    before = logits(model, windows)
    flags = PruningOptions(keep_ffn=0.5, keep_heads=0.75)
    facts = prune_by_importance(model, model, windows, flags, QASettings(), work=tmp_path)
    assert facts["heads_per_layer"] == [3, 3]
    assert facts["neurons_per_layer"] == [64, 64]
    assert (logits(model, windows) - before).abs().max() < 1e-5


@pytest.mark.parametrize("encoder", ["bert", "albert"])
def test_importance_is_the_squared_derivative_of_one_mask_for_all_steps(make_bundle, windows, encoder):
    """Against autograd: multiply each head's output by m = 1, in every step of ALBERT's one layer too."""
    model = QAModel.from_pretrained(make_bundle(encoder))
    parts = model.encoder.layer_parts()[-1]
    mask = torch.ones(parts.n_heads, requires_grad=True)
    handle = parts.attention_output.register_forward_pre_hook(
        lambda _, args: (args[0] * mask.repeat_interleave(parts.head_size),)
    )
    supervised(model.eval(), to_tensors(windows[:1]) | {"n_labelled": 1}, None)["loss"].backward()
    handle.remove()
    importance = measure_importance(model, windows[:1])
    assert torch.allclose(importance.heads[-1], mask.grad**2, rtol=1e-3)


def test_measuring_importance_keeps_no_batch_in_memory(model, windows):
    """Without Python's cycle collector: it does not see autograd's side of a cycle, so what needs it is never
    freed."""
    batches = []
    parts = model.encoder.layer_parts()[0]
    handle = parts.down.register_forward_pre_hook(lambda _, args: batches.append(weakref.ref(args[0])))
    gc.disable()
    try:
        measure_importance(model, windows)
        assert [batch() for batch in batches] == [None] * len(batches)
    finally:
        gc.enable()
        handle.remove()
    assert len(batches) == 2


def test_importance_is_measured_once_for_the_same_model_and_windows(
    make_bundle, model, windows, tmp_path, monkeypatch
):
    path = tmp_path / "new" / "importance.safetensors"
    first = cached_importance(model, windows[:4], path)
    counted = []
    monkeypatch.setattr(
        "distill.prune_plan.importance.measure_importance", lambda *_: counted.append(1) or first
    )
    again = cached_importance(model, windows[:4], path)
    assert counted == []
    for kind in ("heads", "neurons"):
        for ours, theirs in zip(getattr(again, kind), getattr(first, kind), strict=True):
            assert torch.equal(ours, theirs)
    cached_importance(model, windows[:3], path)
    cached_importance(QAModel.from_pretrained(make_bundle(seed=1)), windows[:3], path)
    path.write_bytes(b"torn")
    cached_importance(model, windows[:3], path)
    assert len(counted) == 3


def test_keeping_everything_changes_nothing(model, windows, tmp_path):
    before = logits(model, windows)
    everything = PruningOptions(keep_ffn=1.0, keep_heads=1.0)
    prune_by_importance(model, model, windows, everything, QASettings(), work=tmp_path)
    assert torch.equal(logits(model, windows), before)


def test_choice_is_over_all_layers_rounded_to_whole_tiles():
    scores = [torch.arange(64.0) + 100, torch.arange(64.0)]
    kept = keep_best(scores, 0.5, 32)
    assert [len(k) for k in kept] == [64, 32]  # the second layer keeps its one tile, the best of it
    assert kept[1].tolist() == list(range(32, 64))
    assert [len(k) for k in keep_best(scores, 1.0, 32)] == [64, 64]
    ties = [torch.cat([torch.ones(30), torch.zeros(34)])] * 2
    assert [len(k) for k in keep_best(ties, 0.5, 32)] == [64, 32]  # of equal scores the earlier units stay
    singles = [torch.tensor([1.0, 5, 3]), torch.tensor([4.0, 2, 0])]
    assert [len(k) for k in keep_best(singles, 0.5, 1)] == [2, 1]


@pytest.mark.parametrize("sparsity", [0.3, 0.8])
def test_magnitude_zeros_the_smallest_of_all_layers(model, sparsity):
    masks = magnitude_masks(model, sparsity)
    kept = torch.cat([w.detach()[masks[n]].abs() for n, w in linear_weights(model).items()])
    gone = torch.cat([w.detach()[~masks[n]].abs() for n, w in linear_weights(model).items()])
    assert gone.max() <= kept.min()
    assert len(gone) / (len(gone) + len(kept)) == pytest.approx(sparsity, abs=1e-4)
    assert not any("embeddings" in name or "bias" in name for name in masks)


def test_iterative_sparsity_rises_to_its_end_and_zeros_stay_zero(model):
    assert sparsity_at(0, 100, 0.8, 1) == 0.8
    stages = [sparsity_at(step, 100, 0.8, 4) for step in range(100)]
    assert stages == sorted(stages)
    assert stages[0] == pytest.approx(0.8 * (1 - 0.75**3))
    assert stages[50:] == [0.8] * 50
    assert sparsity_at(3, 3, 0.8, 10) == sparsity_at(12, 12, 0.8, 20) == 0.8, "of few steps too"
    pruning = IterativePruning(model, 0.8, 4)
    pruning(0, 100)
    first = {n: w.detach() == 0 for n, w in linear_weights(model).items()}
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(1e-4)  # an optimizer step would revive pruned weights
    pruning(1, 100)
    assert all((w[first[n]] == 0).all() for n, w in linear_weights(model).items())
    pruning(60, 100)
    assert share_of_zeros(model) == pytest.approx(0.8, abs=1e-3)


METHOD_FLAGS = {
    "structured": {"keep_ffn": 0.25, "keep_heads": 0.5},
    "magnitude": {"sparsity": 0.7, "iterations": 2},
}


@pytest.mark.parametrize("method", ["structured", "magnitude"])
def test_stage_makes_a_pruned_bundle_beside_its_untouched_parent(make_bundle, small_squad, tmp_path, method):
    parent = open_bundle(make_bundle())
    given = {"data": str(small_squad), "epochs": 2, "batch_size": 8, **METHOD_FLAGS[method]}
    config = PruneOptions(model=parent.path, out=tmp_path / "p", method=method, **given)
    bundle = prune(config)
    assert open_bundle(parent.path).sha256 == parent.sha256 == bundle.manifest.parent.sha256
    before = parent.manifest.parameters.total
    after = bundle.manifest.parameters.total
    if method == "structured":
        assert after < before
        assert sum(bundle.manifest.pruning["heads_per_layer"]) == 4
        assert 64 <= sum(bundle.manifest.pruning["neurons_per_layer"]) <= 96  # a quarter, in whole tiles
    else:
        assert after == before
        assert bundle.manifest.pruning["zeros"] == pytest.approx(0.7, abs=1e-3)
        compressed = [len(zlib.compress(b.weights.read_bytes())) for b in (bundle, parent)]
        assert compressed[0] < compressed[1]
    with pytest.raises(BundleError, match="exists already"):
        prune(config)
    checkpoint = tmp_path / "training" / "p" / CHECKPOINT
    assert not checkpoint.exists()
    checkpoint.write_bytes(b"of a run that was killed once its bundle was there")
    assert prune(replace(config, resume=True)) == bundle
    assert not checkpoint.exists()
    with pytest.raises(BundleError, match="made with --seed 0, not 1; choose another --out"):
        prune(replace(config, resume=True, seed=1))


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ({"importance_windows": 4}, {"importance_windows": 2}),
        ({"method": "magnitude"}, {"sparsity": 0.5}),
        ({}, {"method": "magnitude"}),
    ],
)
def test_a_stopped_run_goes_on_only_with_the_same_pruning(make_bundle, few, tmp_path, given, changed):
    config = PruneOptions(model=make_bundle(), out=tmp_path / "p", **few | given)
    with stopped_at(1):
        prune(config)
    with pytest.raises(OptionError, match="made with other options, data or model"):
        prune(replace(config, resume=True, **changed))


def test_windows_longer_than_the_models_positions_are_refused_before_any_work(
    make_bundle, small_squad, tmp_path
):
    long = copied(open_bundle(make_bundle()), tmp_path / "long", max_length=513)
    with pytest.raises(OptionError, match="must be at most 512, the positions of the encoder, got 513"):
        prune(PruneOptions(model=long.path, out=tmp_path / "p", data=str(small_squad)))


@pytest.mark.parametrize(
    "wrong",
    [
        {"keep_ffn": 0},
        {"keep_heads": 1.5},
        {"sparsity": 1},
        {"iterations": 0},
        {"method": "random"},
        {"alpha": 2},
        {"importance_windows": 0},
    ],
)
def test_impossible_options_name_the_flag(tmp_path, wrong):
    with pytest.raises(OptionError, match="--" + next(iter(wrong)).replace("_", "-")):
        PruneOptions(model=tmp_path, **wrong)


def test_hidden_states_of_a_teacher_with_another_tokenizer_are_refused(make_bundle, small_squad, tmp_path):
    config = PruneOptions(
        model=make_bundle(), teacher=make_bundle("roberta"), data=str(small_squad), out=tmp_path / "o"
    )
    with pytest.raises(OptionError, match=r"--hidden-weight 10.0: .*give --hidden-weight 0"):
        prune(config)
    assert list(tmp_path.iterdir()) == []


def test_a_model_recovers_against_a_teacher_with_another_tokenizer(make_bundle, small_squad, tmp_path):
    teacher = make_bundle("roberta")
    given = {"hidden_weight": 0, "data": str(small_squad), "cache": tmp_path / "cache"}
    bundle = prune(PruneOptions(model=make_bundle(), teacher=teacher, out=tmp_path / "o", **given))
    assert bundle.manifest.teacher.sha256 == open_bundle(teacher).sha256
    (folder,) = (tmp_path / "cache").iterdir()
    assert np.load(folder / "known.npy").all()


def test_where_gold_answers_are_the_whole_loss_no_teacher_runs(make_bundle, small_squad, tmp_path):
    given = {"alpha": 1, "hidden_weight": 0, "data": str(small_squad), "cache": tmp_path / "cache"}
    prune(PruneOptions(model=make_bundle(), out=tmp_path / "o", **given))
    assert not (tmp_path / "cache").exists()


def test_several_processes_are_refused_before_any_work(make_bundle, tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(OptionError, match="runs as one process, on one GPU where there is one; start it"):
        prune(PruneOptions(model=make_bundle(), out=tmp_path / "o"))


def test_what_the_model_holds_out_tunes_its_threshold_where_the_data_are_answers_on_other_texts(
    make_bundle, tmp_path, capsys
):
    def asked(context, *answers):
        return Example(context, "", context, "?", tuple(Answer(text, 0) for text in answers), not answers)

    held_out = [asked(f"Held out {n}", *["Held"] * (n % 3)) for n in range(101)]
    packed = gzip.compress(squad_json(held_out))
    parent = open_bundle(rebundle(make_bundle(), tmp_path / "parent", files={HELD_OUT: packed}))
    reference = FileReference("mine.json", "0" * 64)
    splits = DataSplits([asked("New", "New")], [], None, tmp_path / "mine.json", reference)
    assert with_held_out(splits, parent) == replace(splits, held_out=held_out)
    assert f"held out: 101 questions that {parent.path} holds out" in capsys.readouterr().err
    known = replace(splits, train=[*splits.train, asked("Held out 1", "Held")])
    assert with_held_out(known, parent) == replace(known, held_out=[*held_out[:1], *held_out[2:]])
    own = replace(splits, held_out=[asked("Own")])
    assert with_held_out(own, parent) is own
    for also in (held_out[1:3], [asked("No answer")]):  # then too few are left; one has no answer
        more = replace(splits, train=[*splits.train, *also])
        assert with_held_out(more, parent) is more


def test_the_record_of_a_threshold_stays_with_it(make_bundle, small_squad, small_squad_v2, tmp_path):
    tuning = {"n_questions": 200, "n_unanswerable": 60, "n_articles": 20, "resampled": "questions"}
    tuning |= {"data": data_reference(small_squad_v2), "null_threshold_interval": (-2.0, 0.0)}
    untold = copied(open_bundle(make_bundle()), tmp_path / "untold", null_threshold=-1.25)
    parent = rebundle(untold.path, tmp_path / "parent", tuning=tuning)
    pruned = prune(PruneOptions(model=parent, out=tmp_path / "pruned", data=str(small_squad), epochs=0.5))
    assert pruned.settings.null_threshold == -1.25
    assert pruned.is_tuned_on(file_sha256(small_squad_v2))
    assert "those of the model that it was trained from" in (pruned.path / "README.md").read_text()


def test_cards_tell_the_settings_of_each_method_from_those_of_the_other():
    for name, starts in METHODS_SETTINGS.items():
        options = [field.name for field in fields(METHODS[name].flags)]
        assert all(option.startswith(starts) for option in options)
    assert METHODS_SETTINGS.keys() == METHODS.keys()
