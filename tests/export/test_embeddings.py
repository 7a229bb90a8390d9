"""The word table in files: each form's arithmetic, what TFLite and ONNX files hold of it, and what is
refused."""

import gzip

import numpy as np
import onnx
import pytest
import torch
from comparisons import rebundle
from onnx import numpy_helper
from quick import quick
from tflite_exports import LENGTHS
from torch import nn

from compress.embeddings import EmbeddingsOptions
from compress.embeddings import quantize_embeddings as compress
from compress.product_quantization import token_counts
from compress.scales import least_squares_bounds
from export.embeddings import Int8Codebooks, IntegerRows, stored_words, with_words, word_tables
from export.onnx.exporter import export as export_onnx
from export.options import OnnxOptions, TFLiteOptions
from export.parity import real_windows
from export.tflite.exporter import export as export_tflite
from export.tflite.file import TFLiteFile
from export.tflite.structure import read_structure
from qa.base.errors import OptionError
from qa.bundles.bundle import CARD, HELD_OUT, open_bundle
from qa.bundles.card import EMBEDDINGS
from qa.data.datasets import resolve
from qa.data.squad import read_squad, squad_json
from qa.formats.precision import ROW_BITS, TABLE_FORMS
from qa.models.model import QAModel
from qa.models.quantized_embedding import ProductQuantizedEmbedding

UNTRAINED = 0.3  # share of best spans that few bits leave to a random model

IDS = torch.tensor([[3, 0, 7, 3]])


@pytest.fixture(scope="module")
def table():
    weight = np.random.default_rng(0).standard_t(4, (20, 96)).astype(np.float32)
    weight[7] = 0
    return weight


# The arithmetic


def test_int8_rows_are_within_half_a_step(table):
    rows = IntegerRows(table, 8)
    error = np.abs(rows(IDS).numpy() - table[IDS])
    assert (error <= rows.get_buffer("scales").numpy()[IDS] * 0.5001).all()
    largest = np.abs(rows.get_buffer("table").numpy().astype(int)).max(axis=1)
    assert np.array_equal(largest, np.where(table.any(axis=1), 127, 0))


def test_int4_rows_are_the_integers_of_least_squared_error(table):
    bounds = least_squares_bounds(table, 4)
    scales = np.where(bounds > 0, bounds / 7, 1)
    wanted = np.clip(np.round(table / scales), -7, 7)
    rows = IntegerRows(table, 4)
    assert rows.get_buffer("table").shape == (20, 48)
    assert np.array_equal(rows.integers(rows.get_buffer("table")).numpy(), wanted)
    assert np.allclose(rows(IDS).numpy(), (wanted * scales)[IDS], rtol=1e-6)


def test_every_pair_of_int4_values_fits_a_byte():
    high, low = np.meshgrid(np.arange(-7, 8), np.arange(-7, 8))
    pairs = np.stack([high.ravel(), low.ravel()], axis=1).astype(np.float32)
    # 7 in each row: its scale is 1.
    rows = IntegerRows(np.concatenate([pairs, np.full_like(pairs, 7)], axis=1)[:, [0, 2, 1, 3]], 4)
    assert np.array_equal(rows.integers(rows.get_buffer("table")).numpy()[:, [0, 2]], pairs)


def test_int8_codebooks_are_within_half_a_step():
    words = ProductQuantizedEmbedding(20, 7, "pq3")
    nn.init.normal_(words.codebooks)
    words.get_buffer("codes").copy_(torch.randint(-128, 128, (20, 3)))
    stored = Int8Codebooks(words)
    with torch.no_grad():
        error = (stored(IDS) - words(IDS)).abs()
    assert stored(IDS).shape == (1, 4, 7)
    assert 0 < error.max() < 4.5 / 127 / 2
    assert (error <= 0.5001 * stored.get_buffer("scales")).all()


# What is asked for


def test_the_form_is_the_precisions_the_models_or_the_one_that_is_asked_for(make_bundle):
    models = {form: QAModel.from_pretrained(make_bundle()) for form in (None, "pq4")}
    models["pq4"].encoder.set_words(ProductQuantizedEmbedding(30522, 64, "pq4"))

    def stored(precision, form, compressed=None):
        words, stored_form = stored_words(models[compressed], precision, form, lambda: np.ones(30522))
        return stored_form, type(words)

    assert stored("fp32", None) == (None, nn.Embedding)
    assert stored("int8-weights", None) == (None, nn.Embedding)
    assert stored("int8", None) == ("int8", IntegerRows)
    assert stored("int4", None) == ("int4", IntegerRows)
    assert stored("int4", "int8") == ("int8", IntegerRows)
    assert stored("int8", None, "pq4") == ("pq4", Int8Codebooks)
    assert stored("int8", "pq4", "pq4") == ("pq4", Int8Codebooks)
    assert stored("int8-weights", None, "pq4") == ("pq4", Int8Codebooks)
    assert stored("fp16", None, "pq4") == ("pq4", ProductQuantizedEmbedding)
    for form in ("int8", "int4", "pq3"):
        with pytest.raises(OptionError, match="pq4 already"):
            stored("int8", form, "pq4")


@pytest.mark.parametrize(
    ("quantize", "form"), [("int8", "pq5"), ("fp32", "pq3"), ("fp16", "int8"), ("int8-weights", "int4")]
)
def test_a_form_that_cannot_be_is_refused_at_once(quantize, form):
    for config in (TFLiteOptions, OnnxOptions):
        with pytest.raises(OptionError, match=f"--embeddings.*{form}"):
            config(quantize=quantize, embeddings=form)


# Files


@pytest.fixture(scope="module")
def compressed(make_bundle, tmp_path_factory):
    """The tiny BERT with a table in pq3."""
    return compress(
        EmbeddingsOptions(model=make_bundle(), out=tmp_path_factory.mktemp("compressed") / "tiny-pq3")
    )


def words_as_stored(parent, form):
    """The table of an int8 file. Codes depend on the tokens counted, so a product-quantized one has only the
    shapes."""
    if form not in ROW_BITS:
        return Int8Codebooks(ProductQuantizedEmbedding(30522, 64, form))
    return stored_words(QAModel.from_pretrained(parent), "int8", form, lambda: None)[0]


def test_a_model_with_other_words_shares_all_other_weights(make_bundle):
    model = QAModel.from_pretrained(make_bundle())
    before = model.encoder.words
    words, _ = stored_words(model, "int8", None, lambda: np.ones(30522))
    other = with_words(model, words)
    assert model.encoder.words is before
    assert other.encoder.words is words
    parts = [m.encoder.layer_parts()[0].query.weight for m in (model, other)]
    assert parts[0] is parts[1]


@pytest.mark.parametrize(
    "form", quick(*TABLE_FORMS[:-2], rest=TABLE_FORMS[-2:])
)  # ONNX shows product quantization
def test_a_tflite_file_holds_the_table_in_its_form(make_bundle, exported_tflite, tmp_path, form):
    lengths = LENGTHS if form in ROW_BITS else LENGTHS[-1:]
    options = {"quantize": "int8", "embeddings": form, "min_equal_spans": UNTRAINED, "lengths": lengths}
    if form == "int8":  # the default
        bundle = exported_tflite("bert", "int8")[1]
    else:
        bundle = export_tflite(TFLiteOptions(model=make_bundle(), out=tmp_path / "out", **options))
    assert bundle.manifest.embeddings == form
    assert f"| word embeddings | {EMBEDDINGS[form]} |" in (bundle.path / CARD).read_text()
    file = bundle.weights.read_bytes()
    words = words_as_stored(make_bundle(), form)
    shapes = {table[0] for table in read_structure(TFLiteFile(file)).tables}
    assert {tuple(table.shape) for table in word_tables(words)} <= shapes
    if form in ROW_BITS:
        assert all(file.count(table.numpy().tobytes()) == 1 for table in word_tables(words)), (
            "once for all signatures"
        )


@pytest.mark.parametrize("form", quick(*TABLE_FORMS[:-1], rest=TABLE_FORMS[-1:]))  # one product quantization
def test_an_onnx_file_holds_the_table_in_its_form(make_bundle, export_once, tmp_path, form):
    options = {"quantize": "int8", "embeddings": form, "min_equal_spans": UNTRAINED}
    if form == "int8":  # the default
        bundle = export_once("onnx", "int8")[1]
    else:
        bundle = export_onnx(OnnxOptions(model=make_bundle(), out=tmp_path / "out", **options))
    assert bundle.manifest.embeddings == form
    graph = onnx.load(bundle.weights)
    assert {opset.domain for opset in graph.opset_import} == {""}, "standard operators alone"
    arrays = [numpy_helper.to_array(tensor) for tensor in graph.graph.initializer]
    for table in word_tables(words_as_stored(make_bundle(), form)):
        form_of_table = (tuple(table.shape), str(table.dtype)[6:])
        same = [array for array in arrays if (array.shape, str(array.dtype)) == form_of_table]
        assert same, f"no {table.dtype} {tuple(table.shape)}"
        if form in ROW_BITS:
            assert any(np.array_equal(array, table.numpy()) for array in same)


@pytest.mark.parametrize("flag", quick("int8", rest=["fp32", "fp16", "int8-weights", "int4"]))
def test_a_compressed_model_is_exported_in_every_precision(compressed, tmp_path, flag):
    options = {"model": compressed.path, "quantize": flag, "min_equal_spans": UNTRAINED}
    bundles = [export_tflite(TFLiteOptions(**options, out=tmp_path / "tflite", lengths=LENGTHS[-1:]))]
    if flag != "int4":
        bundles.append(export_onnx(OnnxOptions(**options, out=tmp_path / "onnx")))
    codes = QAModel.from_pretrained(compressed.path).encoder.words.get_buffer("codes").numpy()
    for bundle in bundles:
        assert bundle.manifest.embeddings == "pq3"
        assert bundle.weights.read_bytes().count(codes.tobytes()) == 1


def test_a_contradicting_flag_leaves_nothing(compressed, tmp_path):
    with pytest.raises(OptionError, match="pq3 already"):
        export_onnx(
            OnnxOptions(model=compressed.path, out=tmp_path / "out", quantize="int8", embeddings="pq4")
        )
    assert list(tmp_path.iterdir()) == []


# The stage


def test_the_stage_makes_a_bundle_that_says_what_it_is(compressed, make_bundle):
    parent = open_bundle(make_bundle())
    assert (compressed.manifest.stage, compressed.precision, compressed.manifest.embeddings) == (
        "compress",
        "fp32",
        "pq3",
    )
    assert compressed.manifest.parameters == parent.manifest.parameters
    assert compressed.manifest.counted_data.dataset == "embedded"
    assert compressed.manifest.ancestors[0].sha256 == parent.sha256
    card = (compressed.path / CARD).read_text()
    assert "product-quantized, a byte for each 3 values" in card
    assert compressed.weights.stat().st_size < 0.5 * parent.weights.stat().st_size
    with pytest.raises(OptionError, match="--embeddings must be one of pq3, pq4, got int8"):
        EmbeddingsOptions(model=parent.path, embeddings="int8")


def test_words_are_counted_in_the_questions_that_a_model_holds_out(make_bundle, tmp_path):
    source = open_bundle(make_bundle())
    held_out = read_squad(resolve("embedded", "train"))[:3]
    parent = rebundle(source.path, tmp_path / "parent", files={HELD_OUT: gzip.compress(squad_json(held_out))})
    made = compress(EmbeddingsOptions(model=parent, out=tmp_path / "pq4", embeddings="pq4"))
    assert made.manifest.counted_data.name == HELD_OUT
    counts = token_counts(source, 30522, held_out)
    windows = real_windows(source, examples=held_out)
    ids = np.concatenate([window.input_ids for window in windows])
    assert (counts == np.bincount(ids, minlength=30522)).all()
    assert {bytes(w.input_ids) for w in windows}.isdisjoint(bytes(w.input_ids) for w in real_windows(source))
