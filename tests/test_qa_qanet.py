"""QANet: hand-worked attention, characters by token, what it may see, that it learns, and its way through every stage."""

import numpy as np
import pytest
import torch
from torch import nn
from transformers import BertConfig

import export.onnx
import export.tflite
from compress.magnitude import linear_weights
from compress.prune import PruneConfig
from compress.prune import main as prune
from distill.batches import to_tensors
from distill.objectives import supervised
from distill.run import DistillConfig
from distill.run import main as distil
from distill.student import student_from_layers, whole_student
from distill.training import Trainer, TrainingOptions
from export.parity import real_windows
from export.tflite import read_structure
from qa.bundle import SETTINGS, new_bundle, open_bundle
from qa.datasets import resolve
from qa.errors import OptionError
from qa.evaluate import predict, score
from qa.features import collate, make_windows
from qa.models.encoders import Encoder
from qa.models.model import QAModel
from qa.models.pretrained import copy_tokenizer, embedded_folder
from qa.models.qanet import ContextQueryAttention, QANetConfig, character_table, position_table
from qa.runtimes import TorchRuntime, load_runtime, run_windows
from qa.squad import read_squad
from qa.tokenization import load_tokenizer

SMALL = {"width": 32, "n_heads": 4, "n_blocks": 1}
LENGTH = 128

pytestmark = pytest.mark.usefixtures("converted_once")


@pytest.fixture(scope="module")
def tokenizer():
    return load_tokenizer(embedded_folder())


@pytest.fixture(scope="module")
def student(make_bundle, tokenizer):
    """A function that makes a fresh small QANet with the words of a tiny BERT."""
    return lambda: whole_student("qanet", QAModel.from_pretrained(make_bundle()), tokenizer, 0, **SMALL).eval()


@pytest.fixture(scope="module")
def bundle(make_bundle, student, tmp_path_factory):
    parent, model = open_bundle(make_bundle()), student()
    path = tmp_path_factory.mktemp("qanet") / "qanet"
    counts = model.count_parameters()
    parameters = {"total": counts.total, "without_embeddings": counts.without_embeddings}
    with new_bundle(
        path, {"kind": "pytorch", "precision": "fp32", "stage": "distill", "parent": None, "parameters": parameters}
    ) as draft:
        model.save_pretrained(draft)
        copy_tokenizer(embedded_folder(), draft)
        parent.settings.save(draft / SETTINGS)
    return open_bundle(path)


def inputs(n_question=3, n_passage=8, n_padding=0, seed=0):
    """One window of random tokens, [CLS] question [SEP] passage [SEP] padding."""
    n = n_question + n_passage + 3
    ids = torch.randint(1000, 30000, (1, n), generator=torch.Generator().manual_seed(seed))
    ids[0, 0], ids[0, n_question + 1], ids[0, -1] = 101, 102, 102
    types = (torch.arange(n) > n_question + 1).long()[None]
    tensors = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": types}
    return {name: nn.functional.pad(tensor, (0, n_padding)) for name, tensor in tensors.items()}


def test_context_query_attention_by_hand():
    """Two context tokens, two question tokens, D = 2; S = w_c c + w_q q + w_m (c * q)."""
    attention = ContextQueryAttention(2)
    with torch.no_grad():
        attention.context.weight.copy_(torch.tensor([[1.0, 0]]))
        attention.question.weight.copy_(torch.tensor([[0.0, 1]]))
        attention.product.copy_(torch.tensor([2.0, 1]))
    context, question = torch.tensor([[[1.0, 0], [0, 1]]]), torch.tensor([[[1.0, 1], [0, 2]]])
    # S[1,1] = 1 + 1 + 2 = 4    S[1,2] = 1 + 2 + 0 = 3
    # S[2,1] = 0 + 1 + 1 = 2    S[2,2] = 0 + 2 + 2 = 4
    e = np.exp
    rows = [[1 / (1 + e(-1)), 1 / (1 + e(1))], [1 / (1 + e(2)), 1 / (1 + e(-2))]]
    columns = [[1 / (1 + e(-2)), 1 / (1 + e(2))], [1 / (1 + e(1)), 1 / (1 + e(-1))]]  # by question token, over the context
    a = np.array(rows) @ [[1, 1], [0, 2]]
    b = np.array(rows) @ np.array(columns) @ [[1, 0], [0, 1]]
    c = np.array([[1, 0], [0, 1]])
    wanted = np.concatenate([c, a, c * a, c * b], axis=1)
    ones = torch.ones(1, 2)
    assert np.abs(attention(context, question, ones, ones)[0].detach().numpy() - wanted).max() < 1e-6
    # Without the second question token, each context token finds the first.
    seen = attention(context, question, ones, torch.tensor([[1.0, 0]]))[0, :, 2:4]
    assert torch.allclose(seen, torch.tensor([[1.0, 1], [1, 1]]))


def test_positions_by_hand():
    table = position_table(3, 4)
    assert torch.allclose(table[0], torch.tensor([0.0, 0, 1, 1]))
    assert torch.allclose(table[2], torch.tensor([np.sin(2), np.sin(2e-4), np.cos(2), np.cos(2e-4)], dtype=torch.float))


def test_characters_of_a_token(tokenizer):
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


def test_parameter_count_of_the_papers_size():
    with torch.device("meta"):
        counts = QAModel(Encoder(QANetConfig()), "qanet").count_parameters()
    assert counts.without_embeddings == 1_563_650
    assert counts.total - counts.without_embeddings == 30522 * 384 + 127 * 64


def test_it_starts_from_its_teachers_words(make_bundle, student):
    words = QAModel.from_pretrained(make_bundle()).encoder.model.get_input_embeddings().weight
    assert torch.equal(student().encoder.model.embedding.words.weight, words)
    assert torch.equal(student().head.start.weight, student().head.start.weight)  # the same seed


def test_saved_model_computes_the_same(student, tmp_path):
    model = student()
    model.save_pretrained(tmp_path)
    again = QAModel.from_pretrained(tmp_path)
    assert torch.equal(again(**inputs())["start_logits"], model(**inputs())["start_logits"])
    assert again.config() == model.config()


def test_padding_moves_nothing(student):
    model = student().double()
    wanted = model(**inputs())
    for n_padding in (5, 90):
        seen = model(**inputs(n_padding=n_padding))
        assert all((seen[name][:, :14] - wanted[name]).abs().max() < 1e-6 for name in wanted)
    other = inputs(n_padding=5)
    other["input_ids"][:, 14:] = 2345
    assert (model(**other)["end_logits"][:, :14] - wanted["end_logits"]).abs().max() < 1e-6


def test_question_and_passage_both_matter_and_a_batch_is_its_rows(student):
    model, first = student(), inputs(n_padding=2)
    wanted = model(**first)["start_logits"]
    for position in (2, 8):
        changed = {**first, "input_ids": first["input_ids"].clone()}
        changed["input_ids"][0, position] = 4321
        assert (model(**changed)["start_logits"] - wanted)[0, 5:13].abs().max() > 1e-3
    second = inputs(5, 8, 0, seed=1)
    both = model(**{name: torch.cat([first[name], second[name]]) for name in first})["start_logits"]
    assert (both[0] - wanted[0])[:14].abs().max() < 1e-5
    assert (both[1] - model(**second)["start_logits"][0]).abs().max() < 1e-5


@pytest.mark.usefixtures("fresh_accelerate")
def test_it_learns_16_real_questions(make_bundle, student, tmp_path):
    parent, model = open_bundle(make_bundle()), student()
    examples = [e for e in read_squad(resolve("embedded", "train")) if len(e.context) < 350][:16]
    windows = make_windows(examples, parent.tokenizer(), parent.settings)

    def f1():
        batch = to_tensors(windows)
        with torch.no_grad():
            output = model.eval()(**{k: batch[k] for k in ("input_ids", "attention_mask", "token_type_ids")})
        pairs = zip(windows, output["start_logits"].numpy(), output["end_logits"].numpy(), strict=True)
        logits = [(start[: len(w.input_ids)], end[: len(w.input_ids)]) for w, start, end in pairs]
        return score(examples, predict(examples, windows, logits, parent.settings), None)["f1"]

    assert f1() < 50
    Trainer(model, windows, supervised, TrainingOptions(5e-3, 16, 100, precision="fp32"), tmp_path, "t").train()
    assert f1() == 100


# Through the stages


@pytest.mark.parametrize("flag", ["none", "fp16", "int8", "int8-weights"])
def test_onnx(bundle, tmp_path, flag):
    """The exporter compares 40 real windows, padded and not, itself."""
    exported = export.onnx.main(export.onnx.OnnxConfig(model=bundle.path, out=tmp_path / "out", quantize=flag))
    if flag == "none":
        batch = collate(real_windows(bundle)[:3])
        for wanted, seen in zip(TorchRuntime(bundle, 1)(batch), load_runtime(exported, 1)(batch), strict=True):
            assert np.abs(wanted - seen)[batch["attention_mask"] == 1].max() < 1e-4


@pytest.mark.parametrize("flag", ["none", "fp16", "int8", "int8-weights"])
def test_tflite(bundle, tmp_path, flag):
    config = export.tflite.TFLiteConfig(model=bundle.path, out=tmp_path / "out", quantize=flag, lengths=(LENGTH,))
    exported = export.tflite.main(config)
    if flag == "none":
        windows = real_windows(bundle)[:5]
        wanted, seen = (run_windows(runtime, windows) for runtime in (TorchRuntime(bundle, 1), load_runtime(exported, 1)))
        assert max(np.abs(a - b).max() for w, s in zip(wanted, seen, strict=True) for a, b in zip(w, s, strict=True)) < 1e-4
    if flag == "int8":
        assert {key[1:] for key in read_structure(exported.weights.read_bytes()).weight_types} == {("INT8", False)}


@pytest.mark.usefixtures("fresh_accelerate")
def test_a_bert_teaches_it(make_bundle, small_squad, tmp_path):
    config = DistillConfig(
        out=tmp_path / "run", teacher=make_bundle(), student_encoder="qanet", hidden_weight=0, data=str(small_squad), epochs=0.5,
        cache=tmp_path / "cache",
    )  # fmt: skip
    made = distil(config)
    model = QAModel.from_pretrained(made.path)
    assert model.config()["encoder"]["model_type"] == model.config()["head"]["name"] == "qanet"
    assert made.manifest["parent"]["sha256"] == open_bundle(make_bundle()).sha256


def test_what_it_cannot_do_is_said(make_bundle, bundle, student, small_squad, tmp_path):
    with pytest.raises(OptionError, match="no layers to compare; give --hidden-weight 0"):
        distil(DistillConfig(out=tmp_path / "r", teacher=make_bundle(), student_encoder="qanet", data=str(small_squad)))
    assert not (tmp_path / "r").exists()
    with pytest.raises(OptionError, match="--student-head"):
        DistillConfig(student_encoder="qanet", student_head="linear")
    with pytest.raises(OptionError, match="qanet is a whole model with an output layer of its own; it takes no head 'linear'"):
        QAModel(Encoder(QANetConfig()), "linear")
    with pytest.raises(OptionError, match="unknown head 'qanet'"):
        QAModel(Encoder(BertConfig(hidden_size=8, num_attention_heads=1, num_hidden_layers=1)), "qanet")
    with pytest.raises(OptionError, match="qanet encoder cannot be pruned by heads"):
        prune(PruneConfig(model=bundle.path, out=tmp_path / "p", data=str(small_squad)))
    with pytest.raises(OptionError, match="--student-layers"):
        student_from_layers(student(), 1)
    assert "encoder.model.blocks.0.up.weight" in linear_weights(student())
