"""Heads: what each may see of a window, hand-worked numbers, and references for feed-forward and pointer."""

import pytest
import torch
from head_inputs import H, layout, random_states, with_other
from torch import nn
from torch.nn import functional
from transformers import DistilBertConfig

from qa.models.encoders import Encoder
from qa.models.heads import HEADS, build_head
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


@pytest.mark.parametrize(("n_question", "n_passage", "n_padding"), [(4, 9, 3), (0, 1, 0)])
def test_pointer_equals_a_reference_on_torchs_lstm(n_question, n_passage, n_padding):
    """The same weights in torch.nn.LSTM, and the attention over the passage cut out by index instead of
    masked."""
    head = build_head("pointer", H, seed=3)
    lstm = nn.LSTM(H, H // 2, batch_first=True)
    cell = head.cell
    weights = {"weight_ih_l0": cell.input_gates.weight, "weight_hh_l0": cell.hidden_gates.weight}
    biases = {"bias_ih_l0": cell.input_gates.bias, "bias_hh_l0": torch.zeros(2 * H)}
    lstm.load_state_dict(weights | biases)
    mask, types = layout(n_question, n_passage, n_padding)
    states = random_states(mask.shape[1])
    passage = n_question + 2
    allowed = [0, *range(passage, passage + n_passage)]  # [CLS] and the passage without its [SEP]

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
