"""Two tiny models and two questions to compare, and what counts the scorings."""

import pytest
from comparisons import question, rebundle, write_data

from benchmarks import measure_and_show, resolve
from benchmarks.measure import accuracy
from benchmarks.options import CompareOptions
from qa.bundles.bundle import open_bundle


@pytest.fixture
def data(tmp_path):
    """Two questions; of the first's context every answer has a positive F1."""
    paragraphs = [
        {"context": "Paris Paris Paris Paris", "qas": [question("q1", "Paris", 0)]},
        {"context": "It rained on Monday. " * 40, "qas": [question("q2", "Monday", 13)]},
    ]
    return write_data(tmp_path / "questions.json", paragraphs)


@pytest.fixture
def teacher(make_bundle, tmp_path):
    return rebundle(make_bundle(), tmp_path / "run" / "teacher", stage="finetune")


@pytest.fixture
def student(make_bundle, teacher, tmp_path):
    return rebundle(
        make_bundle(seed=1), tmp_path / "run" / "student", parent=open_bundle(teacher).reference()
    )


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Seconds go into drawing, and into starting PyTorch for each number of threads; one test for each does
    it."""
    monkeypatch.setattr(measure_and_show, "write_report", lambda path, page: None)
    monkeypatch.setattr(resolve, "available_cores", lambda: 1)


@pytest.fixture
def scored(data):
    """A function: the new rows of bundles whose accuracy is measured."""

    def score(*bundles, data=data, **options):
        return measure_and_show.measure(CompareOptions(bundles, str(data), skip_latency=True, **options))

    return score


@pytest.fixture
def measured(monkeypatch):
    """The names of the data whose accuracy was computed, not reused."""
    computed = []
    real = accuracy.evaluate

    def counting(runtime, bundle, examples, journal):
        computed.append(bundle.path.name)
        return real(runtime, bundle, examples, journal)

    monkeypatch.setattr(accuracy, "evaluate", counting)
    return computed
