"""Layers in fp32: which Linears are theirs, and how many an allowed loss of F1 needs."""

import re
from collections import Counter
from dataclasses import replace

import pytest
from quick import quick
from tflite_exports import LENGTHS, MODELS, bare_model

from export.options import TFLiteOptions
from export.tflite.exporter import TFLiteExporter, export
from export.tflite.file import TFLiteFile
from export.tflite.sensitivity import MATRIX, Sensitivity, layer_of, linears_by_layer
from qa.base.errors import OptionError, ParityError
from qa.bundles.bundle import open_bundle
from qa.formats.package import fixed_signatures
from qa.models.model import QAModel
from qa.runtime.runtimes import load_runtime

FOUR_LAYER_HEAD = 4


@pytest.mark.parametrize("name", quick("bert", "pruned", rest=["distilbert"]))
def test_every_linear_belongs_to_a_layer(make_bundle, converted_once, name):
    model = QAModel.from_pretrained(make_bundle(**MODELS[name]))
    layers = linears_by_layer(TFLiteFile(converted_once(model, fixed_signatures(LENGTHS))))
    assert list(layers) == ["layer 0", "layer 1", "head"]
    assert len(layers["layer 0"]) == len(layers["layer 1"]) >= 4
    n_in_head = 1 if name == "distilbert" else FOUR_LAYER_HEAD
    assert len(layers["head"]) == n_in_head * len(LENGTHS), "for each signature"


def test_a_fused_operator_belongs_to_the_last_of_its_modules():
    first = "model/Encoder_encoder/BertLayer_0/LayerNorm_norm"
    assert layer_of(f"{first};;model/Encoder_encoder/BertLayer_1/Linear_query;3") == "layer 1"
    assert layer_of("model/Encoder_encoder/ElectraModel_model/Linear_embeddings_project;1") == "other"


@pytest.mark.system
def test_the_table_and_the_layers_that_a_loss_needs(
    make_bundle, small_squad, converted_once, tmp_path, capsys, monkeypatch
):
    """A random model in int4 is far from PyTorch; with a layer in fp32 it is nearer."""
    made = []
    with_layers = TFLiteExporter.with_layers
    monkeypatch.setattr(
        TFLiteExporter, "with_layers", lambda self, *options: made.append(1) or with_layers(self, *options)
    )
    options = {"quantize": "int4", "eval_data": str(small_squad), "min_equal_spans": 0.1, "lengths": LENGTHS}
    bundle = export(TFLiteOptions(make_bundle(), tmp_path / "out", **options, max_drop=100, sensitivity=True))
    printed = capsys.readouterr().out
    rows = re.findall(r"^(none|head|layer \d) +([\d.]+) +([\d.]+) +([\d.]+)$", printed, re.MULTILINE)
    assert rows[0][0] == "none"
    assert sorted(row[0] for row in rows) == ["head", "layer 0", "layer 1", "none"]
    left = [float(row[2]) for row in rows[1:]]
    assert left == sorted(left)
    assert left[0] < float(rows[0][2])
    assert all(float(row[3]) > float(rows[0][3]) for row in rows[1:])
    assert "with no layer in fp32" in printed
    assert len(made) == len(rows) + 1, "each file once, and the one that is kept"
    assert bundle.manifest.structure.fp32_layers == []


class Losing(Sensitivity):
    """F1 falls by 9.5 points, and by 3 less for each of the three layers in fp32."""

    def scored(self, fp32_layers):
        self.parent_f1 = 80.0
        return replace(super().scored(fp32_layers), f1=70.5 + 3 * len(fp32_layers))


def test_layers_go_back_to_fp32_until_the_loss_holds(
    make_bundle, small_squad, converted_once, tmp_path, monkeypatch
):
    monkeypatch.setattr("export.tflite.exporter.Sensitivity", Losing)
    options = {"model": make_bundle(), "quantize": "int8", "eval_data": str(small_squad), "lengths": LENGTHS}
    bundle = export(TFLiteOptions(**options, out=tmp_path / "out", max_drop=4))
    left = bundle.manifest.structure.fp32_layers
    assert len(left) == 2
    fp32 = converted_once(QAModel.from_pretrained(make_bundle()), fixed_signatures(LENGTHS))
    n_linears = {layer: len(names) for layer, names in linears_by_layer(TFLiteFile(fp32)).items()}
    stored = Counter(w.type for w in TFLiteFile(bare_model(bundle)).weights() if w.operator == MATRIX)
    n_left = sum(n_linears[layer] for layer in left)
    assert stored == {"FLOAT32": n_left, "INT8": sum(n_linears.values()) - n_left}
    load_runtime(open_bundle(bundle.path))
    with pytest.raises(ParityError, match=r"--max-drop 0\.1: F1 falls by 0\.50 points even"):
        export(TFLiteOptions(**options, out=tmp_path / "other", max_drop=0.1))
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    "options",
    [
        {"max_drop": 0.5, "quantize": "int8"},
        {"max_drop": 0.5, "eval_data": "embedded"},
        {"sensitivity": True, "quantize": "int8"},
    ],
)
def test_a_loss_needs_questions_and_a_precision(options):
    flag = "--max-drop" if "max_drop" in options else "--sensitivity"
    with pytest.raises(
        OptionError, match=f"{flag} needs --quantize int8 or int4, and questions in --eval-data"
    ):
        TFLiteOptions(**options)
