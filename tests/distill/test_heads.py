"""Every kind of head and encoder learns: the project's own training brings 16 real questions to F1 100."""

import pytest
import torch
from quick import EVERY_HEAD, quick
from sixteen_questions import learns, sixteen_questions

from compress.prune.magnitude import linear_weights
from distill.options import DistillOptions
from distill.train_on_teacher import new_student
from qa.models.heads import build_head
from qa.models.model import QAModel
from qa.text.settings import QASettings

pytestmark = pytest.mark.usefixtures("fresh_accelerate")


@pytest.fixture(scope="module")
def questions(make_bundle):
    return sixteen_questions(make_bundle())


@pytest.mark.parametrize(
    "head",
    quick(
        "4l-gelu-skip",
        rest=["pointer", "linear", "2l-relu-skip", "qermit-cls", "qermit-concat", "qermit-cnn-multi-highway"],
    ),
)
def test_every_kind_of_head_learns_16_real_questions(make_bundle, questions, tmp_path, head):
    model = QAModel.from_pretrained(make_bundle(encoder="bert-1-layer", head=head))
    assert learns(model, questions, tmp_path, epochs=70)


@pytest.mark.parametrize("encoder", quick(rest=["roberta", "distilbert", "albert", "mobilebert"]))
def test_every_encoder_learns_them_by_its_own_tokens(make_bundle, tmp_path, encoder):
    model = QAModel.from_pretrained(make_bundle(encoder=encoder, head="linear"))
    assert learns(model, sixteen_questions(make_bundle(encoder=encoder, head="linear")), tmp_path)


@pytest.mark.parametrize("head", EVERY_HEAD)
def test_every_matrix_of_a_head_is_in_reach_of_magnitude_pruning(make_bundle, head):
    model = QAModel.from_pretrained(make_bundle(head=head))
    matrices = {f"head.{name}" for name, parameter in model.head.named_parameters() if parameter.ndim > 1}
    assert matrices
    assert matrices <= linear_weights(model).keys()


def same_weights(one, other):
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("head", ["linear", "4l-gelu-skip"])
def test_a_named_head_and_that_of_another_encoder_are_fresh_even_if_they_are_the_teachers(make_bundle, head):
    """Else a head that the teacher has would be compared with a head start."""
    bundle = make_bundle(head=head)
    encoder = str(make_bundle(head="linear"))  # of the teacher's width
    teacher = QAModel.from_pretrained(bundle)
    fresh = build_head(head, teacher.encoder.hidden_size, teacher.activation, seed=7)
    for options in (
        {"student_layers": 1, "student_head": head},
        {"student_head": head},
        {"student_encoder": encoder},
        {"student_encoder": encoder, "student_head": head},
    ):
        student = new_student(DistillOptions(seed=7, **options), teacher, bundle, QASettings()).model
        assert same_weights(student.head, fresh)
        assert not same_weights(student.head, teacher.head)
