"""Parameter counts, against what is published of the real models, and against the docs."""

import pytest
from places import ROOT
from recipe_scripts import script_of

from qa.base.errors import OptionError
from qa.models.heads import HEADS

script = script_of("parameter_tables")
POOLER = {768: 768 * 768 + 768, 384: 384 * 384 + 384}
# As the hub counts the weights of the published files.
PUBLISHED = {
    "bert-base-uncased": 109_482_240 - POOLER[768],
    "distilbert-base-uncased": 66_362_880,
    "roberta-base": 124_645_632 - POOLER[768],
    "albert-base-v2": 11_683_584 - POOLER[768],
    "google/mobilebert-uncased": 24_581_888,
    "microsoft/MiniLM-L12-H384-uncased": 33_360_000 - POOLER[384],
    "minilm-l6": 22_713_216 - POOLER[384],
}


@pytest.mark.system  # makes every published model once
def test_counts_are_those_of_the_published_models():
    lines = {line[0]: line for line in script.model_table().cells}
    wanted = {name: f"{n / 1e6:.2f}M" for name, n in PUBLISHED.items()}
    assert {name: lines[name][4] for name in PUBLISHED} == wanted


def test_every_head_has_a_line():
    assert [line[0] for line in script.head_table().cells] == list(HEADS)
    lines = {line[0]: line[1:] for line in script.head_table().cells}
    assert lines["linear"] == ["770", "1,538"], "2 H + 2"
    assert lines["4l-relu"][1] == f"{768 * 1024 + 1024 + 1024 * 200 + 200 + 200 * 2 + 2:,}"


def test_the_docs_have_the_tables_of_today(tmp_path):
    page = ROOT / "docs" / "models.md"
    copy = tmp_path / "models.md"
    copy.write_bytes(page.read_bytes())
    script.main(script.ParametersOptions(write=copy))
    assert copy.read_bytes() == page.read_bytes(), (
        "run python recipes/parameter_tables.py --write docs/models.md"
    )


def test_a_page_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(
        OptionError, match="no such file; give a Markdown file with the markers of parameters"
    ):
        script.ParametersOptions(write=tmp_path / "README")
