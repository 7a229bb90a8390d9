"""Parameter counts, against what is published of the real models, and against the docs."""

from places import ROOT

from benchmarks.parameters import ParametersConfig, main
from benchmarks.show.parameter_tables import head_table, model_table
from qa.models.heads import HEADS

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


def test_counts_are_those_of_the_published_models():
    lines = {line[0]: line for line in model_table().cells}
    wanted = {name: f"{n / 1e6:.2f}M" for name, n in PUBLISHED.items()}
    assert {name: lines[name][4] for name in PUBLISHED} == wanted


def test_every_head_has_a_line():
    assert [line[0] for line in head_table().cells] == list(HEADS)
    lines = {line[0]: line[1:] for line in head_table().cells}
    assert lines["linear"] == ["770", "1,538"], "2 H + 2"
    assert lines["4l-relu"][1] == f"{768 * 1024 + 1024 + 1024 * 200 + 200 + 200 * 2 + 2:,}"


def test_the_docs_have_the_tables_of_today(tmp_path):
    page = ROOT / "docs" / "models.md"
    copy = tmp_path / "models.md"
    copy.write_bytes(page.read_bytes())
    main(ParametersConfig(write=copy))
    assert copy.read_bytes() == page.read_bytes(), (
        "run python -m benchmarks.parameters --write docs/models.md"
    )
