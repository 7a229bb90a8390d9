"""Bundles stored in fewer bytes: rows of integers, what opening them gives, and what may be done with
them.
"""

import json

import msgspec
import pytest
import torch
from comparisons import rebundle
from safetensors.torch import load_file

from compress.cast import CastOptions, cast
from qa.base.errors import BundleError, OptionError, SquadFormatError
from qa.bundles.bundle import open_bundle
from qa.data.datasets import data_reference
from qa.data.squad import read_squad
from qa.evaluate import EvaluateOptions, evaluate
from qa.models.model import QAModel
from qa.models.storage import SCALE, opened, stored


def test_rows_are_integers_of_their_own_scale():
    weight = torch.tensor(
        [[1.27, -0.634, 0.0], [0.0, 0.0, 0.0], [-254.0, 3.0, 126.9], *[[1.27, 0.0, 0.0]] * 5]
    )
    codes = torch.tensor([[3, -128]], dtype=torch.int8)
    found = stored({"w": weight, "b": weight[0], "small": weight[:7], "codes": codes}, "int8-weights")
    assert found["w"].tolist()[:3] == [[127, -63, 0], [0, 0, 0], [-127, 2, 63]]
    assert found["w" + SCALE].tolist()[:3] == pytest.approx([0.01, 1, 2])
    again = opened(found)
    assert again.keys() == {"w", "b", "small", "codes"}
    assert torch.equal(again["b"], weight[0])
    assert torch.equal(again["small"], weight[:7])
    assert torch.equal(again["codes"], found["codes"])
    assert torch.allclose(again["w"][:3], torch.tensor([[1.27, -0.63, 0], [0, 0, 0], [-254, 4, 126]]))


def test_columns_multiplied_before_rounding_come_back():
    """In the first row 1.27 * 2 and 0.5 * -0.2 are 2.54 and -0.1, in steps of 0.02 127 and -5."""
    weight = torch.tensor([[1.27, 0.5]] * 8)
    columns = torch.tensor([2.0, -0.2])
    found = stored({"w": weight}, "int8-weights", {"w": columns})
    assert found["w"].tolist() == [[127, -5]] * 8
    assert torch.allclose(opened(found)["w"], weight)


@pytest.mark.parametrize(("weights", "share", "largest"), [("fp16", 0.51, 0.01), ("int8-weights", 0.28, 0.1)])
@pytest.mark.parametrize("head", ["linear", "4l-gelu-skip"])
def test_a_stored_bundle_is_small_and_computes_as_its_parent(
    weights, share, largest, head, make_bundle, tmp_path
):
    parent = open_bundle(make_bundle(head=head))
    bundle = cast(CastOptions(parent.path, tmp_path / "stored", weights))
    assert bundle.weights.stat().st_size < share * parent.weights.stat().st_size
    assert (bundle.manifest.stage, bundle.precision) == (parent.manifest.stage, weights)
    assert bundle.manifest.parent.sha256 == parent.sha256
    ids = torch.randint(1000, 3000, (1, 40), generator=torch.Generator().manual_seed(0))
    inputs = ids, torch.ones_like(ids), torch.zeros_like(ids)
    with torch.no_grad():
        ours, theirs = (
            QAModel.from_pretrained(one.path)(*inputs)["start_logits"] for one in (bundle, parent)
        )
    assert 0 < (ours - theirs).abs().max() < largest, "of logits with a deviation of 1"
    assert all(p.dtype == torch.float32 for p in QAModel.from_pretrained(bundle.path).parameters())
    config = json.loads((bundle.path / "config.json").read_text())
    assert (config["model_type"] == "bert") == (head == "linear" and weights == "fp16"), (
        "transformers opens floats alone"
    )


def test_codes_of_a_word_table_are_kept(coded, tmp_path):
    bundle = cast(CastOptions(coded.path, tmp_path / "stored"))
    codes = "encoder.model.embeddings.word_embeddings.codes"
    assert torch.equal(load_file(bundle.weights)[codes], load_file(coded.weights)[codes])
    assert bundle.manifest.embeddings == "pq4"


def test_it_is_scored_with_its_own_threshold_where_questions_are_given(make_bundle, small_squad, tmp_path):
    bundle = cast(CastOptions(make_bundle(), tmp_path / "stored", eval_data=str(small_squad)))
    found = evaluate(EvaluateOptions(str(small_squad), bundle.path))
    assert (found.pop("mode"), found.pop("null_threshold")) == ("balanced", bundle.settings.null_threshold)
    for name in ("answered", "f1_interval", "resampled", "train_overlap"):
        del found[name]
    n_articles = len({e.title for e in read_squad(small_squad)})
    assert msgspec.to_builtins(bundle.manifest.scores) == found | {
        "data": data_reference(small_squad),
        "n_articles": n_articles,
    }


def test_a_value_that_the_precision_cannot_hold_is_refused_by_name():
    tensors = {"small": torch.ones(2), "large": torch.tensor([1, 1e5]), "n": torch.tensor([1])}
    assert stored(tensors, "fp32")["large"][1] == 1e5
    with pytest.raises(OptionError, match="large: has a value that is no finite number in fp16"):
        stored(tensors, "fp16")
    with pytest.raises(OptionError, match="bf16: PyTorch bundles store fp32, fp16, int8-weights only"):
        stored(tensors, "bf16")


def test_integers_trained_for_another_precision_are_said_to_be_lost(make_bundle, tmp_path, capsys):
    parent = rebundle(make_bundle(), tmp_path / "trained", grid={"precision": "int4"})
    bundle = cast(CastOptions(parent, tmp_path / "stored"))
    assert bundle.manifest.qat is None
    assert f"trained for int4; export int4 from {parent}" in " ".join(capsys.readouterr().err.split())


def test_what_cannot_be_stored_is_refused(make_bundle, tmp_path):
    with pytest.raises(OptionError, match=r"--weights must be one of fp16, int8-weights, got int8$"):
        CastOptions(make_bundle(), weights="int8")
    (tmp_path / "there").mkdir()
    with pytest.raises(BundleError, match="exists already"):
        cast(CastOptions(make_bundle(), tmp_path / "there"))
    with pytest.raises(SquadFormatError, match=r"missing\.json: no such file"):
        cast(CastOptions(make_bundle(), tmp_path / "stored", eval_data="missing.json"))
    assert not (tmp_path / "stored").exists()
