"""The record of what a model was trained on: its hashes, its size, who inherits it, and the overlap it finds."""

import gzip
import json

import numpy as np
import pytest
from comparisons import UNTRAINED_SPANS, rebundle, write_examples

from distill.options import DistillOptions, FinetuneOptions
from distill.save import derive
from distill.train_on_gold import finetune
from distill.train_on_teacher import distil
from export.onnx.exporter import export
from export.options import OnnxOptions
from qa.base.errors import BundleError
from qa.base.files import file_sha256
from qa.bundles.bundle import HELD_OUT, TRAINED_ON, open_bundle
from qa.bundles.trained_on import TrainedOn, passage_hash, train_overlap
from qa.data.datasets import resolve
from qa.data.squad import Example, read_squad
from qa.models.model import QAModel


def asked(*contexts):
    return [Example(str(i), "", context, "Who?", (), True) for i, context in enumerate(contexts)]


def test_a_passage_is_known_by_its_words():
    # printf 'who stayed in orbit' | b2sum -l 40
    assert passage_hash("Who stayed\n in orbit?!") == 0xCEBA4C275A
    same = ["Ein Maß\u2014fünf Äpfel.", "EIN MASS fu\u0308nf  A\u0308pfel"]
    assert len({passage_hash(text) for text in same}) == 1
    assert passage_hash("Ein Maß Äpfel") != passage_hash(same[0])


def test_the_share_counts_questions_and_is_unknown_where_a_part_has_no_record():
    whole = TrainedOn.of(asked("a b", "c d", "c d"))
    assert len(whole.passages) == 2
    unknown = TrainedOn()
    for record, contexts, share in (
        (whole, ("A, b.", "x", "x", "x"), 0.25),
        (whole, ("x",), 0.0),
        (whole | TrainedOn.of(asked("x")), ("x", "y"), 0.5),
        (whole | unknown, ("a b", "x"), 0.5),
        (whole | unknown, ("x",), None),
        (unknown, ("a b",), None),
    ):
        assert record.overlap(asked(*contexts)) == share, contexts


def test_the_record_of_squad_takes_84_kb(tmp_path):
    hashes = np.random.default_rng(0).integers(0, 1 << 40, 19_000)
    record = TrainedOn(frozenset(hashes.tolist()), is_whole=True)
    record.write(tmp_path)
    assert (tmp_path / TRAINED_ON).stat().st_size < 84_000
    assert TrainedOn.read(tmp_path) == record


@pytest.mark.parametrize(
    "raw", [b"{}", b'{"whole":true,"gaps":[-1]}', b"[1", b'{"\xff":1}', b"\x1f\x8bbroken"]
)
def test_a_damaged_record_is_named(raw, tmp_path):
    (tmp_path / TRAINED_ON).write_bytes(raw if raw[:1] == b"\x1f" else gzip.compress(raw))
    with pytest.raises(BundleError, match=TRAINED_ON):
        TrainedOn.read(tmp_path)


@pytest.mark.parametrize("lineage", [False, True])
def test_of_older_bundles_equal_training_files_are_found(make_bundle, small_squad, tmp_path, lineage):
    sha256 = file_sha256(small_squad)
    facts = {"training_data": {"name": "mine.json", "sha256": sha256}}
    if lineage:
        teacher = {"name": "t", "sha256": "3" * 64}
        facts = {"recovered_against": teacher | {"lineage": [teacher | facts]}}
    bundle = open_bundle(rebundle(make_bundle(), tmp_path / "old", **facts))
    examples = read_squad(small_squad)
    assert train_overlap(bundle.path, bundle.manifest, sha256, examples) == 1.0
    assert train_overlap(bundle.path, bundle.manifest, "0" * 64, examples) is None
    if lineage:
        flags = {
            "quantize": "int8",
            "min_equal_spans": UNTRAINED_SPANS["int8"],
            "eval_data": str(small_squad),
        }
        exported = export(OnnxOptions(bundle.path, out=tmp_path / "onnx", **flags))
        assert exported.manifest.scores.train_overlap == 1.0


@pytest.mark.usefixtures("fresh_accelerate")
def test_every_stage_passes_on_what_was_trained_on(few, small_squad_v2, tiny_encoder, tmp_path):
    few |= {"model": str(tiny_encoder), "head": "linear", "layers": 1, "dropout": False}
    teacher = finetune(FinetuneOptions(out=tmp_path / "t", **few | {"data": str(small_squad_v2)}))
    questions = read_squad(small_squad_v2)
    held_out = read_squad(teacher.path / HELD_OUT)
    assert (
        train_overlap(teacher.path, teacher.manifest, file_sha256(small_squad_v2), questions)
        == 1 - len(held_out) / 40
    )
    assert train_overlap(teacher.path, teacher.manifest, "", held_out) == 0.0, "these were not trained on"

    others = write_examples(tmp_path / "others.json", read_squad(resolve("embedded", "train"))[-20:])
    assert train_overlap(teacher.path, teacher.manifest, "", read_squad(others)) == 0.0
    options = {"epochs": 0.1, "batch_size": 4, "precision": "fp32"}
    student = distil(DistillOptions(out=tmp_path / "run", teacher=teacher.path, data=str(others), **options))
    flags = {"quantize": "int8", "min_equal_spans": UNTRAINED_SPANS["int8"]}
    exported = export(OnnxOptions(student.path, out=tmp_path / "onnx", eval_data=str(others), **flags))
    model = QAModel.from_pretrained(teacher.path)
    record = teacher.manifest.of_model()
    mean = derive(model, tmp_path / "mean", teacher, record, averaged=[teacher, student])
    for made in (student, exported, mean):
        assert train_overlap(made.path, made.manifest, "", read_squad(others)) == 1.0
        assert train_overlap(made.path, made.manifest, "", questions) == 1 - len(held_out) / 40, (
            "the teacher's count too"
        )
        assert TRAINED_ON in made.manifest.files
    assert exported.manifest.scores.train_overlap == 1.0
    card = (exported.path / "README.md").read_text()
    assert "| onnx § | others.json |" in card
    assert "100.00% of the questions are about passages that onnx was trained on" in card
    assert '"value"' not in card, "a hub gets no such figures"
    assert json.loads((exported.path / "manifest.json").read_text())["scores"]["train_overlap"] == 1.0
