"""Fine-tuning as a stage: from an encoder and from a bundle, with windows of one's own, gone on with after a
stop."""

import shutil
from dataclasses import replace

import msgspec
import pytest
import torch
from checkpoints import change_weights, write_checkpoint
from comparisons import copied, rebundle, write_examples
from json_files import change_json

from distill.data import load_splits
from distill.making import say_if_not_scored
from distill.options import DistillOptions, FinetuneOptions
from distill.train_on_gold import answers_already, encoder_start, finetune, starting_point
from distill.train_on_teacher import distil as distil_main
from distill.training.checkpoint import CHECKPOINT
from qa.base.errors import BundleError, OptionError, PocketQAError
from qa.base.files import file_sha256
from qa.base.shipped import FOLDER, STUDENT
from qa.bundles.bundle import HELD_OUT, open_bundle
from qa.bundles.manifest import FileReference, Scores
from qa.data.datasets import data_reference, resolve
from qa.data.origins import MINILM
from qa.data.sample import SampleOptions
from qa.data.sample import write_sample as sample_main
from qa.data.squad import read_squad
from qa.evaluation.threshold import read_held_out
from qa.models.model import QAModel

pytestmark = pytest.mark.usefixtures("fresh_accelerate")


def test_a_bundle_learns_on_and_keeps_its_head_tokenizer_and_windows(make_bundle, few, tmp_path):
    start = open_bundle(make_bundle(head="2l-tanh"))
    tuned = finetune(FinetuneOptions(model=str(start.path), out=tmp_path / "tuned", **few))
    assert tuned.manifest.stage == "finetune"
    assert tuned.manifest.parent == start.reference()
    assert tuned.settings == start.settings
    before = QAModel.from_pretrained(start.path)
    after = QAModel.from_pretrained(tuned.path)
    assert before.config() == after.config()
    changed = [not torch.equal(a, b) for a, b in zip(before.parameters(), after.parameters(), strict=True)]
    assert all(changed)
    assert not (tmp_path / "training" / "tuned" / "checkpoint.safetensors").exists()


def test_a_model_that_declines_says_that_it_no_longer_will(few, tmp_path, capsys):
    """Train on questions that all have an answer: nothing tells when to decline."""
    student = str(FOLDER / STUDENT)
    tuned = finetune(FinetuneOptions(model=student, out=tmp_path / "tuned", **few))
    assert tuned.settings.null_threshold is None
    assert "no-answer threshold: none" in capsys.readouterr().err


def test_an_encoder_gets_a_head_and_windows_as_wanted(few, small_squad_v2, tmp_path):
    lengths = {"max_length": 96, "doc_stride": 40, "max_question_length": 24, "max_answer_length": 50}
    few["data"] = str(small_squad_v2)
    tuned = finetune(FinetuneOptions(head="linear", out=tmp_path / "tuned", seed=3, **lengths, **few))
    config = tuned.manifest.config
    assert (config["seed"], config["epochs"], config["max_length"], config["layers"]) == (3, 0.1, 96, None)
    assert tuned.manifest.training_data.name == small_squad_v2.name
    own = {name: getattr(tuned.settings, name) for name in lengths}
    assert own == lengths
    assert tuned.settings.null_threshold is not None  # tuned on passages held out
    assert tuned.manifest.encoder.name == "minilm-l6"
    assert tuned.manifest.parent is None
    assert QAModel.from_pretrained(tuned.path).head_name == "linear"


def test_a_student_inherits_its_teachers_windows_unless_told_otherwise(make_bundle, few, tmp_path):
    few |= {"teacher": make_bundle(), "student_layers": 1}
    settings = open_bundle(make_bundle()).settings
    assert distil_main(DistillOptions(out=tmp_path / "inherits", **few)).settings == settings
    shorter = distil_main(DistillOptions(out=tmp_path / "shorter", max_length=80, **few)).settings
    assert shorter == replace(settings, max_length=80)


@pytest.mark.parametrize("resume", [False, True])
def test_a_broken_link_is_refused_before_the_training(make_bundle, few, tmp_path, resume):
    (tmp_path / "link").symlink_to("missing")
    with pytest.raises(BundleError, match="link: is a broken link"):
        finetune(FinetuneOptions(model=str(make_bundle()), out=tmp_path / "link", resume=resume, **few))


def test_a_finished_run_is_taken_on_resume_and_only_with_its_own_options(
    make_bundle, few, small_squad, tmp_path, capsys
):
    """The data may lie in any folder."""

    def config(**changes):
        return FinetuneOptions(**({"model": str(make_bundle()), "out": tmp_path / "t"} | few | changes))

    first = finetune(config())
    with pytest.raises(BundleError, match=r"t: exists already.*--resume"):
        finetune(config())
    assert finetune(config(resume=True)).sha256 == first.sha256
    with pytest.raises(BundleError, match=r"made with --epochs 0\.1, not 0\.2; choose another --out"):
        finetune(config(resume=True, epochs=0.2))
    other = tmp_path / make_bundle().name  # another model in a folder of the same name
    shutil.copytree(make_bundle(seed=1), other)
    with pytest.raises(BundleError, match=r"t: made of another --model than .* is now; choose another --out"):
        finetune(config(resume=True, model=str(other)))
    finetune(config(model=str(first.path), out=tmp_path / "u"))
    grandparent = tmp_path / "before" / first.path.name
    shutil.copytree(make_bundle(), grandparent)
    with pytest.raises(BundleError, match=r"u: made of another --model than .* is now; choose another --out"):
        finetune(config(resume=True, model=str(grandparent), out=tmp_path / "u"))
    data = tmp_path / "data" / small_squad.name
    data.parent.mkdir()
    shutil.copy(small_squad, data)
    assert finetune(config(resume=True, data=str(data))).sha256 == first.sha256
    data.write_bytes(data.read_bytes() + b"\n")
    with pytest.raises(BundleError, match=r"t: made of another --data than .* is now; choose another --out"):
        finetune(config(resume=True, data=str(data)))
    capsys.readouterr()
    assert finetune(config(resume=True, eval_data=str(data))).manifest.scores is None
    said = capsys.readouterr()
    assert f"--eval-data {data}: " in said.err
    assert f"--data {data} --model {tmp_path / 't'}" in said.out
    elsewhere = f"organisation/{make_bundle().name}"  # a name on the Hub
    with pytest.raises(BundleError, match=rf"made with --model .*, not {elsewhere}; choose another --out"):
        finetune(config(resume=True, model=elsewhere))


def test_a_finished_run_has_no_score_on_another_file_of_the_same_name(
    make_bundle, small_squad, tmp_path, capsys
):
    bundle = open_bundle(make_bundle())
    scores = Scores(FileReference(small_squad.name, file_sha256(small_squad)), exact=50.0, f1=60.0, total=24)
    bundle = replace(bundle, manifest=msgspec.structs.replace(bundle.manifest, scores=scores))
    other = tmp_path / small_squad.name
    other.write_bytes(small_squad.read_bytes() + b"\n")
    for data, says in ((small_squad, ""), (other, f"--eval-data {other}: ")):
        say_if_not_scored(bundle, str(data))
        said = capsys.readouterr().err
        assert said.startswith(says)
        assert bool(said) == bool(says)


def test_the_shipped_encoders_name_means_it_even_where_a_folder_has_it(make_bundle, tmp_path, monkeypatch):
    shutil.copytree(make_bundle(), tmp_path / MINILM)
    monkeypatch.chdir(tmp_path)
    assert not answers_already(MINILM)
    assert answers_already(f"./{MINILM}")


@pytest.mark.parametrize("head", [True, False])
def test_a_changed_checkpoint_or_encoder_is_not_resumed_with(few, tmp_path, head):
    folder = write_checkpoint(tmp_path / "checkpoint", "bert")
    if not head:
        change_weights(folder, lambda name, tensor: {} if "qa_outputs" in name else {name: tensor})
    config = FinetuneOptions(model=str(folder), max_length=96, out=tmp_path / "t", resume=True, **few)
    first = finetune(config)
    assert finetune(config).sha256 == first.sha256
    for name in ("config.json", "model.safetensors", "tokenizer.json", "added_tokens.json"):
        before = (folder / name).read_bytes() if (folder / name).is_file() else b""
        (folder / name).write_bytes(before + b" ")
        with pytest.raises(BundleError, match="t: made of another --model than"):
            finetune(config)
        (folder / name).write_bytes(before)
        if not before:
            (folder / name).unlink()
    assert finetune(config).sha256 == first.sha256


def test_a_student_is_not_resumed_with_a_changed_encoder(make_bundle, few, tiny_encoder, tmp_path):
    encoder = shutil.copytree(tiny_encoder, tmp_path / "encoder")
    few |= {"teacher": make_bundle(), "student_encoder": str(encoder)}
    config = DistillOptions(out=tmp_path / "run", max_length=100, resume=True, **few)
    first = distil_main(config)
    assert distil_main(config).sha256 == first.sha256
    change_json(encoder / "config.json", layer_norm_eps=0.1)
    with pytest.raises(BundleError, match="student: made of another --student-encoder than"):
        distil_main(config)
    shutil.copy(tiny_encoder / "config.json", encoder)
    assert distil_main(config).sha256 == first.sha256


def test_a_stopped_run_goes_on_only_with_the_same_encoder(few, tiny_encoder, tmp_path):
    """Also where each window is as long as before."""
    folder = shutil.copytree(tiny_encoder, tmp_path / "encoder")
    options = FinetuneOptions(model=str(folder), out=tmp_path / "t", **few)
    start = encoder_start(options)
    assert start.sha256 == encoder_start(options).sha256
    (folder / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes() + b" ")
    assert start.sha256 != encoder_start(options).sha256


def test_what_a_stopped_run_had_learnt_is_not_overwritten(make_bundle, few, tmp_path):
    config = FinetuneOptions(model=str(make_bundle()), out=tmp_path / "t", **few)
    checkpoint = tmp_path / "training" / "t" / CHECKPOINT
    checkpoint.parent.mkdir(parents=True)
    checkpoint.write_bytes(b"a night's work")
    with pytest.raises(BundleError, match=r"training/t/.*: left by a stopped run; continue that run with"):
        finetune(config)
    assert checkpoint.read_bytes() == b"a night's work"


@pytest.mark.parametrize("stage", ["finetune", "run"])
def test_the_folder_of_checkpoints_is_refused_as_out(make_bundle, few, tmp_path, stage):
    out = tmp_path / "training"
    run, options = {
        "finetune": (finetune, FinetuneOptions(model=str(make_bundle()), out=out, **few)),
        "run": (distil_main, DistillOptions(teacher=make_bundle(), out=out, student_layers=1, **few)),
    }[stage]
    with pytest.raises(OptionError, match=rf"--out {out}: "):
        run(options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_length": 513}, r"--max-length must be at most 512, the positions of the encoder, got 513"),
        ({"max_length": 60}, "max_length must be at least 69, or max_question_length at most 55, got 60"),
        (
            {"head": "qermit-cnn", "max_question_length": 65},
            "--max-question-length must be at most 64, the longest that qermit-cnn reads, got 65",
        ),
        ({"head": "5l"}, "unknown head"),
        ({"learning_rate": 0}, "--learning-rate must be"),
        ({"model": "nowhere/at-all"}, "no such folder here"),
        ({"model": str(FOLDER / STUDENT), "activation": "gelu_tanh"}, "--activation cannot be combined with"),
        ({"head": "linear", "activation": "gelu_tanh"}, "--activation cannot be combined with --head linear"),
        ({"adapter": "some", "activation": "gelu_tanh"}, "--activation cannot be combined with --adapter"),
    ],
)
def test_bad_options_are_refused_before_anything_is_trained(small_squad, tmp_path, options, message):
    given = {"data": str(small_squad), "out": tmp_path / "t", **options}
    with pytest.raises(PocketQAError, match=message):
        finetune(FinetuneOptions(**given))
    assert list(tmp_path.iterdir()) == []


def test_some_layers_of_an_encoder_or_a_bundle_are_fine_tuned(make_bundle, few, tiny_encoder, tmp_path):
    def layers(name, **changes):
        few.update(max_length=96, doc_stride=40, max_question_length=24)
        bundle = finetune(FinetuneOptions(out=tmp_path / name, **few, **changes))
        return len(QAModel.from_pretrained(bundle.path).encoder.layers)

    assert layers("encoder", model=str(tiny_encoder), head="linear", layers=1) == 1
    assert layers("bundle", model=str(make_bundle()), layers=1) == 1
    with pytest.raises(PocketQAError, match="--layers must be at most the 2 of --model, got 3"):
        layers("many", model=str(make_bundle()), layers=3)


def test_a_standalone_model_is_trained_on_gold_answers_from_the_encoders_words(few, tmp_path, capsys):
    lengths = {"max_length": 64, "doc_stride": 32, "max_question_length": 16}
    given = {"head": "bidaf", "learning_rate": 1e-3, **lengths, **few}
    bundle = finetune(FinetuneOptions(out=tmp_path / "bidaf", **given))
    assert QAModel.from_pretrained(bundle.path).head_name == "bidaf"
    assert bundle.manifest.encoder.name == "minilm-l6"
    printed = capsys.readouterr()
    assert f"export.onnx --model {bundle.path}" in printed.out  # a student cannot be cut of it
    assert "is high for" not in printed.err  # the rate of BERT-base is not that of fresh weights
    start = starting_point(FinetuneOptions(out=tmp_path / "sure", dropout=False, **given))
    assert {m.p for m in start.model.modules() if isinstance(m, torch.nn.Dropout)} == {0.0}
    with pytest.raises(PocketQAError, match="--layers cannot be combined with --head"):
        FinetuneOptions(out=tmp_path / "cut", layers=1, **given)


@pytest.mark.parametrize("split", ["train", "dev"])
def test_the_dev_part_of_a_named_data_set_is_not_trained_on(split, tmp_path):
    sample = tmp_path / "sample.json"
    sample_main(SampleOptions(sample, 300, split=split))
    for path in (str(resolve("embedded", split)), str(sample)):
        if split == "train":
            assert load_splits(path, None, None).train
        else:
            with pytest.raises(OptionError, match=r"--data .*dev part of embedded"):
                load_splits(path, None, None)


def test_the_threshold_of_the_parent_stays_where_few_questions_are_held_out(
    make_bundle, few, small_squad_v2, tmp_path, capsys
):
    source = open_bundle(make_bundle())
    judged = {"n_questions": 200, "n_unanswerable": 60, "n_articles": 20, "resampled": "questions"}
    judged |= {"data": data_reference(small_squad_v2), "null_threshold_interval": (-2.0, 0.0)}
    untold = copied(source, tmp_path / "untold", null_threshold=-1.25)
    parent = open_bundle(rebundle(untold.path, tmp_path / "parent", tuning=judged))
    options = few | {"data": str(small_squad_v2)}
    tuned = finetune(FinetuneOptions(model=str(parent.path), out=tmp_path / "tuned", **options))
    assert tuned.settings.null_threshold == -1.25
    assert tuned.manifest.tuning.files == parent.manifest.tuning.files, "scores on that file stay too high"
    assert tuned.manifest.tuning.of_parent
    printed = capsys.readouterr().err
    assert "held out: nothing" in printed
    assert "stays: -1.25" in printed
    headed = FinetuneOptions(model=str(parent.path), head="linear", out=tmp_path / "headed", **options)
    assert HELD_OUT in finetune(headed).manifest.files, "a threshold for another head is none"
    assert "tuned on these all the same" in capsys.readouterr().err
    fresh = finetune(FinetuneOptions(model=str(source.path), out=tmp_path / "fresh", **options))
    assert fresh.settings.null_threshold is not None
    assert "tuned on these all the same" in capsys.readouterr().err
    assert [HELD_OUT in bundle.manifest.files for bundle in (tuned, fresh)] == [False, True]
    again = load_splits(str(small_squad_v2), None, fresh)  # what its threshold was tuned on is not trained on
    assert again.held_out == read_held_out(fresh.path)
    assert again.held_out
    n_questions = len(read_squad(small_squad_v2))
    printed = capsys.readouterr().err
    assert f"held out: {len(again.held_out)} of {n_questions} questions" in printed
    assert "was trained on" not in printed


def test_held_out_questions_on_passages_that_the_parent_learnt_are_noted(
    make_bundle, few, small_squad_v2, tmp_path, capsys
):
    """It learnt answerable questions only, so it holds nothing out that could be held out again."""
    answered = [e for e in read_squad(small_squad_v2) if e.answers]
    data = write_examples(tmp_path / "answered.json", answered)
    options = few | {"data": str(data)}
    learnt = finetune(FinetuneOptions(model=str(make_bundle()), out=tmp_path / "learnt", **options))
    capsys.readouterr()
    splits = load_splits(str(small_squad_v2), None, learnt)
    contexts = {e.context for e in answered}
    share = sum(e.context in contexts for e in splits.held_out) / len(splits.held_out)
    assert (
        f"held out: {share:.0%} of these questions are about passages that {learnt.path}"
        in capsys.readouterr().err
    )
