"""A model that is scored on what it was trained on is marked in every table and recommended nowhere."""

import pytest
from benchmark_results import export, on_target, scored, timed, toolchain

from benchmarks.results.rows import Accuracy
from benchmarks.show.collecting import collect
from benchmarks.show.headline import best_entry, headline, which_to_ship
from benchmarks.show.model_plots import group_plots
from benchmarks.show.report import Page
from benchmarks.show.views import view_tables
from qa.bundles.overlap import overlap_line

CATEGORIES = {"by_category": {"who": {"exact": 70.0, "f1": 80.0, "total": 1000}}}
SMALL = {"size_bytes": 20_000_000, "stage": "export", "precision": "int8"}
LARGER = SMALL | {"size_bytes": 30_000_000}


def comparison(overlap):
    """The model called leaked is the best in everything."""
    return [
        *(scored(**CATEGORIES), timed(lengths="unpadded"), timed()),
        *(
            scored("clean", 79.5, train_overlap=0.0, **LARGER, **CATEGORIES),
            timed("clean", 50.0, "unpadded", **LARGER),
        ),
        *(scored("leaked", 95.0, train_overlap=overlap, **SMALL, **CATEGORIES),),
        *(timed("leaked", ms, lengths, **SMALL) for ms, lengths in ((9.0, "unpadded"), (20.0, 384))),
        *(on_target("leaked", train_overlap=overlap), on_target("clean")),
    ]


def test_a_passage_among_hundreds_is_told_and_the_model_may_be_recommended():
    group = collect(comparison(0.004))[0]
    (table, *_) = view_tables([group], "summary")
    assert "leaked§" in {cells[0] for cells in table.cells}
    (told,) = (note for note in table.footnotes if note.startswith("§"))
    assert told.endswith("leaked 0.40%")
    assert best_entry(group)[0].model == "leaked"
    assert overlap_line(0.004).endswith("trained on")
    assert overlap_line(0.01).endswith("new texts")


@pytest.mark.parametrize("overlap", [None, 0.0, 0.9583])
def test_it_is_marked_in_every_table_and_never_recommended(overlap):
    groups = collect(comparison(overlap))
    group = groups[0]
    for view in ("summary", "brief", "accuracy", "latency", "categories", "arm"):
        (table, *_) = view_tables(groups, view)
        marked = {cells[0] for cells in table.cells if cells[0].endswith("§")}
        assert marked == ({"leaked§"} if overlap else set()), view
        told = [note for note in table.footnotes if note.startswith("§")]
        assert ["leaked 95.83%" in note for note in told] == ([True] if overlap else []), view
    best = "clean" if overlap else "leaked"
    assert best_entry(group)[0].model == best
    assert headline(group)[0].startswith(f"{best} keeps")
    assert which_to_ship(group).startswith(f"{best}: ")
    plot = group_plots(group)["latency"]
    assert ("leaked" in {point.name for point in plot.front}) is (not overlap)
    page = Page(groups).render()
    assert ('<p class="failed">§' in page, '<th scope="row" class="name">leaked§' in page) == (
        (True, True) if overlap else (False, False)
    )


def test_a_ranking_of_toolchains_leaves_it_out():
    def ranked(overlap):
        results = [*export("ours", 10.0, 30.0), *toolchain("theirs", 20.0, 40.0)]
        for result in results:
            if isinstance(result, Accuracy):
                result.train_overlap = overlap
        return view_tables(collect(results), "toolchains")

    assert ranked(0.0)
    assert ranked(0.5) == []
