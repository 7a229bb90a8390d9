"""Quantization-aware training: it is what LiteRT computes, what is trained is what is stored, and rounding makes up
for its errors."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from ai_edge_litert.interpreter import Interpreter
from comparisons import UNTRAINED_SPANS
from quick import quick
from stops import stopped_at
from torch import nn
from transformers import BertConfig

from compress.cast import CastOptions
from compress.cast import cast as store
from compress.options import QATOptions
from compress.qat.fake_quant import (
    FakeQuantizer,
    bits_of,
    fake_quantize_per_token,
    integers,
    norms_before,
    trained_integers,
)
from compress.qat.gptq import gptq_round, input_groups, round_with_feedback
from compress.qat.train import train
from distill.making import work_folder
from distill.training.batches import model_inputs, to_tensors
from distill.training.checkpoint import CHECKPOINT
from export.options import TFLiteOptions
from export.tflite.exporter import export
from export.tflite.file import TFLiteFile
from export.tflite.integers import check_integers, stored_integers
from export.tflite.passes.compact import compact
from export.tflite.quiet import quietly
from qa.base.errors import OptionError, ParityError, SquadFormatError, UnsupportedExport
from qa.models.encoders import Encoder
from qa.models.model import QAModel

pytestmark = pytest.mark.usefixtures("fresh_accelerate")


@pytest.fixture
def model(make_bundle):
    return QAModel.from_pretrained(make_bundle())


def logits(model, windows):
    with torch.no_grad():
        output = model(**model_inputs(to_tensors(windows)))
    return torch.stack([output["start_logits"], output["end_logits"]])


def test_a_token_is_rounded_over_a_range_with_zero():
    """[0, 255] and [-255, 0] have scale 1; [-1, 254] too, and its zero point is an integer; the others have
    none."""
    states = torch.tensor([[0.4, 255, 100.6], [-255, -0.6, -3.2], [-1, 254, 0.5], [0, 0, 0], [10, 10, 5]])
    wanted = [[0, 255, 101], [-255, -1, -3], [-1, 254, 0], [0, 0, 0]]
    assert fake_quantize_per_token(states)[:4].tolist() == wanted
    assert torch.allclose(fake_quantize_per_token(states)[4], torch.tensor([10, 10, 128 * 10 / 255]))


def test_a_model_that_rounds_can_be_compiled(model, windows):
    FakeQuantizer(model, "int8", norms_before(model), model.encoder.words)
    expected = logits(model, windows)
    assert torch.equal(logits(torch.compile(model, backend="eager", fullgraph=True), windows), expected)


@pytest.mark.parametrize("precision", ["int8", "int4"])
def test_a_linear_computes_what_litert_computes(precision):
    """Up to float32 rounding, for inputs of all signs and sizes."""
    import litert_torch
    from ai_edge_quantizer import qtyping
    from ai_edge_quantizer.quantizer import Quantizer

    torch.manual_seed(0)
    states = torch.randn(24, 96) * torch.logspace(-2, 2, 24)[:, None] + torch.linspace(-3, 3, 24)[:, None]
    pair = nn.ModuleList([nn.Embedding(100, 96), nn.Linear(96, 40)])
    linear = pair[1]
    quantizer = FakeQuantizer(pair, precision, {}, pair[0])
    with torch.no_grad():
        ours = linear(states)
        exact = linear.weight @ states.T + linear.bias[:, None]
    quantizer.convert()
    with quietly():
        job = Quantizer(bytearray(litert_torch.convert(linear, (states,)).model_content()))
        bits = int(precision.removeprefix("int"))
        job.add_dynamic_config(".*", qtyping.TFLOperationName.FULLY_CONNECTED, num_bits=bits)
        file = bytes(job.quantize().quantized_model)
    assert np.array_equal(
        stored_integers(TFLiteFile(file))[0], integers(linear.weight.detach(), bits, "linear").numpy()
    )
    interpreter = Interpreter(model_content=file, num_threads=1)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], states.numpy())
    interpreter.invoke()
    theirs = torch.from_numpy(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
    relative = (theirs - ours).abs().amax(1) / ours.abs().amax(1)
    assert relative.max() < 1e-5
    assert ((exact.T - ours).abs().amax(1) / ours.abs().amax(1)).max() > 1e-3, "rounding activations is seen"


def test_int4_is_for_linears_and_the_word_table(model):
    bits = bits_of(model, "int4", model.encoder.words)
    names = {name: bits[module] for name, module in model.named_modules() if module in bits}
    assert {name for name, n in names.items() if n == 8} == {"encoder.model.embeddings.position_embeddings"}
    assert "encoder.model.embeddings.token_type_embeddings" not in names, "two of them are floats in a file"
    assert set(bits_of(model, "int8", model.encoder.words).values()) == {8}


@pytest.mark.parametrize("precision", ["int8", "int4"])
def test_gradients_pass_rounding_and_those_of_clipped_weights_stop(precision):
    torch.manual_seed(0)
    pair = nn.ModuleList([nn.Embedding(30, 8), nn.Linear(16, 4)])
    part = FakeQuantizer(pair, precision, {}, pair[0]).linears["1"]
    states = torch.randn(5, 16, requires_grad=True)
    assert (part.quantizer.clip is None) == (precision == "int8")
    largest = part.original.detach().abs().amax(1, keepdim=True)
    clipped = (part.original.detach().abs() == largest) & (precision == "int4")
    if part.quantizer.clip is not None:
        part.quantizer.clip.data = 0.999 * largest
    pair[1](states).sum().backward()
    assert torch.allclose(states.grad, pair[1].weight.detach().sum(0).expand(5, -1), atol=1e-5)
    rounded = fake_quantize_per_token(states.detach()).sum(0)
    assert torch.allclose(part.original.grad, rounded * ~clipped, atol=1e-5)


def test_the_gradient_of_a_clip_is_its_derivative_where_nothing_rounds_anew():
    """Clipped weights move with the clip by 1; a rounded one by (integer - weight / scale) / 7, as if it did
    not round."""
    pair = nn.ModuleList([nn.Embedding(30, 8), nn.Linear(3, 1, bias=False)])
    quantizer = FakeQuantizer(pair, "int4", {}, pair[0]).linears["1"]
    with torch.no_grad():
        quantizer.original.copy_(torch.tensor([[9.0, -8, 2.4]]))
        quantizer.quantizer.clip.fill_(7)
    pair[1].weight.sum().backward()
    assert quantizer.quantizer.clip.grad.item() == pytest.approx(1 - 1 + (2 - 2.4) / 7)
    assert quantizer.original.grad.tolist() == [[0, 0, 1]]


def test_settled_weights_give_the_same_model_with_float_activations(model, windows):
    quantizer = FakeQuantizer(model, "int4", norms_before(model), model.encoder.words)
    before = logits(model, windows)
    weights = {name: part.linear.weight.detach().clone() for name, part in quantizer.linears.items()}
    words = model.encoder.model.embeddings.word_embeddings(torch.arange(2000)).detach()
    names = set(QAModel.from_config(model.config()).state_dict())
    quantizer.convert()
    assert set(model.state_dict()) == names
    assert all(torch.equal(model.get_submodule(name).weight, weight) for name, weight in weights.items())
    assert torch.equal(model.encoder.model.embeddings.word_embeddings.weight[:2000], words)
    difference = (logits(model, windows) - before).abs().mean()
    assert 0 < difference < 0.05
    again = FakeQuantizer(model, "int4", norms_before(model), model.encoder.words)
    assert all(
        torch.allclose(part.linear.weight, weights[name], atol=1e-6) for name, part in again.linears.items()
    )
    assert (logits(model, windows) - before).abs().mean() < 0.1 * difference, (
        "a float's last bit may turn an integer"
    )


def test_weights_that_are_not_rounded_are_refused():
    weight = torch.tensor([[7.0, 2, -3], [0, 0, 0], [0.5, 3.5, -1]])
    assert integers(weight, 4, "w").tolist() == [[7, 2, -3], [0, 0, 0], [1, 7, -2]]
    with pytest.raises(ParityError, match=r"w: weights are 0\.4 steps away from the int4 values"):
        integers(torch.tensor([[7.0, 2.4]]), 4, "w")


def test_error_feedback_has_less_error_on_what_it_saw():
    """Against plain rounding, for inputs that depend on each other; where they do not, it is plain
    rounding.
    """
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(12, 64, generator=generator)
    scale = weight.abs().amax(1, keepdim=True) / 7
    inputs = torch.randn(500, 8, generator=generator) @ torch.randn(8, 64, generator=generator)
    moment = (inputs.T @ inputs).double() + torch.eye(64)

    def error(values):
        rounded = (values / scale).round().clamp(-7, 7) * scale
        return (inputs @ (rounded - weight).T).square().mean()

    assert error(gptq_round(weight, moment, scale, 7)) < 0.2 * error(weight)
    assert torch.allclose(gptq_round(weight, torch.eye(64).double(), scale, 7), weight)


def test_linears_that_share_an_input_are_taken_together(model, windows):
    groups = input_groups(model, windows[0])
    assert [n for _, n in groups] == [1] * len(groups)
    assert [name.rsplit(".", 1)[-1] for name in groups[0][0]] == ["query", "key", "value"]
    assert len({name for names, _ in groups for name in names}) == sum(
        isinstance(m, nn.Linear) for m in model.modules()
    )


def test_a_linear_with_more_inputs_is_taken_alone(make_bundle, windows):
    """The pointer's cell runs for start and end, on what its query sees once first."""
    model = QAModel.from_pretrained(make_bundle("bert", "pointer"))
    of_cell = [(names, n) for names, n in input_groups(model, windows[0]) if any("cell" in x for x in names)]
    assert all(len(names) == 1 for names, n in of_cell if n > 1)
    assert not any("head.query" in names and n > 1 for names, n in of_cell)


def test_words_are_words_in_a_vocabulary_smaller_than_the_positions():
    encoder = Encoder(BertConfig(vocab_size=64, hidden_size=16, num_hidden_layers=1, num_attention_heads=2))
    model = QAModel(encoder, "linear")
    bits = bits_of(model, "int4", model.encoder.words)
    assert bits[model.encoder.words] == 4
    assert bits[encoder.model.embeddings.position_embeddings] == 8


def copy_of(model):
    copy = QAModel.from_config(model.config()).eval()
    copy.load_state_dict(model.state_dict())
    return copy


def test_rounding_with_feedback_comes_nearer_to_the_model(model, windows):
    reference = copy_of(model)
    quantizer = FakeQuantizer(model, "int4", norms_before(model), model.encoder.words)
    wanted = logits(reference, windows)
    plain = logits(model, windows)

    def largest():
        parts = quantizer.linears.values()
        return torch.cat([part.quantizer.scaled(part.linear.weight).abs().amax(1) for part in parts])

    scales = largest()
    round_with_feedback(model, quantizer, reference, windows)
    assert (logits(model, windows) - wanted).square().mean() < 0.5 * (plain - wanted).square().mean()
    assert torch.allclose(largest(), scales, rtol=1e-5)


def test_error_feedback_leaves_rows_of_zeros_and_counts_no_padding(model, windows, monkeypatch):
    pruned = model.encoder.layer_parts()[0].down
    with torch.no_grad():
        pruned.weight[3] = 0
    reference = copy_of(model)
    quantizer = FakeQuantizer(model, "int8", norms_before(model), model.encoder.words)
    seen = []
    forward = QAModel.forward

    def watched(self, *args, **inputs):
        seen.append(inputs)
        return forward(self, *args, **inputs)

    monkeypatch.setattr(QAModel, "forward", watched)
    round_with_feedback(model, quantizer, reference, windows[:2])
    assert all(inputs["attention_mask"].all() for inputs in seen)
    assert not pruned.weight[3].any()


def test_a_linear_with_constant_inputs_keeps_plain_rounding(model, windows):
    parts = model.encoder.layer_parts()[0]
    with torch.no_grad():
        model.encoder.layers[0].attention.output.LayerNorm.weight.zero_()
    reference = copy_of(model)
    quantizer = FakeQuantizer(model, "int8", norms_before(model), model.encoder.words)
    plain = parts.up.weight.detach().clone()
    round_with_feedback(model, quantizer, reference, windows[:2])
    assert torch.equal(parts.up.weight, plain)
    assert all(parameter.isfinite().all() for parameter in model.parameters())


def test_a_channel_that_a_norm_all_but_removes_is_rounded_too(model, windows):
    norm = model.encoder.layers[0].attention.output.LayerNorm
    with torch.no_grad():
        norm.weight[3], norm.bias[3] = 1e-4, 0.7
    reference = copy_of(model)
    quantizer = FakeQuantizer(model, "int8", norms_before(model), model.encoder.words)
    up = model.encoder.layer_parts()[0].up
    before = up.weight.detach().clone()
    round_with_feedback(model, quantizer, reference, windows[:2])
    assert not torch.equal(up.weight, before)
    assert all(parameter.isfinite().all() for parameter in model.parameters())


def options_of(make_bundle, small_squad, folder):
    return QATOptions(
        model=make_bundle(),
        out=folder / "qat",
        quantize="int4",
        data=str(small_squad),
        calibration_windows=4,
        epochs=0.5,
        learning_rate=1e-3,
        batch_size=4,
        precision="fp32",
        cache=folder / "cache",
    )


@pytest.fixture
def config(make_bundle, small_squad, tmp_path):
    return options_of(make_bundle, small_squad, tmp_path)


@pytest.fixture(scope="module")
def trained(make_bundle, small_squad, tmp_path_factory):
    """A function that trains the tiny BERT as `config` says, in a precision, once."""
    config = options_of(make_bundle, small_squad, tmp_path_factory.mktemp("trained"))
    return cache(
        lambda precision: train(replace(config, out=config.out.with_name(precision), quantize=precision))
    )


def to_tflite(bundle, out, quantize, **options):
    options |= {"lengths": (128,), "min_equal_spans": UNTRAINED_SPANS.get(quantize)}
    return export(TFLiteOptions(bundle.path, out, quantize=quantize, **options))


@pytest.mark.parametrize(("precision", "other"), quick(("int4", "int8"), rest=[("int8", "fp16")]))
def test_the_export_stores_the_integers_that_were_trained(make_bundle, trained, precision, other, tmp_path):
    parent = QAModel.from_pretrained(make_bundle())
    bundle = trained(precision)
    made = bundle.manifest
    assert (made.stage, made.qat.precision, made.precision) == ("quantize", precision, "fp32")
    model = QAModel.from_pretrained(bundle.path)
    linears, words, others = trained_integers(model, precision)
    steps = 7 if precision == "int4" else 127
    assert all((matrix.abs().amax(1) == steps).all() for matrix in [*linears, words])
    assert all((matrix.abs().amax(1) == 127).all() for matrix in others)
    biases = [m.encoder.layer_parts()[0].query.bias for m in (model, parent)]
    assert not torch.equal(*biases), "it learnt"
    exported = to_tflite(bundle, tmp_path / "tflite", precision)
    assert exported.manifest.ancestors[0].qat.precision == precision
    assert exported.manifest.parity.relative_difference < 0.05, "nothing but activations is rounded"
    assert f"quantization-aware training in {precision}" in (bundle.path / "README.md").read_text()
    # A file in another precision need not have these integers.
    check_integers(bundle, model.encoder.words, TFLiteFile(exported.weights.read_bytes()), other)


def int8_of(bundle):
    linears, words, others = trained_integers(QAModel.from_pretrained(bundle.path), "int8")
    return [*linears, words, *others]


@pytest.mark.system
def test_an_export_may_give_the_embedding_table_another_form(trained, tmp_path):
    exported = to_tflite(trained("int4"), tmp_path / "tflite", "int4", embeddings="int8")
    assert exported.weights.stat().st_size > 0


@pytest.mark.system
def test_what_is_stored_in_int8_exports_to_the_same_integers(config, tmp_path):
    bundle = train(replace(config, quantize="int8", epochs=0))
    stored = store(CastOptions(bundle.path, tmp_path / "stored"))
    assert stored.manifest.qat.precision == "int8"
    assert stored.weights.stat().st_size < 0.3 * bundle.weights.stat().st_size
    assert all(torch.equal(*pair) for pair in zip(int8_of(bundle), int8_of(stored), strict=True))
    to_tflite(stored, tmp_path / "tflite", "int8")  # which compares the file with these integers
    assert store(CastOptions(bundle.path, tmp_path / "half", "fp16")).manifest.qat is None


def test_a_checkpoint_that_is_not_gone_on_with_leaves_rounding_as_it_is(config, tmp_path):
    """Without epochs there is nothing to go on with, whatever a stopped run of the same name left."""
    straight = train(replace(config, epochs=0))
    again = replace(config, out=tmp_path / "again", epochs=0, resume=True)
    checkpoint = work_folder(again.out) / CHECKPOINT
    checkpoint.parent.mkdir(parents=True)
    checkpoint.write_bytes(b"of a run with epochs")
    assert train(again).manifest.files["model.safetensors"] == straight.manifest.files["model.safetensors"]


@pytest.mark.parametrize("change", [{"epochs": 0}, {"alpha": 1, "hidden_weight": 0}])
def test_where_no_teacher_runs_none_is_recorded_or_taken(config, change, make_bundle, small_squad, tmp_path):
    config = replace(config, **change)
    bundle = train(config)
    assert bundle.manifest.teacher is None
    assert train(replace(config, resume=True)).sha256 == bundle.sha256
    other = replace(config, out=tmp_path / "other")
    teacher = make_bundle(seed=1)
    with pytest.raises(OptionError, match=rf"--teacher {teacher}: "):
        train(replace(other, teacher=teacher))
    unlabelled = tmp_path / "unlabelled.json"
    unlabelled.write_text(small_squad.read_text().replace('"is_impossible": false', '"unlabelled": true'))
    with pytest.raises(SquadFormatError, match="unlabelled"):
        train(replace(other, data=str(unlabelled)))
    assert not other.out.exists()


def test_a_checkpoint_of_another_model_is_refused(config, make_bundle):
    with stopped_at(1):
        train(replace(config, teacher=make_bundle()))
    with pytest.raises(OptionError, match="made with other options, data or model"):
        train(replace(config, teacher=make_bundle(), model=make_bundle(seed=1), resume=True))


def test_an_export_with_other_integers_is_not_kept(trained, monkeypatch, tmp_path):
    def spoilt(file):
        compact(file)
        table = max((weight for weight in file.weights() if weight.type == "INT8"), key=lambda w: w.shape[0])
        table.data[0] ^= 1

    monkeypatch.setattr("export.tflite.exporter.compact", spoilt)
    with pytest.raises(ParityError, match=r"was trained for int4, but .* it has 1 others"):
        to_tflite(trained("int4"), tmp_path / "tflite", "int4")
    assert not (tmp_path / "tflite").exists()


def test_a_stopped_run_goes_on_to_the_same_weights(config, trained, tmp_path):
    straight = trained(config.quantize)
    again = replace(config, out=tmp_path / "again")
    with stopped_at(2):
        train(again)
    assert not again.out.exists()
    resumed = train(replace(again, resume=True))
    assert resumed.manifest.files["model.safetensors"] == straight.manifest.files["model.safetensors"]
    assert train(replace(again, resume=True)).sha256 == resumed.sha256


def test_what_cannot_be_is_said_first(config, make_bundle, make_whole_bundle):
    for change, says in (
        ({"quantize": "fp16"}, "--quantize must be one of int8, int4, got fp16"),
        ({"calibration_windows": -1}, "--calibration-windows must be at least 0, got -1"),
        ({"epochs": -1.0}, "--epochs must be above 0"),
        ({"epochs": 0, "learning_rate": 7}, r"--learning-rate must be in \(0, 1\)"),
    ):
        with pytest.raises(OptionError, match=says):
            replace(config, **change)
    with pytest.raises(UnsupportedExport, match="its layers share their weights"):
        train(replace(config, model=make_bundle("albert", "linear")))
    with pytest.raises(UnsupportedExport, match="tables of characters"):
        train(replace(config, model=make_whole_bundle("qanet").path))
    with pytest.raises(UnsupportedExport, match="TFLite cannot express a bidaf model"):
        train(replace(config, model=make_whole_bundle("bidaf").path))
