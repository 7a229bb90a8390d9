"""A bundle trained further as the student of a teacher, which may have another tokenizer."""

import gzip
import json
import os
from dataclasses import replace

import pytest
import torch
from comparisons import copied, rebundle
from json_files import change_json, read_json
from stops import stopped_at
from tiny_models import SIZES
from transformers import BertConfig

from compress.options import PruneOptions
from compress.prune.prune import prune
from distill.logits import LogitsOptions
from distill.logits import compute_logits as fill_cache
from distill.making import refuse_unless_resumed, work_folder
from distill.options import DistillOptions
from distill.teacher import TeacherBundle
from distill.train_on_teacher import distil, for_students
from distill.training.checkpoint import CHECKPOINT
from qa.base.errors import BundleError, OptionError
from qa.base.journal import lock
from qa.bundles.bundle import MANIFEST, TRAINED_ON, open_bundle
from qa.bundles.trained_on import TrainedOn, passage_hash
from qa.models.encoders import Encoder
from qa.models.model import QAModel
from qa.text.settings import Calibration, QASettings

pytestmark = pytest.mark.usefixtures("fresh_accelerate")


@pytest.fixture
def config(make_bundle, few, tmp_path):
    def make(**options):
        models = {"teacher": make_bundle("roberta"), "student": make_bundle(pruned=True)}
        given = few | models | {"hidden_weight": 0, "epochs": 0.5}
        return DistillOptions(**given | options, out=tmp_path / "run", cache=tmp_path / "cache")

    return make


def test_a_student_keeps_its_shape_and_tokenizer_and_has_both_as_parents(config):
    options = config()
    bundle = distil(options)
    start = open_bundle(options.student)
    assert bundle.manifest.parent == start.reference()
    teacher = open_bundle(options.teacher)
    assert bundle.manifest.teacher == teacher.as_teacher(start)
    assert [stage.sha256 for stage in bundle.manifest.teacher.lineage] == [teacher.sha256]
    assert bundle.settings == start.settings
    before = QAModel.from_pretrained(start.path)
    after = QAModel.from_pretrained(bundle.path)
    assert before.config() == after.config()
    assert not any(torch.equal(a, b) for a, b in zip(before.parameters(), after.parameters(), strict=True))
    assert distil(config(resume=True)).sha256 == bundle.sha256


def test_what_no_teacher_taught_names_none(config, capsys):
    bundle = distil(config(alpha=1))
    assert bundle.manifest.teacher is None
    assert "a student rarely does better" not in capsys.readouterr().out
    assert distil(config(alpha=1, resume=True)).sha256 == bundle.sha256, "whatever the teacher is now"


def test_a_student_of_a_bundles_encoder_was_trained_on_what_that_bundle_was(config, make_bundle, tmp_path):
    passage = "Only this bundle has read it."
    record = gzip.compress(json.dumps({"whole": True, "gaps": [passage_hash(passage)]}).encode())
    encoder = rebundle(make_bundle(head="linear"), tmp_path / "encoder", {TRAINED_ON: record})
    bundle = distil(config(student=None, student_encoder=str(encoder), max_length=100))
    assert passage_hash(passage) in TrainedOn.read(bundle.path).passages


def test_states_that_are_not_normalized_are_not_compared(make_bundle):
    teacher = TeacherBundle(open_bundle(make_bundle("mobilebert", "linear")))
    with pytest.raises(OptionError, match=r"--hidden-weight 1: .* not normalized.*; give --hidden-weight 0"):
        teacher.check_hidden_states(teacher.model, weight=1)
    teacher.check_hidden_states(teacher.model, weight=0)


def test_a_finished_run_of_a_version_with_other_options_is_not_taken_up(config):
    """Bundles of 0.2.0 record --target-ms, null as a rule."""
    bundle = distil(config())
    path = bundle.path / MANIFEST
    recorded = read_json(path)["config"]
    change_json(path, config=recorded | {"target_ms": None})
    assert distil(config(resume=True)).path == bundle.path
    change_json(path, config=recorded | {"target_ms": 20.0})
    with pytest.raises(BundleError, match=r"made with --target-ms 20\.0, an option .*; choose another --out"):
        distil(config(resume=True))
    del recorded["temperature"]
    change_json(path, config=recorded)
    with pytest.raises(BundleError, match="made by a version without --temperature; choose another --out"):
        distil(config(resume=True))


def test_hidden_states_of_a_teacher_with_another_tokenizer_are_refused_before_any_work(config, tmp_path):
    with pytest.raises(OptionError, match=r"--hidden-weight 1: .* another tokenizer"):
        distil(config(hidden_weight=1))
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def short_teacher(make_bundle, tmp_path_factory):
    """A bundle for windows of at most 90 tokens, of a model that has positions for no more."""
    source = open_bundle(make_bundle())
    model = QAModel(Encoder(BertConfig(**SIZES, num_hidden_layers=2, max_position_embeddings=90)), "linear")
    return copied(source, tmp_path_factory.mktemp("short") / "short", model, max_length=90).path


@pytest.mark.parametrize("stage", ["run", "prune", "logits"])
def test_a_teacher_without_positions_for_the_students_windows_is_refused_before_any_work(
    config, make_bundle, short_teacher, small_squad, tmp_path, stage
):
    models = {"teacher": short_teacher, "data": str(small_squad), "cache": tmp_path / "cache"}
    pruned = make_bundle(pruned=True)
    run = {
        "run": lambda: distil(config(teacher=short_teacher)),
        "prune": lambda: prune(PruneOptions(model=pruned, out=tmp_path / "o", **models)),
        "logits": lambda: fill_cache(LogitsOptions(model=pruned, **models)),
    }[stage]
    with pytest.raises(OptionError, match=r"--teacher .*short: .* 90 .* 128"):
        run()
    assert list(tmp_path.iterdir()) == []


def test_a_teacher_of_few_positions_teaches_windows_that_have_no_more(config, short_teacher):
    """Batches are not padded beyond its positions: 90 is no multiple of 32."""
    options = config(teacher=short_teacher, hidden_weight=1, max_length=90)
    assert distil(options).settings.max_length == 90


def test_a_run_beside_one_that_has_a_checkpoint_is_not_told_that_it_stopped(config):
    work = work_folder(config().out)
    work.mkdir(parents=True)
    (work / CHECKPOINT).write_bytes(b"of a run at work")
    descriptor = lock(work)
    with pytest.raises(OptionError, match="another process is at work"):
        refuse_unless_resumed(config().out, resume=False)
    os.close(descriptor)
    with pytest.raises(BundleError, match="left by a stopped run"):
        refuse_unless_resumed(config().out, resume=False)


@pytest.mark.parametrize(
    ("other", "flag"),
    [
        ({"student_layers": 1}, "--student-layers"),
        ({"student_encoder": "minilm-l6"}, "--student-encoder"),
        ({"student_head": "linear"}, "--student-head"),
        ({"keep_ffn": 0.5}, "--student"),
    ],
)
def test_options_of_a_new_student_are_refused_with_it(config, other, flag):
    with pytest.raises(OptionError, match=f"{flag} cannot be combined with"):
        config(**other)


def test_an_option_of_pruning_needs_a_pruned_student(tmp_path):
    with pytest.raises(OptionError, match="--importance-windows needs"):
        DistillOptions(out=tmp_path / "run", student_layers=1, importance_windows=64)


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ({"importance_windows": 4}, {"importance_windows": 2}),
        ({"student_layers": 1}, {"student_head": "linear"}),
    ],
)
def test_a_stopped_run_goes_on_only_with_the_same_student(given, changed, make_bundle, few, tmp_path):
    """The head that is named has the size of the teacher's, which the student would have without it."""
    options = DistillOptions(
        teacher=make_bundle(head="linear"),
        out=tmp_path / "run",
        freeze_encoder=True,
        hidden_weight=0,
        **few | given,
    )
    with stopped_at(1):
        distil(options)
    with pytest.raises(OptionError, match="made with other options, data or model"):
        distil(replace(options, resume=True, **changed))


def test_a_new_student_has_a_threshold_of_its_teacher_only_where_it_learns_its_logits():
    tuned = QASettings(null_threshold=1.5, calibration=Calibration(2.0, 0.5))
    for given, threshold in (
        ({}, 1.5),
        ({"student_layers": 1}, 1.5),
        ({"student_layers": 1, "student_head": "linear"}, 1.5),
        ({"student_layers": 1, "student_head": "linear", "alpha": 1.0}, None),
        ({"student_encoder": "bidaf", "alpha": 1.0, "hidden_weight": 0.0}, None),
    ):
        kept = for_students(tuned, DistillOptions(**given))
        assert (kept.null_threshold, kept.calibration) == (threshold, None)


def test_a_student_of_few_questions_has_a_threshold_of_its_teacher_and_no_calibration(
    make_bundle, few, small_squad_v2, tmp_path
):
    tuned = {"null_threshold": -1.25, "calibration": Calibration(2.0, 0.5)}
    teacher = copied(open_bundle(make_bundle()), tmp_path / "teacher", **tuned)
    options = few | {"data": str(small_squad_v2), "student_layers": 1, "out": tmp_path / "run"}
    student = distil(DistillOptions(teacher=teacher.path, **options))
    assert (student.settings.null_threshold, student.settings.calibration) == (-1.25, None)
