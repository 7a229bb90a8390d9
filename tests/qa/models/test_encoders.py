"""ALBERT, ELECTRA, RoBERTa, MPNet, MobileBERT and MiniLM: as transformers has them; shared layers, tokens,
positions, pruning."""

import copy
import json

import numpy as np
import pytest
import torch
import transformers
from made_tokenizers import byte_pairs, sentence_pieces
from quick import quick
from tiny_models import VOCABULARY_SIZE, WRITE_TOKENIZER
from torch import nn
from transformers import (
    AlbertConfig,
    BertConfig,
    DistilBertConfig,
    ElectraConfig,
    MobileBertConfig,
    MPNetConfig,
    RobertaConfig,
)
from transformers.models.mpnet.modeling_mpnet import MPNetEncoder

from compress.options import PruneOptions
from compress.prune.prune import prune
from distill.options import DistillOptions
from distill.prune_plan.options import PruningOptions
from distill.prune_plan.plan import prune_by_importance
from distill.student import same_tokens, set_attention_dropout, student_from_layers
from distill.train_on_teacher import distil
from distill.training.batches import model_inputs, to_tensors
from qa.base.errors import BundleError, OptionError
from qa.data.datasets import resolve
from qa.data.squad import Answer, Example, read_squad
from qa.models.architectures import ENCODERS
from qa.models.encoders import Encoder
from qa.models.heads import HEADS
from qa.models.model import QAModel
from qa.models.pretrained import (
    checkpoint_folder,
    copy_tokenizer,
    embedded_folder,
    find_encoder,
    load_encoder,
)
from qa.models.surgery import keep_heads, keep_neurons
from qa.text.features import collate, make_windows
from qa.text.settings import QASettings
from qa.text.tokenization import load_encoder_tokenizer, load_tokenizer

TINY = {
    "vocab_size": 90,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
}
CONFIGS = {
    "bert": lambda: BertConfig(**TINY),
    "distilbert": lambda: DistilBertConfig(vocab_size=90, dim=32, n_layers=3, n_heads=4, hidden_dim=48),
    "albert": lambda: AlbertConfig(**TINY, embedding_size=16),
    "electra": lambda: ElectraConfig(**TINY, embedding_size=16),
    "roberta": lambda: RobertaConfig(**TINY, type_vocab_size=1, max_position_embeddings=40),
    "mpnet": lambda: MPNetConfig(**TINY, max_position_embeddings=40),
    "mobilebert": lambda: MobileBertConfig(**TINY, embedding_size=16, intra_bottleneck_size=16),
}
KINDS = sorted(CONFIGS)
UNTYPED = ("distilbert", "roberta", "mpnet")  # here without token types, or of one type


def theirs(kind):
    return getattr(transformers, ENCODERS[kind].question_answering)


def build(kind, head="linear", activation="gelu"):
    """Weights large enough that every part of the model matters."""
    torch.manual_seed(0)
    model = QAModel(Encoder(CONFIGS[kind]()), head, activation).eval()
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=module.in_features**-0.5)
    return model


def batch(pad_id=1, length=12):
    """Two windows, the second with four tokens of padding."""
    ids = torch.randint(3, 90, (2, length), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    mask[1, -4:] = 0
    ids[mask == 0] = pad_id
    types = (torch.arange(length) > 4).long().expand(2, -1) * mask
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}


@pytest.mark.parametrize(
    ("kind", "head"), [*((kind, "qermit-cnn") for kind in KINDS), *(("bert", head) for head in HEADS)]
)
def test_saved_model_computes_the_same(tmp_path, kind, head):
    model = build(kind, head, "gelu_tanh")
    parts = model.encoder.layer_parts()
    if parts:
        keep_heads(parts[-1], torch.tensor([0, 2]))
        keep_neurons(parts[0], torch.tensor([1, 5, 7]))
    model.save_pretrained(tmp_path)
    again = QAModel.from_pretrained(tmp_path)
    assert torch.equal(again(**batch())["start_logits"], model(**batch())["start_logits"])
    assert again.config() == model.config()
    kept = [
        [p.n_heads for p in again.encoder.layer_parts()],
        [p.n_neurons for p in again.encoder.layer_parts()],
    ]
    assert not parts or (kept[0][-1], kept[1][0]) == (2, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_padding_moves_nothing_whatever_stands_there(kind):
    model = build(kind)
    inputs = batch()
    keep = inputs["attention_mask"].bool()
    wanted = model(**inputs)["end_logits"]
    longer = {name: nn.functional.pad(tensor, (0, 7)) for name, tensor in inputs.items()}
    for other in (longer, batch(pad_id=0)):
        assert (model(**other)["end_logits"][:, :12] - wanted)[keep].abs().max() < 1e-5


# Pruning


@pytest.mark.parametrize("kind", ["albert", "bert", "distilbert", "electra", "roberta"])
def test_neurons_and_heads_that_put_nothing_out_can_be_removed(kind):
    """In ALBERT once for all of its steps."""
    model = build(kind)
    layers = model.encoder.layer_parts()
    assert len(layers) == (1 if kind == "albert" else len(model.encoder.layers))
    with torch.no_grad():
        for parts in layers:
            parts.down.weight[:, [0, 9, 47]] = 0
            parts.attention_output.weight[:, 8:16] = 0  # head 1 of size 8
    before = model(**batch())["start_logits"]
    n_before = model.count_parameters().total
    for parts in layers:
        keep_neurons(parts, torch.tensor([i for i in range(48) if i not in (0, 9, 47)]))
        keep_heads(parts, torch.tensor([0, 2, 3]))
    assert (model(**batch())["start_logits"] - before).abs().max() < 1e-6
    n_removed = 3 * (32 + 1 + 32) + 8 * (3 * 33 + 32)
    assert n_before - model.count_parameters().total == n_removed * len(layers)
    assert model.config()["heads_per_layer"] == [3] * len(layers)


def test_a_head_of_mpnet_takes_its_share_of_the_position_bias_along():
    """Pruned twice, so that the heads are counted among those that were left."""
    model = build("mpnet")
    unpruned = model.state_dict().keys()
    keep_heads(model.encoder.layer_parts()[0], torch.arange(4))
    assert model.state_dict().keys() == unpruned, "a layer that keeps all its heads is saved as it was"
    nn.init.normal_(model.encoder.model.encoder.relative_attention_bias.weight)
    parts = model.encoder.layer_parts()[1]
    with torch.no_grad():
        parts.attention_output.weight[:, 0:16] = 0  # heads 0 and 1 of size 8
    before = model(**batch())["start_logits"]
    keep_heads(parts, torch.tensor([1, 2, 3]))
    assert (model(**batch())["start_logits"] - before).abs().max() < 1e-6
    keep_heads(parts, torch.tensor([1, 2]))
    assert (model(**batch())["start_logits"] - before).abs().max() < 1e-6
    assert parts.n_heads == 2


def test_the_buckets_of_mpnets_distances_are_those_of_transformers():
    distances = torch.arange(-600, 601)[None]
    ours = build("mpnet").encoder.model.encoder.relative_position_bucket(distances)
    assert torch.equal(ours, MPNetEncoder.relative_position_bucket(distances))


@pytest.mark.parametrize("kind", ["albert", "roberta", "mpnet"])
def test_structured_pruning(make_bundle, windows, tmp_path, kind):
    model = QAModel.from_pretrained(make_bundle(kind))
    n_stored = len(model.encoder.layer_parts())
    flags = PruningOptions(keep_ffn=0.5, keep_heads=0.75)
    facts = prune_by_importance(model, model, windows[:4], flags, QASettings(), work=tmp_path)
    assert sum(facts["heads_per_layer"]) == 3 * n_stored
    assert len(facts["neurons_per_layer"]) == n_stored == (1 if kind == "albert" else 2)
    assert model(**model_inputs(to_tensors(windows[:4])))["start_logits"].isfinite().all()


def test_mobilebert_says_why_it_cannot_be_pruned_and_what_can_be_done(make_bundle, small_squad, tmp_path):
    config = PruneOptions(model=make_bundle("mobilebert"), out=tmp_path / "out", data=str(small_squad))
    with pytest.raises(
        OptionError, match=r"mobilebert encoder cannot be pruned.*bottleneck.*--method magnitude"
    ):
        prune(config)
    assert not (tmp_path / "out").exists()


# Students


@pytest.mark.parametrize("kind", KINDS)
def test_a_student_of_all_layers_is_its_teacher(kind):
    teacher = build(kind)
    assert torch.equal(
        student_from_layers(teacher, 3).eval()(**batch())["end_logits"], teacher(**batch())["end_logits"]
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_student_of_the_last_layer_starts_from_the_teachers_weights(kind):
    teacher = build(kind)
    student = student_from_layers(teacher, 1).eval()
    assert len(student.encoder.layers) == 1
    expected = copy.deepcopy(teacher)
    if kind == "albert":
        expected.encoder.model.config.num_hidden_layers = 1
    else:
        stack = getattr(expected.encoder.model, "transformer" if kind == "distilbert" else "encoder")
        stack.layer = stack.layer[2:]
    assert torch.equal(student(**batch())["end_logits"], expected(**batch())["end_logits"])


@pytest.mark.usefixtures("fresh_accelerate")
@pytest.mark.parametrize("kind", quick("albert", "roberta", rest=["electra", "mobilebert", "mpnet"]))
def test_distillation_makes_a_student(make_bundle, few, tmp_path, kind):
    options = few | {"hidden_weight": 0 if kind == "mobilebert" else 10}
    bundle = distil(
        DistillOptions(out=tmp_path / "run", teacher=make_bundle(kind), student_layers=1, **options)
    )
    assert QAModel.from_pretrained(bundle.path).encoder.config.num_hidden_layers == 1
    assert (bundle.path / "tokenizer.json").read_bytes() == (
        make_bundle(kind) / "tokenizer.json"
    ).read_bytes()


# Loading


@pytest.mark.parametrize("kind", KINDS)
def test_an_encoder_is_loaded_from_a_local_folder(tmp_path, kind):
    config = CONFIGS[kind]()
    config.update({"max_position_embeddings": 514, "vocab_size": VOCABULARY_SIZE + 5})
    torch.manual_seed(1)
    reference = theirs(kind)(config).eval()
    reference.save_pretrained(tmp_path)
    WRITE_TOKENIZER.get(kind, lambda path: copy_tokenizer(embedded_folder(), path))(tmp_path)
    encoder = load_encoder(str(tmp_path)).eval()
    ids, mask, types = batch(config.pad_token_id).values()
    wanted = getattr(reference, kind)(
        ids, mask, **({} if kind in UNTYPED else {"token_type_ids": types})
    ).last_hidden_state
    assert (encoder(ids, mask, types)[0] - wanted)[mask.bool()].abs().max() < 1e-5


def test_positions_before_the_first_do_not_count(tmp_path):
    config = CONFIGS["roberta"]()
    config.update({"max_position_embeddings": 385, "vocab_size": VOCABULARY_SIZE})
    theirs("roberta")(config).save_pretrained(tmp_path)
    byte_pairs(tmp_path)
    encoder = load_encoder(str(tmp_path))
    encoder.check_length(383)
    with pytest.raises(OptionError, match="must be at most 383, the positions of the encoder, got 384"):
        encoder.check_length(384)


def test_albert_with_several_groups_is_refused():
    with pytest.raises(OptionError, match="num_hidden_groups 2"):
        Encoder(AlbertConfig(**TINY, num_hidden_groups=2))


def test_a_mistyped_path_is_no_hub_name(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: tmp_path)
    assert checkpoint_folder("of-nobody/bert") == tmp_path
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    with pytest.raises(OptionError, match="encoder 'runs/typo'"):
        find_encoder("runs/typo")


# Tokens


EMOJI_AND_SCRIPTS = "👩‍👩‍👧‍👦 שלום 中文 e\u0301"
TEXTS = ["<s> a </s></s>", "x<pad><mask>", "[CLS] [SEP]", " \n\t ", "", EMOJI_AND_SCRIPTS, "word " * 900]


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory):
    made = {"wordpiece": load_tokenizer(embedded_folder())}
    for make in (byte_pairs, sentence_pieces):
        folder = tmp_path_factory.mktemp(make.__name__)
        make(folder)
        made[make.__name__] = load_tokenizer(folder)
    return made


def test_byte_pair_window_has_two_separators_and_types_from_the_passage_on(tokenizers):
    tokenizer = tokenizers["byte_pairs"]
    example = Example("q", "t", "Ada wrote it.", "Who?", (Answer("Ada", 0),), False)
    (window,) = make_windows([example], tokenizer, QASettings())
    question, passage = (
        tokenizer.encode(text, add_special_tokens=False).ids for text in ("Who?", "Ada wrote it.")
    )
    assert window.input_ids.tolist() == [0, *question, 2, 2, *passage, 2]
    assert window.input_ids.tolist() == tokenizer.encode("Who?", "Ada wrote it.").ids
    assert window.context_begin == len(question) + 3
    assert collate([window])["token_type_ids"][0].tolist() == [0] * window.context_begin + [1] * (
        len(passage) + 1
    )


def test_sentence_piece_window_has_its_own_special_tokens(tokenizers):
    (window,) = make_windows(
        [Example("q", "t", "Ada.", "Who?", (), True)], tokenizers["sentence_pieces"], QASettings()
    )
    ids = window.input_ids.tolist()
    assert [ids[0], ids[window.context_begin - 1], ids[-1]] == [2, 3, 3]


@pytest.mark.parametrize("family", ["byte_pairs", "sentence_pieces"])
def test_answers_are_cut_out_without_the_space_before_them(tokenizers, family):
    examples = read_squad(resolve("embedded", "train"))[:300]
    windows = make_windows(examples, tokenizers[family], QASettings())
    seen = []
    for w in windows:
        if w.start_position:
            start = w.char_starts[w.start_position - w.context_begin]
            end = w.char_ends[w.end_position - w.context_begin]
            seen.append((examples[w.example].answers[0].text, examples[w.example].context[start:end]))
    assert len(seen) > 250
    assert all(wanted in text for wanted, text in seen)
    # The rest: tokens of the small vocabulary cross its ends.
    assert np.mean([wanted == text for wanted, text in seen]) > 0.9


@pytest.mark.parametrize("family", ["byte_pairs", "sentence_pieces"])
@pytest.mark.parametrize("text", TEXTS)
def test_any_text_gives_whole_windows(tokenizers, family, text):
    tokenizer = tokenizers[family]
    separator = tokenizer.token_to_id("</s>" if family == "byte_pairs" else "[SEP]")
    for window in make_windows([Example("q", "t", text, text, (), True)], tokenizer, QASettings()):
        separators = [k for k, token in enumerate(window.input_ids) if token == separator]
        n_between = 2 if family == "byte_pairs" else 1
        between = range(window.context_begin - n_between, window.context_begin)
        assert separators == [*between, len(window.input_ids) - 1]
        assert len(window.input_ids) <= 384
        # A byte-pair token of white space alone is trimmed to nothing.
        assert (window.char_starts <= window.char_ends).all()
        assert (window.char_ends <= len(text)).all()


def test_tokenizers_of_different_families_are_told_apart(tokenizers):
    for name, one in tokenizers.items():
        for other_name, other in tokenizers.items():
            assert same_tokens(one, other) == (name == other_name)


def test_a_special_token_of_an_encoders_own_is_read_in_a_text(tmp_path):
    parts = json.loads((embedded_folder() / "tokenizer.json").read_text())
    n = len(parts["model"]["vocab"])
    parts["added_tokens"].append(
        {**parts["added_tokens"][0], "id": n, "content": "[PERSON]", "special": True}
    )
    (tmp_path / "tokenizer.json").write_text(json.dumps(parts))
    own = load_encoder_tokenizer(tmp_path)
    pieces = own.encode("[PERSON] wrote [SEP]", add_special_tokens=False).tokens
    assert pieces[:2] == ["[PERSON]", "wrote"]
    assert "[SEP]" not in pieces
    (tmp_path / "manifest.json").write_text("{}")  # a bundle reads as it was trained
    as_text = load_encoder_tokenizer(tmp_path)
    assert "[PERSON]" not in as_text.encode("[PERSON] wrote", add_special_tokens=False).tokens
    assert same_tokens(own, own)
    assert not same_tokens(own, as_text)


def test_a_tokenizer_of_no_family_is_refused(tmp_path, tokenizers):
    text = tokenizers["byte_pairs"].to_str().replace("</s>", "</z>")
    (tmp_path / "tokenizer.json").write_text(text, encoding="utf-8")
    with pytest.raises(BundleError, match=r"special tokens.*BERT, ALBERT or RoBERTa"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_attention_of_any_encoder_can_do_without_dropout(kind):
    config = CONFIGS[kind]()
    for name in ("hidden_dropout_prob", "dropout"):
        setattr(config, name, 0.0)
    for name in ("attention_probs_dropout_prob", "attention_dropout"):
        setattr(config, name, 0.9)
    model = QAModel(Encoder(config), "linear").train()
    ids = torch.arange(1, 21)[None]
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": 0 * ids}

    def repeats():
        return torch.equal(*(model(**inputs)["start_logits"] for _ in range(2)))

    assert not repeats()
    set_attention_dropout(model, 0.0)
    assert repeats()
