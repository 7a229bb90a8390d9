"""The model card: what a hub validates, and that it says what the manifest holds and nothing it does not
know."""

import gzip
import io
import json
import re
import zipfile

import msgspec
import pytest
import sealed
import yaml
from comparisons import UNTRAINED_SPANS, write_examples
from huggingface_hub import ModelCard
from places import ROOT

from distill.options import DistillOptions, FinetuneOptions
from distill.train_on_gold import finetune
from distill.train_on_teacher import distil
from export.onnx.exporter import export
from export.options import OnnxOptions
from qa.base.files import file_sha256
from qa.bundles.bundle import CARD, MANIFEST, open_bundle
from qa.bundles.card import model_card
from qa.data.datasets import data_reference, resolve, source_reference
from qa.data.origins import MINILM_SHA256, MPNET_SHA256
from qa.data.sample import SampleOptions
from qa.data.sample import write_sample as sample
from qa.data.squad import read_squad
from qa.evaluate import EvaluateOptions, evaluate
from qa.formats.registry import CONFIG
from qa.text.settings import QASettings

pytestmark = pytest.mark.usefixtures("fresh_accelerate")


def card_of(bundle):
    card = ModelCard.load(bundle.path / CARD)
    yaml.safe_load(card.data.to_yaml())
    return card


@pytest.fixture(scope="module")
def embedded_reference():
    return data_reference(resolve("embedded", "train"))


@pytest.fixture
def seal(tmp_path):
    """Seal a bundle with these facts."""
    return lambda name="made", **facts: sealed.seal(tmp_path / name, **facts)


@pytest.mark.system
def test_the_stages_of_a_real_chain_tell_where_each_comes_from(few, small_squad, tmp_path):
    others = write_examples(tmp_path / "eval.json", read_squad(resolve("embedded", "train"))[-24:])
    data = str(others)
    teacher = finetune(FinetuneOptions(head="linear", eval_data=data, out=tmp_path / "t", **few))
    student = distil(DistillOptions(out=tmp_path / "run", teacher=teacher.path, student_layers=1, **few))
    int8 = {"model": student.path, "quantize": "int8", "min_equal_spans": UNTRAINED_SPANS["int8"]}
    exported = export(OnnxOptions(out=tmp_path / "s-onnx", **int8))

    facts = card_of(exported).data
    text = card_of(exported).text
    assert [stage.name for stage in exported.manifest.ancestors] == ["student", "t"]
    for bundle in (student, teacher):
        assert f"bundle SHA-256 {bundle.sha256[:16]}" in text
    assert f"trained on `{small_squad.name}` (SHA-256 {file_sha256(small_squad)[:16]}…)" in text
    assert f"from encoder `minilm-l6` (SHA-256 {MINILM_SHA256[:16]}…)" in text
    assert "temperature 4.0" in text
    assert "activation gelu" in text, "of the teacher that distill.finetune made"
    for told in (text, (exported.path / MANIFEST).read_text()):
        assert str(tmp_path) not in told, "folders of this machine are nobody's business"
    assert facts.base_model == ["sentence-transformers/all-MiniLM-L6-v2"]
    assert (facts.license, facts.datasets, facts.language) == (None, None, None), (
        "the data is a file that nobody knows"
    )
    assert "Licence unknown to PocketQA" in text
    # Scores are the teacher's, in PyTorch: the table may show them, the model index may not claim them.
    assert facts.eval_results is None
    assert f"| t | {others.name} | 24 |" in text
    assert "s-onnx itself was not scored" in text

    scored = export(OnnxOptions(out=tmp_path / "scored", eval_data=data, **int8))
    found = evaluate(EvaluateOptions(data, scored.path))
    assert (found.pop("mode"), found.pop("null_threshold")) == ("balanced", None)
    assert (found.pop("answered"), len(found.pop("f1_interval"))) == (24, 2)
    assert found.pop("resampled") == "questions"
    assert found.items() <= msgspec.to_builtins(scored.manifest.scores).items()
    assert (
        f"| scored | {others.name} | 24 | {scored.manifest.scores.n_articles} | "
        f"{found['exact']:.2f} |" in (card_of(scored).text)
    )
    assert [one.metric_value for one in card_of(scored).data.eval_results] == [
        round(found[key], 2) for key in ("exact", "f1")
    ]

    (exact, f1) = card_of(teacher).data.eval_results
    scores = teacher.manifest.scores
    assert (exact.metric_type, exact.metric_value) == ("exact_match", round(scores.exact, 2))
    assert (f1.metric_type, f1.metric_value) == ("f1", round(scores.f1, 2))
    assert f1.task_type == "question-answering"
    assert scores.f1_interval is None, "24 questions on one or two articles say too little"


def test_a_model_of_known_parts_has_the_licence_of_the_strictest(seal, embedded_reference):
    encoder = {"name": "minilm-l6", "sha256": MINILM_SHA256}
    bundle = seal(encoder=encoder, training_data=embedded_reference)
    data = card_of(bundle).data
    text = card_of(bundle).text
    assert (data.license, data.language, data.datasets) == ("cc-by-sa-4.0", "en", ["rajpurkar/squad"])
    assert "Rajpurkar, Zhang, Lopyrev and Liang (2016)" in text
    assert "sentence-transformers" in text
    assert "unknown" not in text.split("## Licence")[1]


def test_a_sample_and_a_teacher_have_the_licences_of_what_they_were_made_of(seal, embedded_reference):
    sampled = {"name": "part.json", "sha256": "2" * 64, "made_from": embedded_reference}
    encoder = {"name": "mpnet-base", "sha256": MPNET_SHA256}
    stage = {"name": "t", "sha256": "3" * 64, "encoder": encoder, "training_data": embedded_reference}
    bundle = seal(
        encoder={"name": "minilm-l6", "sha256": MINILM_SHA256},
        training_data=sampled,
        recovered_against={"name": "t", "sha256": "3" * 64, "lineage": [stage]},
    )
    card = card_of(bundle)
    assert card.data.license == "cc-by-sa-4.0"
    assert card.data.base_model == [
        "sentence-transformers/all-MiniLM-L6-v2",
        "sentence-transformers/all-mpnet-base-v2",
    ]
    excerpt = card.text.split("- PocketQA's excerpt of SQuAD 1.1, ")[1].split("\n- ")[0].splitlines()
    assert [line.split(" (")[0] for line in excerpt[1:3]] == [
        "  - training data `part.json`",
        "  - training data `squad-excerpt-train.json.gz`",
    ]
    assert "unknown" not in card.text.split("## Licence")[1]


@pytest.mark.parametrize("with_unknown", [False, True])
def test_added_questions_are_a_part_of_their_own(seal, tmp_path, with_unknown):
    unknown = write_examples(tmp_path / "mine.json", read_squad(resolve("embedded", "dev"))[:3])
    add = ("embedded", str(unknown)) if with_unknown else ("embedded",)
    mixed, few = tmp_path / "mixed.json", tmp_path / "few.json"
    sample(SampleOptions(out=mixed, questions=5, data="everyday", split="train", add=add))
    sample(SampleOptions(out=few, questions=9, data=str(mixed)))
    assert data_reference(mixed)["added"][0] == source_reference(resolve("embedded", "train"))
    for file in (mixed, few):
        bundle = seal(
            file.stem,
            encoder={"name": "minilm-l6", "sha256": MINILM_SHA256},
            training_data=data_reference(file),
        )
        card = card_of(bundle)
        assert card.data.license == (None if with_unknown else "cc-by-sa-4.0")
        assert card.data.datasets == ["rajpurkar/squad"]
        assert ("questions of `mine.json`" in card.text) is with_unknown
        assert "PocketQA Everyday 1.0" in card.text


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"encoder": {"name": "/home/me/bert", "sha256": "0" * 64}},
        {"source": {"name": "deepset/some-squad", "files": {"model.safetensors": "1" * 64}}},
        {
            "encoder": {"name": "minilm-l6", "sha256": MINILM_SHA256},
            "training_data": {"name": "mine.json", "sha256": "2" * 64},
        },
        {
            "encoder": {"name": "minilm-l6", "sha256": MINILM_SHA256},
            "recovered_against": {"name": "t", "sha256": "3" * 64},
        },
    ],
)
def test_where_a_part_is_unknown_no_licence_is_given(seal, embedded_reference, facts):
    bundle = seal(**({"training_data": embedded_reference} | facts))
    assert card_of(bundle).data.license is None
    assert "Licence unknown to PocketQA" in card_of(bundle).text
    assert "/home" not in card_of(bundle).content


def test_settings_of_zero_are_shown(seal):
    config = {"seed": 0, "hidden_weight": 0.0, "dropout": False, "layers": None, "data": "mine.json"}
    stage = {"name": "t", "sha256": "3" * 64, "stage": "finetune", "config": config}
    (line,) = (line for line in card_of(seal(ancestors=[stage])).text.splitlines() if "settings:" in line)
    assert line.endswith("settings: seed 0, hidden_weight 0.0")


@pytest.mark.parametrize(
    ("method", "shown"),
    [
        ("structured", "method structured, keep_ffn 0.5, epochs 1"),
        ("magnitude", "method magnitude, sparsity 0.8, epochs 1"),
    ],
)
def test_settings_of_another_pruning_method_are_left_out(seal, method, shown):
    config = {"method": method, "keep_ffn": 0.5, "sparsity": 0.8, "epochs": 1}
    stage = {"name": "t", "sha256": "3" * 64, "stage": "prune", "config": config}
    assert f"settings: {shown}\n" in card_of(seal(ancestors=[stage])).text


def test_strangers_stages_that_do_not_fit_are_shown_all_the_same(seal):
    stages = [{"name": name, "sha256": "3" * 64, "stage": "average"} for name in ("a", "b")]
    own = {"config": {"method": ["structured"]}, "averaged": [{"name": "a", "sha256": "3" * 64}]}
    assert "average" in card_of(seal(ancestors=[stages[0], stages[1] | own])).text


def test_names_and_settings_of_strangers_are_text(seal):
    config = {"student": "\n\n## Licence\n\nMIT `x` | y"}
    stage = {"name": "<img src=x>", "sha256": "3" * 64, "stage": "<img>", "config": config}
    text = card_of(
        seal(name="my model's", ancestors=[stage | {"config": {"recipe": config["student"]}}])
    ).text
    assert "<img" not in text
    assert text.count("\n## Licence") == 1
    assert "recipe ## Licence MIT 'x' \\| y" in text
    assert """--model 'my model'"'"'s' --question""" in text
    assert 'load("my model\\\'s")' in text


def test_figures_with_intervals_and_without(seal, embedded_reference):
    scores = {"data": embedded_reference, "exact": 61.237, "f1": 70.5, "total": 1500, "n_articles": 40}
    text = card_of(seal(scores=scores)).text
    assert (
        "| made | squad-excerpt-train.json.gz (PocketQA's excerpt of SQuAD 1.1) | 1,500 | 40 | 61.24 | "
        "70.50 |" in text
    )
    with_intervals = scores | {"exact_interval": [59.0, 63.04], "f1_interval": [68.96, 72.0]}
    assert "61.24 (59.0 to 63.0) | 70.50 (69.0 to 72.0)" in card_of(seal("other", scores=with_intervals)).text


def test_it_says_how_it_answers_and_how_large_it_is(seal):
    settings = QASettings(max_length=256, null_threshold=-1.25)
    counts = {"total": 1234, "without_embeddings": 9}
    text = card_of(seal(settings=settings, parameters=counts)).text
    assert "256 tokens" in text
    assert "exceeds -1.25" in text
    assert "1,234 (9 without embeddings)" in text
    assert "`model.safetensors`, 7 bytes" in text
    assert "never: it always answers" in card_of(seal("other")).text


def test_use_is_that_of_the_runtime(seal):
    package = io.BytesIO()
    zipfile.ZipFile(package, "w").close()
    for kind, weights, wanted, absent in (
        ("pytorch", b"weights", "(`python -m export.onnx`)", "optimum"),
        ("tflite", package.getvalue(), "sideload `model.tflite`", "transformers"),
        ("tflite", b"without a package", "In LiteRT, without PocketQA", "sideload"),
        ("onnx", b"weights", "no class for this model", "ORTModelForQuestionAnswering"),
    ):
        bundle = seal(f"{kind}-{len(weights)}", kind=kind, weights=weights)
        use = card_of(bundle).text.split("## Use")[1].split("## Limits")[0]
        assert wanted in use
        assert absent not in use
    config = {"model_type": "bert", "architectures": ["BertForQuestionAnswering"]}
    use = card_of(seal("hub", kind="onnx", files={CONFIG: json.dumps(config)})).text
    assert 'ORTModelForQuestionAnswering.from_pretrained("hub")' in use
    assert "pipeline('question-answering', 'hub', { subfolder: '', dtype: 'fp32' })" in use


SHIPPED = "models/student-tflite-int8"


def without_pocketqa(text):
    """The Python of a card, or of a page, that needs no PocketQA."""
    (code,) = (
        code for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "Tokenizer.from_file" in code
    )
    return code


def test_the_card_of_a_shipped_model_shows_ancestors_up_to_a_mean_and_runs_without_pocketqa(
    monkeypatch, capsys
):
    bundle = open_bundle(ROOT / SHIPPED)
    made = model_card(bundle.manifest, bundle.settings, bundle.weights, SHIPPED)
    stages = made.split("## Made of")[1].split("## Figures")[0].strip().splitlines()
    assert len(stages) == 4
    assert "the mean of" in stages[-2]
    assert f"{len(bundle.manifest.ancestors) - 2} earlier" in stages[-1]
    code = without_pocketqa(made)
    assert code == without_pocketqa((ROOT / "docs" / "in-your-app.md").read_text(encoding="utf-8"))
    monkeypatch.chdir(ROOT)
    exec(code, {})
    assert capsys.readouterr().out == "Ada Lovelace\n"


@pytest.mark.parametrize("kind", ["onnx", "tflite"])
def test_exports_run_without_pocketqa_as_their_cards_print(kind, tiny_export, monkeypatch, capsys):
    """Windows of a file with fixed lengths, which this TFLite file has, are padded."""
    bundle = tiny_export(kind)
    capsys.readouterr()  # what the export printed
    monkeypatch.chdir(bundle.path.parent)
    exec(without_pocketqa((bundle.path / CARD).read_text(encoding="utf-8")), {})
    answer = capsys.readouterr().out.strip()
    assert answer
    assert answer in "Ada Lovelace wrote the first program in 1843."


def test_known_data_is_known_by_content_packed_or_not(tmp_path, embedded_reference):
    assert embedded_reference["dataset"] == "embedded"
    packed = resolve("embedded", "train")
    (tmp_path / "plain.json").write_bytes(gzip.decompress(packed.read_bytes()))
    assert data_reference(tmp_path / "plain.json")["dataset"] == "embedded"
    sample(SampleOptions(out=tmp_path / "part.json", questions=5, split="train"))
    sample(SampleOptions(out=tmp_path / "less.json", questions=2, data=str(tmp_path / "part.json")))
    part = data_reference(tmp_path / "part.json")
    assert part["made_from"] == source_reference(packed)
    assert data_reference(tmp_path / "less.json")["made_from"] == part
    (tmp_path / "wrong.json").write_text('{"made_from": {"name": 3}, "data": []}')
    assert "made_from" not in data_reference(tmp_path / "wrong.json")
    (tmp_path / "other.json").write_bytes(b"{}")
    assert data_reference(tmp_path / "other.json") == {
        "name": "other.json",
        "sha256": file_sha256(tmp_path / "other.json"),
    }
