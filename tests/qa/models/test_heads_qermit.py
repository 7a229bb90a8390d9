"""QeRMIT heads: hand-worked numbers, torch's own convolution and pooling on the question alone, and what they
see of a window."""

import pytest
import torch
from head_inputs import H, layout, random_states, with_other
from torch import nn
from torch.nn import functional
from transformers import BertConfig

from qa.base.errors import OptionError
from qa.models.encoders import Encoder
from qa.models.heads import HEADS, build_head
from qa.models.heads.qermit import Convolution, ConvolutionQuestion, MaxPoolQuestion, MultiConvolutionQuestion
from qa.models.model import QAModel
from qa.text.settings import QASettings


def test_maxpool_by_hand():
    """[CLS] q q [SEP] p [SEP]: the largest of the two question tokens in each dimension, negative ones
    too.
    """
    mask, types = layout(2, 1)
    states = torch.tensor([[[9.0, 9, 9], [1, -5, -3], [-2, -4, -3], [9, 9, 9], [9, 9, 9], [9, 9, 9]]])
    assert MaxPoolQuestion()(states, mask, types).tolist() == [[[1, -4, -3]]]
    assert MaxPoolQuestion()(states[:, [0, 3, 4, 5]], *layout(0, 1)).abs().tolist() == [[[0, 0, 0]]]


def test_skip_mapping_by_hand():
    head = build_head("qermit-cls", 2)
    with torch.no_grad():
        head.output.weight[:] = torch.eye(2)
        head.output.bias[:] = torch.tensor([100.0, 0.0])
    states = torch.tensor([[[2.0, -1.0], [3.0, 5.0]]])  # x * q + x, with q = (2, -1)
    assert head(states, torch.ones(1, 2), torch.tensor([[0, 1]])).tolist() == [[[106, 0], [109, 0]]]


def conv1d(convolution, states):
    """torch's own convolution with the same weights: (B, T, H) -> (B, T, H)."""
    kernel = len(convolution.offsets)
    weight = convolution.linear.weight.unflatten(1, (kernel, -1)).transpose(1, 2)  # (out, in, kernel)
    padded = functional.pad(states.transpose(1, 2), ((kernel - 1) // 2, kernel // 2))
    return functional.conv1d(padded, weight, convolution.linear.bias).transpose(1, 2)


@pytest.mark.parametrize("kernel", [2, 3, 4, 5])
def test_convolution_equals_torchs(kernel):
    torch.manual_seed(0)
    convolution = Convolution(H, kernel)
    states = random_states(11, 2)
    assert (convolution(states) - conv1d(convolution, states)).abs().max() < 1e-6


def highway(layer, values):
    gate = torch.sigmoid(functional.linear(values, layer.gate.weight, layer.gate.bias))
    changed = functional.relu(functional.linear(values, layer.transform.weight, layer.transform.bias))
    return gate * changed + (1 - gate) * values


def test_cnn_question_equals_a_reference_on_the_question_alone():
    torch.manual_seed(0)
    question = ConvolutionQuestion(H)
    states = random_states(21)
    nn.init.constant_(question.convolution.linear.bias, -1.0)  # so that some maxima are below 0
    alone = functional.relu(conv1d(question.convolution, states[:, :6])).max(dim=1).values
    assert (question(states, *layout(4, 9, 5))[:, 0] - highway(question.highway, alone)).abs().max() < 1e-6
    assert (question.highway.gate.bias == -2).all()


@pytest.mark.parametrize("with_highway", [False, True])
def test_multi_cnn_question_equals_a_reference_on_the_question_alone(with_highway):
    torch.manual_seed(0)
    question = MultiConvolutionQuestion(H, with_highway)
    states = random_states(21)
    for convolution in question.convolutions:
        nn.init.constant_(convolution.linear.bias, -1.5)
    pooled = [functional.relu(conv1d(c, states[:, :6])).max(dim=1).values for c in question.convolutions]
    wanted = torch.cat([functional.max_pool1d(values, kernel_size=4, stride=4) for values in pooled], dim=-1)
    wanted = highway(question.highway, wanted) if with_highway else wanted
    assert (question(states, *layout(4, 9, 5))[:, 0] - wanted).abs().max() < 1e-6


def test_convolutions_cut_a_question_at_64_tokens():
    torch.manual_seed(0)
    question = ConvolutionQuestion(H)
    states = random_states(90)
    mask, types = layout(80, 5)
    before = question(states[:, :88], mask, types)
    assert torch.equal(question(with_other(states, slice(66, None))[:, :88], mask, types), before)
    assert not torch.equal(question(with_other(states, slice(65, 66))[:, :88], mask, types), before)


@pytest.mark.parametrize("name", HEADS)
def test_a_longer_question_is_refused_by_the_heads_that_would_cut_it(name):
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    model = QAModel(Encoder(BertConfig(vocab_size=9, **sizes)), name)
    model.check_windows(QASettings(max_question_length=64))
    if name in ("qermit-cnn", "qermit-cnn-multi", "qermit-cnn-multi-highway", "qermit-concat"):
        told = f"--max-question-length must be at most 64, the longest that {name} reads, got 65"
        with pytest.raises(OptionError, match=told):
            model.check_windows(QASettings(max_question_length=65))
    else:
        model.check_windows(QASettings(max_question_length=300))


def test_concat_equals_one_linear_over_both_vectors():
    head = build_head("qermit-concat", H, seed=6)
    states = random_states(15)
    mask, types = layout(4, 8)
    question = head.question(states, mask, types).expand(-1, 15, -1)
    weight = torch.cat([head.from_token.weight, head.from_question.weight], dim=1)  # (H, 2 H)
    first = functional.linear(torch.cat([states, question], dim=-1), weight, head.from_token.bias)
    wanted = head.output(functional.relu(head.middle(functional.relu(first))))
    assert (head(states, mask, types) - wanted).abs().max() < 1e-6


def test_a_hidden_size_that_the_pool_does_not_divide_is_refused():
    told = "qermit-cnn-multi head needs a hidden size that 4 divides, the encoder's is 30"
    with pytest.raises(OptionError, match=told):
        build_head("qermit-cnn-multi", 30)
