"""Items evenly chosen: how many, and which, worked by hand."""

import pytest

from qa.base.sampling import evenly


@pytest.mark.parametrize(
    ("n", "wanted", "middles", "ends"),
    [
        (10, 4, [1, 3, 6, 8], [0, 3, 6, 9]),  # the middles of four parts of 2.5
        (10, 1, [5], [0]),
        (5, 4, [0, 1, 3, 4], [0, 1, 3, 4]),
        (3, 3, [0, 1, 2], [0, 1, 2]),
        (3, 7, [0, 1, 2], [0, 1, 2]),
        (0, 7, [], []),
    ],
)
def test_places(n, wanted, middles, ends):
    assert evenly(n, wanted) == middles
    assert evenly(n, wanted, ends=True) == ends


def test_none_is_taken_twice_and_none_skipped_where_nearly_all_are():
    assert len(set(evenly(999, 500))) == len(set(evenly(999, 500, ends=True))) == 500
    assert len(set(evenly(10570, 2000))) == len(set(evenly(10570, 2000, ends=True))) == 2000
