"""Heads: what each may see of a window, parameter counts, hand-worked numbers and references for feed-forward
and pointer."""

import math

import pytest
import torch
from head_inputs import H, layout, random_states, with_other
from torch import nn
from torch.nn import functional
from transformers import DistilBertConfig

from qa.models.encoders import Encoder
from qa.models.heads import HEADS, build_head
from qa.models.heads.pointer import PointerHead
from qa.models.heads.segments import answer_tokens, question_tokens, shifted
from qa.models.model import QAModel


@pytest.fixture(params=HEADS)
def head(request):
    return build_head(request.param, H, seed=1).eval()


# Tokens by segment


def test_question_and_answer_tokens_of_rows_of_different_lengths():
    # [CLS] q q [SEP] p p [SEP] and [CLS] q [SEP] p [SEP] and two of padding
    mask = torch.tensor([[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0, 0]])
    types = torch.tensor([[0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 0, 0]])
    states = random_states(7, 2)
    assert question_tokens(states, mask, types).tolist() == [[0, 1, 1, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0]]
    assert answer_tokens(states, mask, types).tolist() == [[1, 0, 0, 0, 1, 1, 0], [1, 0, 0, 1, 0, 0, 0]]


@pytest.mark.parametrize(("n_question", "n_passage"), [(0, 3), (2, 0), (0, 0)])
def test_an_empty_question_or_passage_has_no_tokens(n_question, n_passage):
    mask, types = layout(n_question, n_passage, 2)
    states = random_states(mask.shape[1])
    assert question_tokens(states, mask, types).sum() == n_question
    assert answer_tokens(states, mask, types).sum() == n_passage + 1


def test_shifted_moves_tokens_and_lets_zeros_in():
    values = torch.tensor([[1.0, 2, 3, 4]])
    assert shifted(values, 1).tolist() == [[2, 3, 4, 0]]
    assert shifted(values, -2).tolist() == [[0, 0, 1, 2]]
    assert shifted(values[..., None], 2).squeeze(-1).tolist() == [[3, 4, 0, 0]]


# Every head


def test_what_stands_in_padding_moves_nothing(head):
    mask, types = layout(4, 9, 5)
    states = random_states(21)
    n = int(mask.sum())
    other = with_other(states, slice(n, None))
    assert torch.equal(head(states, mask, types)[:, :n], head(other, mask, types)[:, :n])


def test_more_padding_moves_nothing(head):
    """In double precision, where other shapes mean other rounding only in the last digits."""
    head = head.double()
    states = random_states(90).double()
    (mask, types), (padded_mask, padded_types) = layout(4, 9), layout(4, 9, 74)
    n = mask.shape[1]
    difference = head(states[:, :n], mask, types) - head(states, padded_mask, padded_types)[:, :n]
    assert difference.abs().max() < 1e-12


def test_a_batch_is_its_rows(head):
    head = head.double()
    states = random_states(21, 2).double()
    rows = [layout(4, 9, 5), layout(7, 11)]
    together = head(states, *(torch.cat(parts) for parts in zip(*rows, strict=True)))
    for index, (mask, types) in enumerate(rows):
        n = int(mask.sum())
        assert (head(states[index : index + 1], mask, types)[0, :n] - together[index, :n]).abs().max() < 1e-12


def test_half_precision_stays_finite(head):
    mask, types = layout(4, 9, 5)
    logits = head.half()((10 * random_states(21)).half(), mask, types)
    assert logits.dtype == torch.float16
    assert logits.isfinite().all()


def test_a_window_without_question_or_passage_gives_finite_logits(head):
    for n_question, n_passage in ((0, 5), (3, 0), (0, 0)):
        mask, types = layout(n_question, n_passage)
        assert head(random_states(mask.shape[1]), mask, types).abs().max() < 100


def linear(n_in, n_out):
    return n_in * n_out + n_out


def count(name, h):
    """Parameters of a head, layer by layer."""
    convolution = {k: linear(k * h, h) for k in (2, 3, 4, 5)}
    multi = sum(convolution.values())
    highway = 2 * linear(h, h)
    width = h // 2
    return {
        "linear": linear(h, 2),
        "2l-tanh": linear(h, 384) + linear(384, 2),
        "2l-gelu": linear(h, 256) + linear(256, 2),
        "2l-relu-skip": linear(h, h) + linear(h, 2),
        "4l-relu": linear(h, 1024) + linear(1024, 200) + linear(200, 2),
        "4l-gelu-skip": linear(h, 1024) + linear(1024, h) + linear(h, 384) + linear(384, 2),
        # LSTM: four gates, one bias each; V without a bias, W with, v and c
        "pointer": 4 * width * (h + width + 1) + h * width + linear(width, width) + linear(width, 1),
        "qermit-cls": linear(h, 2),
        "qermit-maxpool": linear(h, 2),
        "qermit-cnn": convolution[5] + highway + linear(h, 2),
        "qermit-cnn-multi": multi + linear(h, 2),
        "qermit-cnn-multi-highway": multi + highway + linear(h, 2),
        "qermit-concat": convolution[5] + highway + linear(2 * h, h) + linear(h, h) + linear(h, 2),
    }[name]


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("h", [64, 384, 768])
def test_parameter_counts_follow_the_layers(name, h):
    with torch.device("meta"):
        assert sum(p.numel() for p in build_head(name, h).parameters()) == count(name, h)


def test_every_matrix_is_a_linears(head):
    """So that int8 and pruning, which look for Linears, pass over none."""
    linears = {module.weight for module in head.modules() if isinstance(module, nn.Linear)}
    assert {p for p in head.parameters() if p.ndim > 1} == linears


def test_weights_keep_the_names_that_bundles_have():
    assert list(build_head("linear", H).state_dict()) == ["output.weight", "output.bias"]
    names = [f"layers.{i}.{kind}" for i in range(4) for kind in ("weight", "bias")]
    assert list(build_head("4l-gelu-skip", H).state_dict()) == names


def test_question_heads_see_segments_that_the_encoder_does_not():
    torch.manual_seed(0)
    encoder = Encoder(DistilBertConfig(vocab_size=90, dim=32, n_layers=1, n_heads=4, hidden_dim=48))
    model = QAModel(encoder, "qermit-maxpool").eval()
    ids = torch.arange(1, 13)[None]
    (mask, types), (_, longer) = layout(2, 7), layout(5, 4)
    same, other = (model(ids, mask, t)["start_logits"] for t in (types, longer))
    assert (same - other).abs().max() > 1e-3


# Feed-forward heads


@pytest.mark.parametrize(
    ("name", "activation"),
    [("2l-tanh", torch.tanh), ("2l-gelu", functional.gelu), ("4l-relu", torch.relu)],
)
def test_layers_alternate_with_the_activation(name, activation):
    head = build_head(name, H, seed=2)
    states = random_states(5)
    wanted = states
    for number, layer in enumerate(head.layers):
        wanted = layer(activation(wanted) if number else wanted)
    assert torch.allclose(head(states, *layout(1, 1)), wanted, atol=1e-6)


def test_gelu_heads_follow_the_activation_chosen():
    states = random_states(5)
    exact, tanh = (
        build_head("2l-gelu", H, activation, seed=2)(states, *layout(1, 1))
        for activation in ("gelu", "gelu_tanh")
    )
    assert 0 < (exact - tanh).abs().max() < 1e-2


def test_two_layer_skip_adds_the_encoder_output_after_the_relu():
    head = build_head("2l-relu-skip", 2)
    for layer, bias in zip(head.layers, ([0, 0], [10, 20]), strict=True):
        layer.load_state_dict({"weight": torch.eye(2), "bias": torch.tensor(bias).float()})
    # ReLU(3, -4) + (3, -4) = (6, -4)
    assert head(torch.tensor([[[3.0, -4.0]]]), torch.ones(1, 1), torch.zeros(1, 1)).tolist() == [[[16, 16]]]


# Pointer


def test_pointer_by_hand():
    """H = 2, L = 1. Gates get no input: input, forget and output gate 1/2; candidate tanh(100) = 1."""
    head = PointerHead(2, "gelu")
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.zero_()
        head.cell.input_gates.bias[2] = 100
        head.token.weight[:] = torch.tensor([[1.0, 0.0]])
        head.query.weight[:] = 1
        head.output.weight[:] = 2
        head.output.bias[:] = 1
    states = torch.tensor([[[0.3, 9.0], [-0.2, 9.0], [0.0, 9.0], [0.1, 9.0]]])
    logits = head(states, *layout(0, 1))[0]
    h_1 = 0.5 * math.tanh(0.5)  # c_1 = 1/2 x 1
    h_2 = 0.5 * math.tanh(0.75)  # c_2 = 1/2 x 1/2 + 1/2 x 1
    for token, first in enumerate((0.3, -0.2, 0.0, 0.1)):
        assert logits[token, 0].item() == pytest.approx(2 * math.tanh(first + h_1) + 1, abs=1e-6)
        assert logits[token, 1].item() == pytest.approx(2 * math.tanh(first + h_2) + 1, abs=1e-6)


def test_pointer_equals_a_reference_on_torchs_lstm():
    """The same weights in torch.nn.LSTM, and the attention over the passage cut out by index instead of
    masked."""
    head = build_head("pointer", H, seed=3)
    lstm = nn.LSTM(H, H // 2, batch_first=True)
    cell = head.cell
    weights = {"weight_ih_l0": cell.input_gates.weight, "weight_hh_l0": cell.hidden_gates.weight}
    biases = {"bias_ih_l0": cell.input_gates.bias, "bias_hh_l0": torch.zeros(2 * H)}
    lstm.load_state_dict(weights | biases)
    states = random_states(19)
    mask, types = layout(4, 9, 3)
    allowed = [0, *range(6, 15)]  # [CLS] and the passage without its [SEP]

    def scores(hidden):
        mixed = torch.tanh(states[0] @ head.token.weight.T + head.query(hidden))
        return mixed @ head.output.weight[0] + head.output.bias

    first = states[:, 0]
    start = scores(lstm(first[:, None])[0][0, -1])
    chosen = start[allowed].softmax(0) @ states[0, allowed]
    end = scores(lstm(torch.stack([first, chosen[None]], 1))[0][0, -1])
    logits = head(states, mask, types)[0]
    n = int(mask.sum())
    assert (logits[:n] - torch.stack([start, end], 1)[:n]).abs().max() < 1e-6
    assert (logits[n:] < -9000).all()


def test_pointer_attends_to_where_an_answer_may_stand():
    head = build_head("pointer", H, seed=4)
    states = random_states(16)
    mask, types = layout(4, 9)
    before = head(states, mask, types)
    question = slice(1, 6)
    passage = slice(6, 15)
    last_sep = slice(15, 16)
    for unseen in (question, last_sep):
        after = head(with_other(states, unseen), mask, types)
        kept = [t for t in range(16) if t not in range(16)[unseen]]
        assert torch.equal(after[:, kept], before[:, kept])
    after = head(with_other(states, passage), mask, types)
    assert torch.equal(after[:, 0, 0], before[:, 0, 0])
    assert (after[:, 0, 1] - before[:, 0, 1]).abs() > 1e-4


def test_the_end_follows_the_start():
    """Where the start is certain, the second step reads that token alone."""
    head = build_head("pointer", H, seed=5)
    mask, types = layout(2, 3)
    states = random_states(8)
    with torch.no_grad():
        head.output.weight *= 1e4
        first = head.cell(states[:, :1], None)
        start = int(head(states, mask, types)[0, [0, 4, 5, 6], 0].argmax())
        second = head.cell(states[:, [[0, 4, 5, 6][start]]], first)
        wanted = head.output((head.token(states) + head.query(second[0])).tanh())[..., 0]
    assert torch.allclose(head(states, mask, types)[..., 1], wanted, rtol=1e-4)
