"""The search: what it predicts is what the export makes, nothing on its front is beaten, and the best is what
was written."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
import tyro
from ai_edge_litert.interpreter import Interpreter
from comparisons import question, write_data
from every_head import quick
from tflite_exports import LENGTHS

from benchmarks.search import candidates, widths
from benchmarks.search.candidates import Candidate, Form, Trial
from benchmarks.search.questions import halves, read_questions
from benchmarks.search.simulate import simulated, word_forms
from benchmarks.search.stage import SearchConfig, main
from benchmarks.search.steps import fast_enough
from distill.prune_plan.allocation import PruningPlan
from export.tflite.file import TFLiteFile
from export.tflite.quantize import quantize
from export.tflite.quiet import quietly
from export.tflite.stage import TFLiteConfig
from export.tflite.stage import main as export
from qa.base.errors import OptionError
from qa.bundles.bundle import open_bundle
from qa.data.datasets import EMBEDDED, resolve
from qa.data.squad import Example, read_squad
from qa.evaluation.bootstrap import Interval
from qa.formats.tflite import fixed_signatures
from qa.models.model import QAModel
from qa.models.quantized_embedding import ProductQuantizedEmbedding

UNTRAINED = ("--min-equal-spans", "0.3")  # its near ties change

pytestmark = pytest.mark.usefixtures("fresh_accelerate")


@pytest.mark.parametrize(("precision", "form"), quick(("int4", "int4"), rest=[("int8", "pq4")]))
def test_a_simulation_is_nearer_to_the_file_than_floats(make_bundle, converted_once, precision, form):
    """Not equal: where floats differ in their last digit, rounding goes either way, and the next layers make
    more of it."""
    model = QAModel.from_pretrained(make_bundle()).eval()
    words = word_forms(model, lambda: np.ones(model.encoder.words.num_embeddings))[form]
    simulation = simulated(model, precision, words)
    model.encoder.set_words(words)
    with quietly():
        file = Interpreter(
            model_content=quantize(
                TFLiteFile(converted_once(model, fixed_signatures(LENGTHS))), precision
            ).to_bytes(),
            num_threads=1,
        ).get_signature_runner("qa96")
    errors = np.zeros((20, 2))
    for row, ids in zip(errors, np.random.default_rng(0).integers(1000, 30000, (20, 1, 96)), strict=True):
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        wanted = file(**{name: array.astype(np.int32) for name, array in inputs.items()})["start_logits"]
        for i, computing in enumerate((simulation, model)):  # the second has only its words rounded
            with torch.no_grad():
                seen = computing(**{name: torch.from_numpy(array) for name, array in inputs.items()})[
                    "start_logits"
                ]
            row[i] = np.square(seen.numpy() - wanted).mean()
    assert errors[:, 0].mean() < 0.8 * errors[:, 1].mean(), (
        "as large a noise of its own would make it twice as much"
    )


@pytest.mark.system
def test_the_best_within_the_target_is_written(make_bundle, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(candidates, "SHARES", (1.0, 0.5))
    monkeypatch.setattr(candidates, "NEAR", 1.05)
    out = tmp_path / "found"
    config = SearchConfig(make_bundle(), 1.15, target_ms=1000, out=out, questions=30, recovery_windows=16)
    scored = []

    def scores_of(model, *rest):
        scored.append(model.count_parameters().total)
        if len(scored) == 2:
            raise KeyboardInterrupt
        return widths_scores_of(model, *rest)

    widths_scores_of = widths.scores_of
    monkeypatch.setattr(widths, "scores_of", scores_of)
    with pytest.raises(KeyboardInterrupt):
        main(config)
    assert not out.exists()
    capsys.readouterr()
    bundle = main(config)
    assert len(scored) == 3, "the first width is not scored again"
    assert scored[1] == scored[2] < scored[0]
    assert not list((tmp_path / "training" / "found").glob("*.journal"))
    printed = capsys.readouterr().out
    assert "the best within 1.15 MB and 1000 ms" in printed
    assert bundle.manifest.scores.total == len(read_squad(resolve("embedded", "dev")))
    rows = json.loads((tmp_path / "training" / "found" / "search.json").read_text())
    best = bundle.manifest.search
    assert best in rows
    assert best["f1"] == max(row["f1"] for row in rows if row["predicted_mb"] <= 1.15)
    assert [row for row in rows if "check" in row] == [best]
    check = best["check"]
    assert f"the best again: F1 {check['f1']:.1f} on {check['questions']} other questions" in printed
    assert 10 <= check["questions"] <= 20
    marked = re.findall(r"^([*>]) +([0-9.]+) ", printed, re.MULTILINE)
    assert [mb for mark, mb in marked if mark == ">"] == [f"{best['predicted_mb']:.2f}"]
    drawing = tmp_path / "training" / "found" / "search.svg"
    ElementTree.parse(drawing)
    assert "ring: chosen" in drawing.read_text()
    flags = re.search(r"next: python -m export\.tflite (.*)", printed).group(1).split()
    assert isinstance(QAModel.from_pretrained(out).encoder.words, ProductQuantizedEmbedding)
    exported = export(tyro.cli(TFLiteConfig, args=[*flags, *UNTRAINED, "--out", str(tmp_path / "exported")]))
    # Of so small a file the graph is a large part.
    assert exported.weights.stat().st_size / 1e6 == pytest.approx(best["predicted_mb"], rel=0.1)
    assert exported.manifest.embeddings == best["embeddings"]
    assert open_bundle(out).manifest.pruning["heads_per_layer"]


@pytest.fixture
def asked(make_bundle, capsys):
    """A function: the questions of a search for so many, and what it says of --questions."""

    def read(n):
        on = read_questions(SearchConfig(make_bundle(), 1.15, questions=n), open_bundle(make_bundle()))
        return on, [line for line in capsys.readouterr().err.splitlines() if "--questions" in line]

    return read


def test_widths_learn_from_other_passages_than_they_are_scored_on(asked):
    on, said = asked(30)
    parts = on.train, on.choice.windows, on.check.windows
    trained, choosing, checking = ({w.input_ids.tobytes() for w in windows} for windows in parts)
    assert len(on.choice.examples) + len(on.check.examples) == 30
    assert said == []
    assert len(trained) > 1000
    assert choosing
    assert checking
    assert not (choosing | checking) & trained
    contexts = [{e.context for e in half.examples} for half in (on.choice, on.check)]
    assert contexts[0].isdisjoint(contexts[1])


def test_fewer_questions_than_asked_for_are_said(asked):
    on, (line,) = asked(300)
    n_choice = len(on.choice.examples)
    n_check = len(on.check.examples)
    assert f"--questions 300: only {n_choice + n_check} can be held out of --data embedded" in line
    assert f"{n_choice} choose the best model, {n_check} check it" in line


def test_halves_are_of_whole_passages_or_of_single_questions():
    def of(*passages):
        return [Example(f"{i}", "T", passage, "Who?", (), True) for i, passage in enumerate(passages)]

    first, second = halves(of("A", "A", "A", "B", "C", "C", "D"))
    assert [e.context for e in first] == ["A", "A", "A", "D"]
    assert [e.context for e in second] == ["B", "C", "C"]
    assert [[e.id for e in half] for half in halves(of("A", "A", "A"))] == [["0", "2"], ["1"]]


def test_what_no_search_can_do_is_refused_at_once(make_bundle, tmp_path):
    passage = {"context": "Rain fell.", "qas": [question(str(i), "Rain", 0) for i in range(4)]}
    data = str(write_data(tmp_path / "one.json", [passage]))
    with pytest.raises(OptionError, match="0 of its questions can be held out to score on"):
        main(SearchConfig(make_bundle(), 1.15, out=tmp_path / "found", data=data))
    dev = SearchConfig(make_bundle(), 1.15, out=tmp_path / "found", data=str(resolve(EMBEDDED, "dev")))
    with pytest.raises(OptionError, match=r"--data .*on which models are scored"):
        main(dev)
    with pytest.raises(OptionError, match="--seed must be at least 0, got -1"):
        SearchConfig(make_bundle(), 1.15, seed=-1)


def test_a_target_that_nothing_meets_is_refused_with_the_least(make_bundle, tmp_path):
    with pytest.raises(OptionError, match=r"--target-mb must be at least 0\.[89][0-9]*, which .*, got 0\.1"):
        main(SearchConfig(make_bundle(), 0.1, out=tmp_path / "found", questions=5))
    assert not (tmp_path / "found").exists()


def test_widths_that_are_too_slow_are_left_out():
    tried = [Trial(PruningPlan([], []), {}) for _ in range(3)]
    assert fast_enough(tried, [3.0, 2.0, 1.0], 2.0) == [(tried[1], 2.0), (tried[2], 1.0)]
    assert len(fast_enough(tried, [3.0, 2.0, 1.0], None)) == 3
    with pytest.raises(OptionError, match=r"--target-ms must be at least 1\.00, .*, got 0\.5"):
        fast_enough(tried, [3.0, 2.0, 1.0], 0.5)
    with pytest.raises(OptionError, match="--target-ms must be above 0"):
        SearchConfig("model", 8, target_ms=0)


def test_the_plot_has_the_choice_and_intervals_of_the_front():
    form = Form("int8", "pq3")

    def candidate(mb, f1, lost):
        return Candidate(Trial(PruningPlan([], []), {form: mb}), form, 1.0, f1, lost)

    small = candidate(8, 80, Interval(-5, -7, -3))
    worse = candidate(9, 79, Interval(-6, -8, -4))
    large = candidate(12, 84, Interval(-1, -2, 0.5))
    drawn = candidates.plot([large, worse, small], small, 85).points
    assert [p.interval for p in drawn] == [Interval(84, 83, 85.5), None, Interval(80, 78, 82)]
    assert [p.chosen for p in drawn] == [False, False, True]
