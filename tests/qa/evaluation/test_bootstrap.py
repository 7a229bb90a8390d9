"""The bootstrap against numbers worked by hand."""

import numpy as np
import pytest

from qa.evaluation import bootstrap
from qa.evaluation.bootstrap import (
    intervals,
    resampled_means,
    score_interval,
    score_intervals,
)


def interval(values):
    """The interval of one model's mean."""
    return intervals(values[:, None])[0][0]


def test_a_constant_difference_has_an_interval_without_width():
    theirs = np.random.default_rng(1).random(500)
    found = interval((theirs + 0.25) - theirs)
    assert (found.mean, found.low, found.high) == pytest.approx((0.25, 0.25, 0.25), abs=1e-12)
    assert not found.low <= 0 <= found.high


def test_two_questions_give_the_four_draws_a_quarter_each():
    """Drawn from {0, 1}: 00, 01, 10, 11, so the means 0, 1/2, 1 come up in 1/4, 1/2, 1/4 of the cases."""
    means = resampled_means(np.array([0.0, 1.0]))
    assert set(means) == {0.0, 0.5, 1.0}
    # 10,000 draws: the share has a deviation of 0.005
    assert [float(np.mean(means == value)) for value in (0, 0.5, 1)] == pytest.approx(
        [0.25, 0.5, 0.25], abs=0.02
    )
    found = interval(np.array([0.0, 1.0]))
    assert (found.mean, found.low, found.high) == (0.5, 0.0, 1.0)
    assert found.low <= 0 <= found.high


def test_the_width_is_that_of_the_standard_error():
    """Half the questions 0, half 1: the mean of 400 has a deviation of 0.5 / 20, and 95 % lie within 1.96 of
    it."""
    found = interval(np.tile([0.0, 1.0], 200))
    assert (found.low, found.high) == pytest.approx((0.5 - 1.96 * 0.025, 0.5 + 1.96 * 0.025), abs=0.004)


def test_the_same_seed_gives_the_same_draws_for_every_column(monkeypatch):
    values = np.random.default_rng(4).random((50, 3))
    whole = resampled_means(values, n_resamples=200, seed=5)
    assert whole.shape == (200, 3)
    assert np.allclose(whole[:, 1], resampled_means(values[:, 1], n_resamples=200, seed=5), atol=1e-12)
    assert not np.allclose(whole, resampled_means(values, n_resamples=200, seed=6))
    monkeypatch.setattr(bootstrap, "_CHUNK_COUNTS", 50 * 7)  # in pieces of 7 resamples
    assert np.allclose(whole, resampled_means(values, n_resamples=200, seed=5), atol=1e-12)


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(ValueError, match="got 0 questions"):
        interval(np.array([]))
    with pytest.raises(ValueError, match="finite"):
        interval(np.array([0.0, np.nan]))


def test_ratios_are_paired_and_intervals_are_those_of_each_model_alone():
    base = np.random.default_rng(3).random(200) + 0.1
    values = np.stack([base, base / 2, base[::-1]], axis=1)
    means, ratios = intervals(values, baseline=0)
    assert [(r.mean, r.low, r.high) for r in ratios[:2]] == [
        pytest.approx((1, 1, 1)),
        pytest.approx((0.5, 0.5, 0.5)),
    ]
    assert ratios[2].mean == pytest.approx(1)
    assert ratios[2].low < 0.97  # the same mean by other questions is not without noise
    assert ratios[2].high > 1.03
    alone = interval(values[:, 1])
    assert (means[1].mean, means[1].low, means[1].high) == pytest.approx((alone.mean, alone.low, alone.high))
    assert intervals(values)[1] == [None] * 3
    one_draw_in_four_is_zero = np.array([[0.0, 1.0], [1.0, 1.0]])
    assert intervals(one_draw_in_four_is_zero, baseline=0)[1] == [None, None]


def test_articles_are_drawn_whole():
    """200 articles of 5 questions, alike within each: 5 times fewer independent values, so sqrt(5) times the
    width."""
    values = np.tile([0.0, 1.0], 100).repeat(5)
    articles = [str(i) for i in range(200) for _ in range(5)]
    by_article, drawn = score_interval(values, articles)
    assert drawn == "articles"
    by_question = interval(values)
    ratio = (by_article.high - by_article.low) / (by_question.high - by_question.low)
    assert ratio == pytest.approx(5**0.5, rel=0.1)
    assert by_article.low < by_article.mean == values.mean() < by_article.high


def test_each_question_counts_alike_in_articles_of_any_size():
    """One article of 90 questions that are all right, nine of one question that is wrong: the mean is 90 of
    99, never a mean of articles' means; a draw without the large article gives 0, one of it alone 1."""
    values = np.array([1.0] * 90 + [0.0] * 9)
    articles = ["large"] * 90 + [str(i) for i in range(9)]
    by_article, _ = score_interval(values, articles)
    assert by_article.low == 0  # the large one is left out in 0.9^10, a third, of the draws
    assert 0.97 < by_article.high <= 1


def test_questions_are_drawn_where_articles_are_few():
    values = np.random.default_rng(5).random((90, 2))
    articles = [str(i % 9) for i in range(90)]
    assert score_intervals(values, articles, 0) == (*intervals(values, 0), "questions")
    assert score_intervals(values, [*articles[1:], "a tenth"], 0)[2] == "articles"
