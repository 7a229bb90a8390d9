"""A bundle trained further as the student of a teacher, which may have another tokenizer."""

import pytest
import torch

from distill.run import DistillConfig, main
from qa.base.errors import OptionError
from qa.bundles.bundle import open_bundle
from qa.models.model import QAModel

pytestmark = pytest.mark.usefixtures("fresh_accelerate")


@pytest.fixture
def config(make_bundle, small_squad, tmp_path):
    def make(**options):
        given = {"teacher": make_bundle("roberta"), "student": make_bundle(pruned=True), "hidden_weight": 0}
        return DistillConfig(
            **given | options,
            data=str(small_squad),
            out=tmp_path / "run",
            cache=tmp_path / "cache",
            epochs=0.5,
            batch_size=4,
            precision="fp32",
        )

    return make


def test_a_student_keeps_its_shape_and_tokenizer_and_has_both_as_parents(config):
    options = config()
    bundle = main(options)
    start = open_bundle(options.student)
    assert bundle.manifest.parent == start.reference()
    teacher = open_bundle(options.teacher)
    assert bundle.manifest.teacher == teacher.as_teacher(start)
    assert [stage.sha256 for stage in bundle.manifest.teacher.lineage] == [teacher.sha256]
    assert bundle.settings == start.settings
    before = QAModel.from_pretrained(start.path)
    after = QAModel.from_pretrained(bundle.path)
    assert before.config() == after.config()
    assert not any(torch.equal(a, b) for a, b in zip(before.parameters(), after.parameters(), strict=True))
    assert main(config(resume=True)).sha256 == bundle.sha256


@pytest.mark.parametrize(
    ("other", "flag"),
    [
        ({"student_layers": 1}, "--student-layers"),
        ({"student_encoder": "minilm-l6"}, "--student-encoder"),
        ({"student_head": "linear"}, "--student-head"),
        ({"keep_ffn": 0.5}, "--student"),
    ],
)
def test_options_of_a_new_student_are_refused_with_it(config, other, flag):
    with pytest.raises(OptionError, match=f"{flag} cannot be combined with"):
        config(**other)
