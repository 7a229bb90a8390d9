"""Every standalone model: characters by token, what it may see, that it learns, and its way through the stages."""

import pytest
import torch
from quick import quick
from sixteen_questions import learns, sixteen_questions
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from torch import nn
from transformers import BertConfig

from compress.options import PruneOptions
from compress.prune.magnitude import linear_weights
from compress.prune.prune import prune
from distill.options import DistillOptions
from distill.student import student_from_layers
from distill.train_on_teacher import distil
from export.onnx.exporter import export as export_onnx
from export.options import OnnxOptions
from qa.base.errors import OptionError
from qa.bundles.bundle import open_bundle
from qa.models.architectures import encoder_type
from qa.models.encoders import Encoder
from qa.models.model import QAModel
from qa.models.pretrained import embedded_folder
from qa.models.standalone import STANDALONE_MODELS
from qa.models.standalone.parts import character_table
from qa.text.tokenization import load_tokenizer, vocabulary

LEARNING_RATES = {"qanet": 5e-3, "bidaf": 1e-2}
whole_models = pytest.mark.parametrize("name", STANDALONE_MODELS)


def inputs(n_question=3, n_passage=8, n_padding=0, seed=0):
    """One window of random tokens, [CLS] question [SEP] passage [SEP] padding."""
    n = n_question + n_passage + 3
    ids = torch.randint(1000, 30000, (1, n), generator=torch.Generator().manual_seed(seed))
    ids[0, 0], ids[0, n_question + 1], ids[0, -1] = 101, 102, 102
    types = (torch.arange(n) > n_question + 1).long()[None]
    tensors = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": types}
    return {name: nn.functional.pad(tensor, (0, n_padding)) for name, tensor in tensors.items()}


def test_characters_of_a_token():
    tokenizer = load_tokenizer(embedded_folder())
    table = character_table(tokenizer, 30522, 16, 127)
    chosen = ("s", "##s", "who", "how", "東", "mediterranean")
    by_token = {token: table[tokenizer.token_to_id(token)].tolist() for token in chosen}
    assert by_token["s"] == by_token["##s"]
    w, h, o = by_token["who"][:3]
    assert len({w, h, o}) == 3
    assert by_token["who"][3:16] == [0] * 13
    assert by_token["how"][:3] == [h, o, w]
    assert by_token["東"][:2] == [1, 0]
    assert all(0 < character < 127 for character in by_token["mediterranean"][:13])
    assert table.shape == (30522, 17)
    assert (table[:, -1] == 127).all()
    assert table.half().float().equal(table)


def test_an_id_without_a_token_has_no_characters():
    """As in a vocabulary that lists a token twice: its first id belongs to none."""
    words = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "ab": 5}
    tokenizer = Tokenizer(WordPiece(words, unk_token="[UNK]"))
    assert vocabulary(tokenizer) == [*list(words)[:4], None, "ab"]
    table = character_table(tokenizer, 7, 3, 9)
    assert table[4:, :3].bool().tolist() == [[False] * 3, [True, True, False], [False] * 3]


@whole_models
def test_it_starts_from_its_teachers_words(make_bundle, make_whole, name):
    words = QAModel.from_pretrained(make_bundle()).encoder.model.get_input_embeddings().weight
    assert torch.equal(make_whole(name).encoder.model.embedding.words.weight, words)
    first, again = (make_whole(name).head.start.weight for _ in range(2))
    assert torch.equal(first, again), "the same seed"


@whole_models
def test_saved_model_computes_the_same(make_whole, tmp_path, name):
    model = make_whole(name)
    model.save_pretrained(tmp_path)
    again = QAModel.from_pretrained(tmp_path)
    assert torch.equal(again(**inputs())["start_logits"], model(**inputs())["start_logits"])
    assert again.config() == model.config()


@whole_models
def test_padding_moves_nothing(make_whole, name):
    model = make_whole(name).double()
    wanted = model(**inputs())
    for n_padding in (5, 90):
        seen = model(**inputs(n_padding=n_padding))
        assert all((seen[name][:, :14] - wanted[name]).abs().max() < 1e-6 for name in wanted)
    other = inputs(n_padding=5)
    other["input_ids"][:, 14:] = 2345
    assert (model(**other)["end_logits"][:, :14] - wanted["end_logits"]).abs().max() < 1e-6


@whole_models
def test_question_and_passage_both_matter_and_a_batch_is_its_rows(make_whole, name):
    model = make_whole(name)
    first = inputs(n_padding=2)
    wanted = model(**first)["start_logits"]
    for position in (2, 8):
        changed = {**first, "input_ids": first["input_ids"].clone()}
        changed["input_ids"][0, position] = 4321
        assert (model(**changed)["start_logits"] - wanted)[0, 5:13].abs().max() > 1e-5
    second = inputs(5, 8, 0, seed=1)
    both = model(**{name: torch.cat([first[name], second[name]]) for name in first})["start_logits"]
    assert (both[0] - wanted[0])[:14].abs().max() < 1e-5
    assert (both[1] - model(**second)["start_logits"][0]).abs().max() < 1e-5


@pytest.mark.system
@whole_models
@pytest.mark.usefixtures("fresh_accelerate")
def test_it_learns_16_real_questions(make_bundle, make_whole, tmp_path, name):
    questions = sixteen_questions(make_bundle())
    assert learns(make_whole(name), questions, tmp_path, LEARNING_RATES[name])


# Through the stages


@whole_models
def test_magnitude_pruning_reaches_its_matrices(make_whole, name):
    matrix = {"qanet": "blocks.0.up.weight", "bidaf": "end.lstm.weight_hh_l0_reverse"}[name]
    assert f"encoder.model.{matrix}" in linear_weights(make_whole(name))


@pytest.mark.parametrize(
    ("name", "flag"),
    # test_bidaf.py exports BiDAF in the others
    quick(
        ("qanet", "fp32"), ("bidaf", "fp16"), rest=[("qanet", f) for f in ("fp16", "int8", "int8-weights")]
    ),
)
@pytest.mark.usefixtures("converted_once")
def test_onnx(make_whole_bundle, tmp_path, name, flag):
    """The exporter compares 40 real windows, padded and not, itself."""
    export_onnx(OnnxOptions(model=make_whole_bundle(name).path, out=tmp_path / "out", quantize=flag))


@whole_models
@pytest.mark.usefixtures("fresh_accelerate")
def test_a_bert_teaches_it(make_bundle, few, tmp_path, name):
    few |= {"teacher": make_bundle(), "student_encoder": name}
    made = distil(DistillOptions(out=tmp_path / "run", hidden_weight=0, cache=tmp_path / "cache", **few))
    model = QAModel.from_pretrained(made.path)
    assert model.config()["encoder"]["model_type"] == model.config()["head"]["name"] == name
    assert made.manifest.parent.sha256 == open_bundle(make_bundle()).sha256


@whole_models
def test_what_it_cannot_do_is_said(make_bundle, make_whole, make_whole_bundle, few, tmp_path, name):
    given = {"out": tmp_path / "r", "teacher": make_bundle(), "student_encoder": name, **few}
    with pytest.raises(OptionError, match="no layers to compare; give --hidden-weight 0"):
        distil(DistillOptions(**given))
    longest = f"--max-question-length must be at most 64, the longest that {name} reads, got 65"
    with pytest.raises(OptionError, match=longest):
        distil(DistillOptions(**given, max_question_length=65))
    assert not (tmp_path / "r").exists()
    with pytest.raises(OptionError, match="--student-head"):
        DistillOptions(student_encoder=name, student_head="linear")
    with pytest.raises(OptionError, match=f"{name} is a standalone model .*; it takes no head 'linear'"):
        QAModel(Encoder(encoder_type(name).config_class()), "linear")
    with pytest.raises(OptionError, match=f"unknown head '{name}'"):
        QAModel(Encoder(BertConfig(hidden_size=8, num_attention_heads=1, num_hidden_layers=1)), name)
    with pytest.raises(OptionError, match=f"{name} encoder cannot be pruned by heads"):
        prune(PruneOptions(model=make_whole_bundle(name).path, out=tmp_path / "p", **few))
    assert not (tmp_path / "p").exists()
    with pytest.raises(OptionError, match="--student-encoder"):
        student_from_layers(make_whole(name), 1)
