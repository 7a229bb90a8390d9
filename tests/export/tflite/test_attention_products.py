"""Attention in int8: rewritten weights compute the same, and the .tflite multiplies int8 where it should."""

import numpy as np
import pytest
import torch
from tflite_exports import LENGTHS, bare_model, compute
from torch import nn

from compress.qat.token_types import TypeStep
from export.calibration import calibration_windows
from export.tflite.attention_products import int8_attention
from export.tflite.attention_scales import head_groups, prepare_attention
from export.tflite.file import TFLiteFile
from export.tflite.positions import slice_positions
from export.tflite.quantize import quantize
from export.tflite.structure import read_structure
from qa.base.errors import ParityError
from qa.bundles.bundle import open_bundle
from qa.models.model import QAModel
from qa.text.features import collate


@pytest.fixture
def prepared(make_bundle):
    """A function: the model as it is, the rewritten one, its scales, and a window as inputs."""

    def prepare(**kind):
        bundle = open_bundle(make_bundle(**kind))
        models = [QAModel.from_pretrained(bundle.path).eval() for _ in range(2)]
        windows = calibration_windows(bundle, 3)
        inputs = {name: torch.from_numpy(array) for name, array in collate(windows[:1], 128).items()}
        return *models, prepare_attention(models[1], windows[1:]), inputs

    return prepare


def test_groups_hold_four_heads_at_most_and_none_alone():
    sizes = {n: [group.stop - group.start for group in head_groups(n)] for n in (1, 3, 4, 5, 9, 12)}
    assert sizes == {1: [1], 3: [3], 4: [4], 5: [3, 2], 9: [3, 3, 3], 12: [4, 4, 4]}
    assert head_groups(5) == [slice(0, 3), slice(3, 5)]


@pytest.mark.parametrize(
    ("kind", "groups"),
    [
        ({}, [4, 4]),
        ({"pruned": True}, [3]),
        ({"encoder": "albert"}, [4, 4]),
        ({"encoder": "distilbert"}, [4, 4]),
    ],
)
def test_rewritten_weights_compute_the_same(prepared, kind, groups):
    before, after, scales, inputs = prepared(**kind)
    assert [of.n_heads for of in scales] == groups
    assert not torch.equal(before.encoder.layer_parts()[0].key.bias, after.encoder.layer_parts()[0].key.bias)
    with torch.no_grad():
        wanted = before(**inputs)
        seen = after(**inputs)
    for name in wanted:
        assert (wanted[name] - seen[name]).abs().max() < 1e-4


def test_an_encoder_without_such_parts_stays_as_it_is(prepared):
    before, after, scales, _ = prepared(encoder="mobilebert", head="linear")
    assert scales == []
    assert all(torch.equal(a, b) for a, b in zip(before.parameters(), after.parameters(), strict=True))


def test_a_layer_that_int8_would_spoil_stays_float(make_bundle):
    bundle = open_bundle(make_bundle())
    model = QAModel.from_pretrained(bundle.path).eval()
    assert prepare_attention(model, calibration_windows(bundle, 2), largest_error=0.0) == [None, None]


def test_one_scale_holds_query_key_and_value(prepared):
    _, model, scales, inputs = prepared()
    seen = []
    parts = model.encoder.layer_parts()[0]
    for linear in (parts.query, parts.key, parts.value):
        linear.register_forward_hook(lambda module, args, output: seen.append(float(output.abs().max())))
    with torch.no_grad():
        model(**inputs)
    query, key, value = np.array(seen) / 127 / scales[0].projection
    assert 0.4 < query * 16**-0.5 < 2
    assert 0.4 < key < 2
    assert 0.4 < value < 2


def test_only_groups_with_scales_are_multiplied_in_int8(exported_tflite, bare_tflite, prepared):
    _, _, scales, _ = prepared()
    half, none, bare = (TFLiteFile(bare_tflite) for _ in range(3))
    int8_attention(half, [None, scales[1]])
    int8_attention(none, [None, None])
    assert read_structure(half).products == {"FLOAT32": 2, "INT8": 2}
    operators = read_structure(half).operators
    # The Linear's output and the softmax are quantized, the scores and the heads' output restored.
    assert (operators["QUANTIZE"], operators["DEQUANTIZE"]) == (2, 2)
    assert read_structure(bare).operators["TRANSPOSE"] - operators["TRANSPOSE"] == 1, "the key's"
    assert read_structure(none).products == {"FLOAT32": 4}


def test_other_groups_than_were_measured_are_refused(bare_tflite, prepared):
    scales = prepared()[2]
    for wrong, wanted in (([*scales, scales[0]], r"\[4, 4, 4\]"), (scales[:1], r"\[4\]")):
        with pytest.raises(ParityError, match=rf"groups of {wanted} heads; the converted graph has \[4, 4\]"):
            int8_attention(TFLiteFile(bare_tflite), wrong)


def test_sliced_positions_are_those_looked_up(bare_tflite):
    file = quantize(TFLiteFile(bare_tflite), "int8")
    int8 = file.to_bytes()
    slice_positions(file)
    assert read_structure(file).operators["EMBEDDING_LOOKUP"] == 1
    sliced = file.to_bytes()
    for length in LENGTHS:
        before = compute(int8, length)
        after = compute(sliced, length)
        assert all(np.abs(before[name] - after[name]).max() < 1e-5 for name in before)


def test_fp32_keeps_its_look_ups(exported_tflite):
    file = TFLiteFile(bare_model(exported_tflite("bert")[1]))
    before = read_structure(file).operators
    slice_positions(file)
    int8_attention(file, [])
    assert read_structure(file).operators == before


def test_a_type_step_gives_the_rows_of_both_types():
    table = nn.Embedding(2, 5)
    ids = torch.tensor([[0, 1, 1]])
    torch.testing.assert_close(TypeStep(table.weight.detach())(ids), table(ids))
