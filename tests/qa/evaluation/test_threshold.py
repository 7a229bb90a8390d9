"""What is held out for the no-answer threshold: whole articles or passages, about a twentieth, never all."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from comparisons import UNTRAINED_SPANS, copied

from compress.cast import CastOptions
from compress.cast import cast as store
from export.onnx.exporter import export
from export.options import OnnxOptions
from qa.bundles.bundle import HELD_OUT, open_bundle
from qa.data.squad import Answer, Example, read_squad
from qa.evaluation.calibration import equal_groups
from qa.evaluation.predict import predict, score
from qa.evaluation.threshold import (
    HELD_OUT_QUESTIONS,
    Judged,
    hold_out,
    kept,
    save_held_out,
    steady_threshold,
    strict_threshold,
    threshold_interval,
    too_few,
    tune,
)
from qa.runtime.runtimes import load_runtime, run_windows
from qa.text.answers import Candidate, Prediction
from qa.text.features import make_windows


def questions(n_articles, n_passages, n_asked, answerable=False):
    """In order; every second without an answer, unless all are answerable."""
    places = product(range(n_articles), range(n_passages), range(n_asked))
    answers = [(), (Answer("P", 0),)]
    return [
        Example(f"{a}-{p}-{q}", f"Title {a}", f"Passage {a}-{p}", "?", answers[answerable or q % 2], False)
        for a, p, q in places
    ]


def test_questions_that_all_have_answers_need_no_threshold():
    asked = questions(40, 2, 3, answerable=True)
    assert hold_out(asked) == (asked, [])


def test_the_last_articles_are_held_out_whether_or_not_questions_say_that_they_are_impossible():
    asked = questions(40, 2, 3)
    train, held = hold_out(asked)
    assert train + held == asked
    assert {e.title for e in held} == {"Title 38", "Title 39"}  # 12 of 240


def test_what_earlier_training_held_out_is_held_out_again_wherever_it_stands():
    asked = questions(40, 2, 3)
    before = [e for e in asked if e.title in ("Title 0", "Title 7", "Title 9")][::5]
    train, held = hold_out(asked, before)
    assert {e.title for e in held} == {"Title 0", "Title 7", "Title 9"}  # 18 of 240: no more are wanted
    assert len(train) + len(held) == len(asked)
    titles = {e.title for e in hold_out(asked, before[:1])[1]}
    assert titles == {"Title 0", "Title 39"}, "one article is too little"
    elsewhere = [replace(e, context=f"Not {e.context}") for e in before]
    assert hold_out(asked, elsewhere) == hold_out(asked)
    assert hold_out(asked, asked) == hold_out(asked), "something stays to train on"


@pytest.mark.parametrize(("n_articles", "n_held_out"), [(249, 26), (250, 100), (1000, 100), (1250, 126)])
def test_up_to_a_fifth_is_held_out_where_a_threshold_takes_as_many(n_articles, n_held_out):
    assert len(hold_out(questions(n_articles, 1, 2))[1]) == n_held_out


@pytest.mark.parametrize(("n_articles", "n_passages"), [(1, 40), (2, 20)])
def test_of_few_articles_the_last_passages_are_held_out(n_articles, n_passages):
    asked = questions(n_articles, n_passages, 3)
    train, held = hold_out(asked)
    assert train + held == asked
    assert len(held) == 6
    assert len({e.context for e in held}) == 2


def test_of_a_mix_questions_without_a_title_are_held_out_by_passage_and_in_their_share():
    titled = questions(300, 1, 4)
    untitled = [replace(e, id=f"own {e.id}", title="", context=f"Own {e.context}") for e in titled[:300]]
    for asked in (titled + untitled, untitled + titled):
        train, held = hold_out(asked)
        assert len(held) == 100
        assert sum(not e.title for e in held) == 20  # of 1,500 questions, 300 are untitled
        assert not {e.context for e in train} & {e.context for e in held}
    before = [e for e in titled if e.title in ("Title 0", "Title 1")]
    held = hold_out(titled + untitled, before)[1]
    assert (len(held), sum(not e.title for e in held)) == (100, 20), "what was held out before counts, too"
    one_passage = [replace(e, context="Own") for e in untitled[:40]]
    assert hold_out(titled + one_passage)[1] == titled[-100:], "the only untitled passage is trained on"


def test_no_part_is_held_out_that_is_far_too_large():
    asked = [one for n, size in enumerate((300, 20, 300, 300)) for one in questions_on(f"Passage {n}", size)]
    assert {e.context for e in hold_out(asked)[1]} == {"Passage 1"}
    large = [one for n, size in enumerate((50, 40, 60)) for one in questions_on(f"Passage {n}", size)]
    assert {e.context for e in hold_out(large)[1]} == {"Passage 1"}, "there is nothing smaller"


def questions_on(passage, n):
    return [
        Example(f"{passage}-{i}", "", passage, "?", (Answer("P", 0),) if i % 2 else (), False)
        for i in range(n)
    ]


@pytest.mark.parametrize(("sizes", "held"), [((10, 990), "Passage 0"), ((5, 300, 320), "Passage 0")])
def test_of_parts_that_are_all_large_the_smallest_is_held_out_wherever_it_stands(sizes, held):
    asked = [one for n, size in enumerate(sizes) for one in questions_on(f"Passage {n}", size)]
    assert {e.context for e in hold_out(asked)[1]} == {held}
    again = hold_out(asked, questions_on("Passage 0", 3))
    assert {e.context for e in again[1]} == {held}, "and something stays to train on"


def test_the_only_passage_stays_to_train_on():
    asked = questions(1, 1, 4)
    assert hold_out(asked) == (asked, [])


def predictions_of(bundle, examples):
    windows = make_windows(examples, bundle.tokenizer, bundle.settings)
    return predict(examples, windows, run_windows(load_runtime(bundle, 1), windows), bundle.settings)


def as_answered(bundle, examples):
    """The questions as if this model were right below a null difference, which is given, and nothing were an
    answer above it."""
    predictions = predictions_of(bundle, examples)
    border = sorted(p.null_difference for p in predictions)[len(predictions) // 2]
    found = []
    for e, p in zip(examples, predictions, strict=True):
        best = p.best(None)
        right = (Answer(e.context[best.start : best.end], best.start),) if p.null_difference <= border else ()
        found.append(replace(e, answers=right, is_impossible=not right))
    return found, border


def test_the_threshold_is_where_answers_stop_being_right(make_bundle, small_squad):
    bundle = open_bundle(make_bundle())
    examples, border = as_answered(bundle, read_squad(small_squad))
    tuned, tuning = tune(load_runtime(bundle, 1), bundle.tokenizer, bundle.settings, examples)
    assert (tuning.n_questions, tuning.n_articles, tuning.resampled) == (24, 1, "questions")
    low, high = tuning.null_threshold_interval
    assert low <= tuned.null_threshold <= high
    assert tuned == replace(bundle.settings, null_threshold=tuned.null_threshold)
    differences = sorted(p.null_difference for p in predictions_of(bundle, examples))
    place = differences.index(border)
    assert differences[place - 3] < tuned.null_threshold <= border, (
        "the last right answer is not in every draw"
    )


def judged(kinds):
    """Questions with what a model says of each: "right", "wrong" or "none" for no answer to give, and the
    null difference."""
    examples = []
    predictions = []
    for i, (kind, difference) in enumerate(kinds):
        answers = () if kind == "none" else (Answer("x" if kind == "right" else "y", 0),)
        examples.append(Example(str(i), "", "x y", "?", answers, not answers))
        predictions.append(Prediction((Candidate(0.0, 0, 1, share=1.0),), difference))
    return examples, predictions


def weighed(examples, predictions):
    """The questions of one file, judged."""
    return Judged.of(examples, predictions, equal_groups(examples))


def test_files_weigh_alike_however_many_questions_they_have():
    """Below 1.5, the small file has all that it can have, and the large one 0.4. Below 5.5, they have 0 and 1."""
    small = [*[("right", 0.5)] * 10, *[("none", 1.5)] * 10]
    large = [*[("right", 0.5)] * 400, *[("right", 4.5)] * 600, *[("none", 5.5)] * 1000]
    examples, predictions = judged([*small, *large])
    files = (examples[:20], examples[20:])
    both = steady_threshold(Judged.of(examples, predictions, equal_groups(*files)))
    assert both == pytest.approx(0.5)
    assert steady_threshold(weighed(examples, predictions)) == pytest.approx(4.5)


def test_both_kinds_weigh_alike_however_many_there_are():
    """Of the answerable a quarter is found below 0, the rest at 2; of the others, half lie at 1 and half at
    3."""
    few = [*[("right", -1.0)] * 50, *[("right", 2.0)] * 150, *[("none", 1.0)] * 10, *[("none", 3.0)] * 10]
    many = [*few, *[("none", 1.0)] * 990, *[("none", 3.0)] * 990]
    assert steady_threshold(weighed(*judged(few))) == pytest.approx(2.0, abs=0.1)
    assert steady_threshold(weighed(*judged(many))) == pytest.approx(2.0, abs=0.1)
    assert score(*judged(many), 0.0)["best_f1_thresh"] == -1.0, "the best for a test of these shares"


def test_questions_of_one_kind_are_all_answered_or_leave_the_threshold_at_0():
    assert 1.0 <= steady_threshold(weighed(*judged([("right", 1.0), ("right", 2.0), ("wrong", 3.0)]))) <= 2.0
    assert steady_threshold(weighed(*judged([("none", -2.0), ("none", 1.0)]))) == 0.0
    examples, _ = judged([("right", 1.0), ("none", 2.0)])
    assert steady_threshold(weighed(examples, [Prediction((), 0.0)] * 2)) == 0.0, "nothing to answer with"


def test_the_strict_threshold_answers_a_twentieth_of_the_unanswerable():
    """Two of 40 unanswerable questions, with differences 1 to 40, may be answered."""
    examples, predictions = judged([*[("none", float(i)) for i in range(40, 0, -1)], *[("right", 2.5)] * 5])
    strict = strict_threshold(examples, predictions)
    assert 2.5 < strict < 3.0
    assert sum(p.best(strict) is not None for p in predictions[:40]) == 2
    assert strict_threshold(*judged([("none", 1.0)] * 19)) < 1.0, "a twentieth of 19 is none"


def test_the_interval_holds_the_threshold_and_narrows_with_more_articles():
    """Articles differ: in each, answers stop being right at another place."""
    rng = np.random.default_rng(1)

    def asked(n_articles):
        kinds = []
        titles = []
        for article, border in enumerate(rng.normal(0, 2, n_articles)):
            for difference in rng.normal(border, 3, 20):
                kinds.append(("right" if difference < border else "none", float(difference)))
                titles.append(f"Title {article}")
        examples, predictions = judged(kinds)
        return [replace(e, title=t) for e, t in zip(examples, titles, strict=True)], predictions

    widths = []
    for n_articles in (10, 80):
        examples, predictions = asked(n_articles)
        (low, high), resampled = threshold_interval(
            weighed(examples, predictions), [e.title for e in examples]
        )
        assert resampled == "articles"
        assert low < steady_threshold(weighed(examples, predictions)) < high
        widths.append(high - low)
    assert widths[1] < widths[0]
    few = weighed(*judged([("right", 1.0), ("none", 2.0)] * 9))
    assert threshold_interval(few, [""] * 18)[1] == "questions"


def test_the_threshold_moves_less_with_the_questions_than_the_highest_point():
    """The same model's answers, rightness and null difference with noise, on forty sets of 200 questions."""
    rng = np.random.default_rng(0)
    steady = []
    highest = []
    for _ in range(40):
        ability = rng.normal(0, 1, 200)  # the lower, the more surely answerable
        kinds = np.where(
            rng.random(200) < 0.5,
            "none",
            np.where(rng.random(200) < 1 / (1 + np.exp(ability)), "right", "wrong"),
        )
        differences = np.where(kinds == "none", 0.5, -0.5) + 2 * ability
        examples, predictions = judged(zip(kinds, differences.tolist(), strict=True))
        steady.append(steady_threshold(weighed(examples, predictions)))
        highest.append(score(examples, predictions, 0.0)["best_f1_thresh"])
    assert np.std(steady) < 0.8 * np.std(highest)


@pytest.mark.parametrize("stage", ["onnx", "store"])
def test_what_is_made_of_a_bundle_searches_again_with_its_own_logits(
    make_bundle, small_squad, tmp_path, stage
):
    source = open_bundle(make_bundle())
    examples, border = as_answered(source, read_squad(small_squad))
    examples = [replace(e, id=f"{e.id}-{copy}") for copy in range(5) for e in examples]
    assert too_few(examples) == ""
    parent = copied(source, tmp_path / "parent", held_out=examples, null_threshold=99.0).path
    if stage == "onnx":
        int8 = {"quantize": "int8", "min_equal_spans": UNTRAINED_SPANS["int8"]}
        made = export(OnnxOptions(model=parent, out=tmp_path / "made", **int8))
    else:
        made = store(CastOptions(parent, tmp_path / "made"))
        assert (made.path / HELD_OUT).read_bytes() == (parent / HELD_OUT).read_bytes()
    found = made.settings.null_threshold
    tuned, _ = tune(load_runtime(made), made.tokenizer, made.settings, examples)
    assert found == pytest.approx(tuned.null_threshold, abs=1e-5)
    assert 1e-4 < abs(found - border) < 1, "its own, which rounding has moved a little"


def test_a_threshold_stays_where_questions_are_too_few(make_bundle, small_squad):
    bundle = open_bundle(make_bundle())
    examples, _ = as_answered(bundle, read_squad(small_squad))
    runtime = load_runtime(bundle, 1)
    given = replace(bundle.settings, null_threshold=-1.25)
    assert tune(runtime, bundle.tokenizer, given, examples) == (given, None)
    tuned, tuning = tune(runtime, bundle.tokenizer, bundle.settings, examples)
    assert tuned == replace(bundle.settings, null_threshold=tuned.null_threshold)
    assert (tuned.null_threshold is not None, tuning.n_questions) == (True, 24)


@pytest.mark.parametrize(
    ("n_answerable", "n_others", "enough"),
    [(80, 20, True), (79, 20, False), (90, 19, False), (20, 80, True), (19, 90, False)],
)
def test_too_few_counts_questions_and_those_without_an_answer(n_answerable, n_others, enough):
    examples = [Example(f"{i}", "", "P", "?", (Answer("P", 0),), False) for i in range(n_answerable)]
    examples += [Example(f"n{i}", "", "P", "?", (), True) for i in range(n_others)]
    assert (too_few(examples) == "") == enough


def test_a_passage_with_several_titles_is_held_out_by_itself():
    numbers = [(title, text) for title in range(30) for text in range(40)]
    examples = [
        Example(f"{t}-{p}", f"title {t}", f"Text {p}.", "?", (Answer("Text", 0),) if t % 2 else (), not t % 2)
        for t, p in numbers
    ]
    train, held_out = hold_out(examples)
    assert len(train) + len(held_out) == len(examples)
    assert not {e.context for e in train} & {e.context for e in held_out}
    assert 60 <= len(held_out) <= 120


def test_a_bundle_keeps_questions_of_both_kinds_in_their_proportion():
    """One in two and one in a hundred without an answer."""
    for step, n_without in ((2, 500), (100, 10)):
        held_out = [
            Example(f"{i}", "t", "Text", "?", (Answer("Text", 0),) if i % step else (), not i % step)
            for i in range(4000)
        ]
        chosen = kept(held_out)
        assert (len(chosen), sum(not e.answers for e in chosen)) == (1000, n_without)
        assert [int(e.id) for e in chosen] == sorted(int(e.id) for e in chosen)


def test_those_kept_with_a_bundle_come_from_all_over_the_held_out(tmp_path):
    held = [Example(f"{i}", "Title", "Passage", "?", (), True) for i in range(2 * HELD_OUT_QUESTIONS - 1)]
    save_held_out(kept(held), tmp_path)
    places = [int(example.id) for example in read_squad(tmp_path / HELD_OUT)]
    assert len(places) == HELD_OUT_QUESTIONS
    assert {b - a for a, b in pairwise(places)} == {2}
    assert places[-1] == len(held) - 1
