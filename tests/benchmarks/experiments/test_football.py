"""The football experiment from end to end on a tiny encoder and two match reports, and what it refuses.

A stop, a failure and options that changed are those of every experiment (test_benchmarks_heads.py).
"""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file
from transformers import BertConfig, BertModel

from benchmarks.experiments import base, football
from benchmarks.experiments.football import FootballConfig, main
from benchmarks.results.rows import Accuracy, read_results
from distill.stage import fresh_model
from distill.training.objectives import supervised
from qa.base.errors import BundleError, OptionError, PocketQAError, SquadFormatError
from qa.bundles.bundle import SETTINGS, new_bundle, open_bundle
from qa.models.pretrained import copy_tokenizer, embedded_folder
from qa.text.settings import QASettings

pytestmark = pytest.mark.usefixtures("fresh_accelerate")

NAMES = [f"{start}-{length}" for start in ("squad", "football", "squad-football") for length in (384, 512)]


def report(title, home, guest, scorer):
    """One article as the match reports have it: some 700 tokens, the goal in the last third."""
    opening = f"{home} received {guest} on a cold evening."
    quiet = " ".join(
        f"Minute {minute}: {guest} kept the ball and nothing came of it." for minute in range(1, 46)
    )
    context = f"{opening} {quiet} Minute 46: {scorer} scored for {home}. The referee ended the match."

    def question(number, category, text, answer=None):
        answers = [] if answer is None else [{"text": answer, "answer_start": context.index(answer)}]
        asked = {"id": f"{title}-{number}", "question": text, "category": category, "answers": answers}
        return asked | {"is_impossible": answer is None}

    qas = [
        question(0, "Simple", "Who scored?", scorer),
        question(1, "Aggregation", "Which team played at home?", home),
        question(2, "Temporal", "Who kept the ball?", guest),
        question(3, "Multiple", "Who was sent off?"),
        question(4, "Simple", "Who saved a penalty?"),
    ]
    return {"title": title, "paragraphs": [{"context": context, "qas": qas}]}


def write_reports(path, change=lambda qa: qa):
    articles = [
        report("one", "Larkfield", "Port Ellen", "Ada Quill"),
        report("two", "Moorgate", "Saint Bride", "Tom Reave"),
    ]
    for article in articles:
        article["paragraphs"][0]["qas"] = [change(qa) for qa in article["paragraphs"][0]["qas"]]
    path.write_text(json.dumps({"version": "test", "data": articles}))
    return path


@pytest.fixture(scope="module")
def encoders(tmp_path_factory):
    """Folders with two random layers of BERT, of width 32 and 48."""
    made = []
    for width in (32, 48):
        torch.manual_seed(0)
        folder = tmp_path_factory.mktemp(f"encoder{width}")
        config = BertConfig(
            hidden_size=width, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64
        )
        BertModel(config, add_pooling_layer=False).save_pretrained(folder)
        copy_tokenizer(embedded_folder(), folder)
        made.append(folder)
    return made


@pytest.fixture(scope="module")
def squad(encoders, tmp_path_factory):
    """The bundle of a one-layer model that stands for the one trained on SQuAD 1.1: no threshold."""
    model = fresh_model(str(encoders[0]), encoders[0], "2l-tanh", seed=7, n_layers=1)
    path = tmp_path_factory.mktemp("bundles") / "student"
    manifest = {"kind": "pytorch", "precision": "fp32", "stage": "distill", "parent": None}
    manifest["parameters"] = {"total": 1, "without_embeddings": 1}
    with new_bundle(path, manifest) as draft:
        model.save_pretrained(draft.path)
        copy_tokenizer(encoders[0], draft.path)
        QASettings(doc_stride=100).save(draft.path / SETTINGS)
    return path


@pytest.fixture
def make_config(encoders, squad, tmp_path):
    data = write_reports(tmp_path / "reports.json")

    def make(**changes):
        given = {
            "squad": squad,
            "data": data,
            "eval_data": data,
            "encoder": str(encoders[0]),
            "layers": 1,
            "epochs": 1,
            "batch_size": 8,
            "learning_rate": 1e-3,
            "out": tmp_path / "football",
        }
        return FootballConfig(**(given | changes))

    return make


@pytest.fixture
def steps(monkeypatch):
    """The length of every batch that any model was trained on, in order."""
    seen = []

    def recording(model, batch, indices):
        seen.append(batch["input_ids"].shape[1])
        return supervised(model, batch, indices)

    monkeypatch.setattr(base, "supervised", recording)
    return seen


def test_three_starts_at_two_lengths_are_trained_scored_and_taken_again(
    make_config, steps, squad, monkeypatch, tmp_path, capsys
):
    readme = tmp_path / "README.md"
    readme.write_text("before\n<!-- results:begin football -->\nold\n<!-- results:end football -->\nafter\n")
    config = make_config(write=readme)
    rows = main(config)
    assert [(row.model, type(row), row.n) for row in rows] == [(name, Accuracy, 10) for name in NAMES]
    shown = capsys.readouterr().err
    assert "5 training questions are 20 windows of at most 384 tokens; --epochs 1 sees 20" in shown
    assert "5 training questions are 15 windows of at most 512 tokens" in shown
    assert max(steps) == 512
    assert len(steps) == 2 * 3 + 2 * 2, "steps of 8 windows, twice at each length"

    given = open_bundle(squad)
    for name in NAMES[2:]:
        bundle = open_bundle(config.out / name)
        length = int(name[-3:])
        assert (bundle.settings.max_length, bundle.settings.doc_stride) == (length, 100)
        assert bundle.settings.null_threshold is not None, "tuned on the questions on the second report"
        assert bundle.manifest["parent"] == (given.reference() if name.startswith("squad") else None)
    for row in rows:
        assert row.training["max_length"] == int(row.model[-3:])
        assert {name: part["total"] for name, part in row.by_category.items()} == {
            "Aggregation": 2,
            "Multiple": 2,
            "Simple": 4,
            "Temporal": 2,
        }
        whole = sum(part["f1"] * part["total"] for part in row.by_category.values()) / 10
        assert whole == pytest.approx(row.f1)
    assert [row.NoAns_f1 for row in rows[:2]] == [0, 0], "a model without a threshold always answers"
    assert rows[0].bundle_sha256 == rows[1].bundle_sha256 == given.sha256
    assert rows[0].n_windows > rows[1].n_windows
    assert read_results(config.out / "rows.jsonl") == rows

    table = (config.out / "football.md").read_text()
    assert f"begin football -->\n{table.strip()}\n<!-- results:end football" in readme.read_text()
    assert (
        "SQuAD: trained on answerable questions alone, so without a threshold; always answers, and No Ans "
        "is 0" in table
    )
    assert "| SQuAD first - football alone, 512 tokens |" in table
    assert "| 512 - 384 tokens, SQuAD, then football |" in table
    assert "tuned on 1 questions on held-out training reports" in table

    monkeypatch.setattr(football, "train", None)
    monkeypatch.setattr(base, "evaluate", None)
    assert main(config) == []
    assert (config.out / "football.md").read_text() == table


def test_training_after_squad_starts_from_its_weights_and_alone_from_the_encoder(
    make_config, squad, monkeypatch
):
    started = {}

    def looking(fresh, out, model, *rest):
        started[model.start] = {name: tensor.clone() for name, tensor in fresh.state_dict().items()}
        raise RuntimeError("seen")

    monkeypatch.setattr(football, "train", looking)
    main(make_config(lengths=(384,)))
    given = load_file(squad / "model.safetensors")
    assert all(
        torch.equal(tensor, given[name])
        for name, tensor in started["squad-football"].items()
        if name in given
    )
    differing = [
        name
        for name, tensor in started["football"].items()
        if name in given and not torch.equal(tensor, given[name])
    ]
    assert differing
    assert all(name.startswith("head.") for name in differing), (
        "the tiny SQuAD model has the encoder's own layers"
    )


@pytest.mark.parametrize(
    ("fault", "error", "message"),
    [
        (
            "no category",
            SquadFormatError,
            r"plain\.json: question id 'one-3' has no 'category'; give match reports",
        ),
        ("no file", SquadFormatError, r"absent\.json: no such file"),
        ("no bundle", BundleError, "no such bundle folder"),
        (
            "layers",
            OptionError,
            "student: layers 1, but 2 of --encoder .*; choose the bundle's own encoder and layers",
        ),
        ("width", OptionError, "student: width 32, but 48 of --encoder .* --layers 1"),
        ("too many layers", OptionError, "--layers must be at most the encoder's 2, got 3"),
        ("too long", OptionError, "--lengths must be at most 512, the encoder's positions, got 640"),
        ("too short", OptionError, "max_length must be at least 69, got 60"),
    ],
)
def test_what_cannot_work_is_said_before_anything_is_written(
    make_config, encoders, tmp_path, fault, error, message
):
    def uncategorized(qa):
        return {key: value for key, value in qa.items() if key != "category" or qa["id"] != "one-3"}

    changes = {
        "no category": {"eval_data": write_reports(tmp_path / "plain.json", uncategorized)},
        "no file": {"data": tmp_path / "absent.json"},
        "no bundle": {"squad": tmp_path / "absent"},
        "layers": {"layers": None},
        "width": {"encoder": str(encoders[1])},
        "too many layers": {"layers": 3},
        "too long": {"lengths": (384, 640)},
        "too short": {"lengths": (60,)},
    }[fault]
    config = make_config(**changes)
    with pytest.raises(error, match=message) as caught:
        main(config)
    assert isinstance(caught.value, PocketQAError), (
        "which the command line turns into one line and exit code 2"
    )
    assert "\n" not in str(caught.value)
    assert not config.out.exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lengths": ()}, "--lengths"),
        ({"lengths": (384, 384)}, "--lengths"),
        ({"train_questions": 0}, "--train-questions must be at least 1, got 0"),
        ({"epochs": 0}, "--epochs must be above 0"),
    ],
)
def test_options_that_cannot_work_are_refused(make_config, changes, message):
    with pytest.raises(OptionError, match=message):
        make_config(**changes)


def test_other_training_for_models_that_are_there_is_refused_other_scoring_is_not(
    make_config, squad, tmp_path
):
    config = make_config(lengths=(384,))
    main(config)
    with pytest.raises(
        BundleError, match="football-384: made with epochs 1, not 2; choose another --out, or remove it"
    ):
        main(make_config(epochs=2))
    other = tmp_path / "moved"
    shutil.copytree(squad, other)
    assert main(make_config(lengths=(384,), squad=other)) == [], "the same model by another name"
    rows = main(make_config(lengths=(384,), dev_questions=4))
    assert [(row.model, row.n) for row in rows] == [(name, 4) for name in NAMES[::2]]
