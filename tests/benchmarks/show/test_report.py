"""The report stands alone, says what was found, and shows every model; its plots' fronts and axes on
hand-made values."""

import dataclasses
import re
from itertools import combinations

import pytest
from benchmark_results import (
    EXPORT,
    NO_BASELINE,
    UNEVEN,
    Machine,
    batched,
    export,
    failure,
    run,
    scored,
    timed,
    toolchain,
)
from msgspec.structs import replace

from benchmarks.show.collecting import collect
from benchmarks.show.headline import best_entry, headline
from benchmarks.show.model_plots import group_plots
from benchmarks.show.plots import COLOURS, Point, Scatter, colours_of, scatter_svg, short
from benchmarks.show.point_names import CHARACTER, LINE
from benchmarks.show.report import Page, write_report

KNOWN = {"f1_low": 77.25, "f1_high": 78.75, "f1_retained_low": 0.968, "f1_retained_high": 0.981}
KNOWN["resampled"] = "questions"


def comparison():
    """The teacher takes 100 ms padded and 50 unpadded; good keeps its F1, rapid is faster and does not."""
    small = {"size_bytes": 23_500_000}
    unpadded = {"lengths": "unpadded", **small}
    return [
        *(scored(), timed(ms=100.0), timed(ms=50.0, lengths="unpadded")),
        *(scored("slow", 78.0, **small), timed("slow", 50.0, **unpadded)),
        *(scored("good", 78.0, **small), timed("good", 20.0, **small), timed("good", 10.0, **unpadded)),
        *(scored("rapid", 60.0, **small), timed("rapid", 2.0, **unpadded)),
        failure("<b>broken</b>", "onnxruntime computes this model wrongly"),
    ]


def why_best(results):
    """The best model of a group of results, and why."""
    best, why = best_entry(collect(results)[0])
    return best.model, why


def test_page_loads_nothing_and_names_no_absolute_path():
    page = Page(collect(comparison())).render()
    assert not re.search(r"<(img|iframe|object|embed|base)\b|<script[^>]", page, re.IGNORECASE)
    assert re.findall(r"<link\b[^>]*>", page) == ['<link rel="icon" href="data:,">']
    assert not re.search(r"\bsrc\s*=|@import|url\(", page)
    assert "http" not in page.replace("http-equiv", "")
    assert not re.search(r"/(home|root|tmp|work|Users)/", page)


def test_plots_and_tables_show_every_model_and_text_is_escaped():
    page = Page(collect(comparison())).render()
    figures = re.findall(r"<figure>.*?</figure>", page, re.DOTALL)
    assert [figure.count('class="mark"') for figure in figures] == [4, 4]
    assert all(re.search(rf">{name}</text>", figures[1]) for name in ("slow", "rapid", "good", "teacher"))
    assert "<b>broken</b>" not in page
    assert "&lt;b&gt;broken&lt;/b&gt; failed: onnxruntime computes this model wrongly" in page


def test_headline_takes_the_fastest_that_keeps_its_f1_and_divides_like_by_like():
    assert why_best(comparison()) == ("good", "the fastest that retains at least 97% of F1")
    sentence, cards = headline(collect(comparison())[0])
    wanted = (
        "good keeps 97.5% of teacher's F1 and 100.0% of its EM. Against teacher (PyTorch, fp32) it is 4.0 times "
        "smaller, 5.0 times faster padded to 384 and 5.0 times faster unpadded"
    )
    assert sentence == wanted
    assert [figure for figure, _ in cards] == ["78.00", "97.5%", "23.5 MB", "20.0 ms", "10.0 ms"]


def test_what_was_not_timed_is_no_headline_where_others_were():
    more = scored("untimed", 79.9)
    assert why_best([*comparison(), more])[0] == "good"
    assert why_best([scored(), more]) == ("untimed", "keeps the most of F1; none was timed")


def test_of_models_that_keep_97_percent_the_fastest_is_taken_even_where_one_below_is_faster():
    near = [scored("near", 77.0), timed("near", 2.0, "unpadded")]
    assert why_best([*comparison(), *near])[0] == "good"
    alone = [one for one in comparison() if one.model not in ("good", "slow")]
    why = "the fastest that retains F1 within 2 points of the most (none timed retains 97%)"
    assert why_best([*alone, *near]) == ("near", why)


def test_a_headline_of_padded_times_alone_and_none_where_the_baseline_failed():
    padded = [one for one in comparison() if getattr(one, "lengths", None) != "unpadded"]
    assert headline(collect(padded)[0])[0].endswith("4.0 times smaller and 5.0 times faster padded to 384")
    group = collect([*comparison(), failure("teacher")])[0]
    assert headline(group) == ("5 models on dev.json", [])
    assert "teacher failed: cannot load it" in Page([group]).render()


def test_the_models_of_all_targets_share_a_table_and_only_one_line_is_the_best():
    pi = {"target": "ssh:pi", "machine": Machine("Pi", 4)}
    there = [replace(one, **pi) for one in comparison()]
    page = Page(collect([*comparison(), *there])).render()
    models = page[page.index("<h2>Models") :].split("</section>")[0]
    assert models.count('<tr class="best') == 1
    assert [note in models for note in ("Pi, 4 cores", "Z80, 1 core", "F1 on cpu</li>")] == [True] * 3


def test_report_without_latency_or_baseline_or_any_success(tmp_path):
    for name, results in (("alone", [scored(**NO_BASELINE)]), ("failed", [failure("teacher")])):
        path = tmp_path / "reports" / f"{name}.html"
        write_report(path, Page(collect(results)))
        text = path.read_text()
        assert "1 model on dev.json" in text
        assert "No regressions: this needs" in text
    assert len(list(path.parent.iterdir())) == 2
    assert "Nothing measured" in Page([]).render()


# Toolchains on the page


@pytest.fixture
def group():
    ours = export("student-onnx-int8", 10, 40, rounds=UNEVEN, quick=True, **KNOWN)
    batches = batched("student-onnx-int8", 123.4, round_ms=(8.1,) * 8, quick=True, **EXPORT)
    toolchains = [*toolchain("openvino-int8", 8, 44, **KNOWN), *toolchain("torchao-int8", 4, 20, f1=60.0)]
    return collect(run([*ours, batches], toolchains))[0]


def test_the_rankings_of_all_settings_share_a_section(group):
    page = Page([group]).render()
    section = page[page.index("<h2>Against other tools") :].split("</section>")[0]
    settings = ("Unpadded", "Padded to 128", "Padded to 384")
    assert re.findall("<h3>(.*?)</h3>", section) == [f"{name}, exports of student" for name in settings]
    assert section.count("<table>") == 3
    assert page.count("OpenVINO (openvino 2026.1.0, nncf 3.0.0)") == 1, "what all tables say stands once"
    assert "Against other tools" not in Page(collect(run())).render()


def test_peers_are_neither_the_headline_nor_the_best_line_and_are_drawn_hollow(group):
    assert best_entry(group)[0].model == "student-onnx-int8"
    sentence, cards = headline(group)
    assert "5.0 times faster unpadded" in sentence
    marked = [("quick" in what, "95 %: " in what) for _, what in cards[3:]]
    assert marked == [(True, True), (True, True)]
    page = Page([group]).render()
    assert len(re.findall(r'aria-label="[^"]*; toolchain ', page)) == 2 * 2  # two toolchains in two plots
    assert page.count("hollow: made by another toolchain") == 2
    assert "(77.25–78.75)†" not in page
    assert "78.00\n(77.25–78.75)" in page


def test_probabilities_of_calibrated_models_are_drawn_from_200_questions_on():
    bins = {"reliability": [(0.3, 0.2, 90), (0.8, 0.7, 110)]}
    bins["uncalibrated_reliability"] = bins["reliability"]
    pages = [Page(collect([scored(), scored("sure", n=n, **bins)])).render() for n in (199, 200)]
    drawn = [page.partition("Are the probabilities right?")[2] for page in pages]
    assert drawn[0] == ""
    assert all(part in drawn[1] for part in (">sure</text>", "softmax scores"))


# Plots


def points(*places):
    return [Point(str(number), x, f1, None, "torch", "fp32") for number, (x, f1) in enumerate(places)]


@pytest.mark.parametrize(
    ("places", "front"),
    [
        ([(3, 70), (1, 60), (2, 65), (2, 64), (4, 69)], ["1", "2", "0"]),
        ([(1, 60), (1, 61), (2, 61)], ["1"]),  # as good in more is beaten
        ([(5, 50)], ["0"]),
    ],
)
def test_the_front_holds_the_models_that_no_other_beats_in_both(places, front):
    assert [point.name for point in Scatter("t", "ms", points(*places)).front] == front


def test_without_a_front_the_points_are_drawn_alone():
    leaked = [dataclasses.replace(point, on_front=False) for point in points((4, 70), (40, 80))]
    svg = scatter_svg(Scatter("t", "ms", leaked))
    assert (svg.count('class="mark"'), "front: no model" in svg) == (2, False)


def test_axes_are_logarithmic_where_values_are_far_apart_and_labels_are_short():
    far = scatter_svg(Scatter("t", "ms", points((4, 70), (40, 80))))
    near = scatter_svg(Scatter("t", "ms", points((10, 70), (25, 80))))
    assert ("ms, log scale</text>" in far, "log scale" in near) == (True, False)
    for tick in ("5", "10", "20"):
        assert f">{tick}</text>" in far
    wide = scatter_svg(Scatter("t", "ms", points((1, 70), (10_000, 80))))
    assert [f">{tick}</text>" in wide for tick in ("10", "1k", "10k")] == [True] * 3
    assert [short(v) for v in (0.5, 20, 2e4, 5e6, 1e9)] == ["0.5", "20", "20k", "5M", "1G"]


def test_a_plot_of_latency_shows_single_unpadded_windows_on_the_fewest_threads():
    results = [scored()]
    for threads in (2, 1):
        results += [timed(ms=10.0 * threads, lengths=n, threads=threads) for n in (384, "unpadded")]
    plots = group_plots(collect([*results, batched()])[0])
    assert list(plots) == ["size", "latency"]
    (point,) = plots["latency"].points
    assert (point.x, plots["latency"].x_title) == (10.0, "mean ms for one window, unpadded, 1 thread")
    assert "latency 10.0 ms, unpadded, 1 thread; F1 80.00, 1,000 questions" in point.details
    assert f"bundle {'sha of teacher'[:16]}" in plots["size"].points[0].details


def names(svg):
    """The names of the points with the middles of their texts in pixels."""
    pattern = (
        r'<text style="[^"]*text-anchor: middle[^"]*" (?:x="([\d.]+)" y="([\d.]+)")[^>]*>(model [^<]*)</text>'
    )
    return [(float(x), float(y), name) for x, y, name in re.findall(pattern, svg)]


def test_points_are_named_where_they_stand_and_the_names_do_not_overlap():
    hollow = Point("model <a> $x$ $", 9, 75, None, "x", "int3", hollow=True, details="<b>")
    numbered = points((4, 70), (4, 70), (40, 80), (8, 60))
    named = [dataclasses.replace(point, name=f"model {point.name}") for point in numbered]
    plot = Scatter("t", "ms", [*named, hollow])
    svg = scatter_svg(plot)
    places = names(svg)
    assert {name for *_, name in places} == {*(p.name for p in named), "model &lt;a&gt; $x$ $"}
    for (x, y, name), (x2, y2, name2) in combinations(places, 2):
        assert abs(y - y2) >= LINE or abs(x - x2) >= CHARACTER * min(len(name), len(name2))
    assert svg.count('class="mark"') == 5
    assert "<title>&lt;b&gt;</title>" in svg
    assert "hollow: made by another toolchain" in svg
    assert svg == scatter_svg(plot), "the same bytes each time"


def test_runtimes_have_colours_of_their_own():
    colours = colours_of(["one", "torch", "another"])
    assert colours == {"torch": COLOURS[0], "one": COLOURS[1], "another": COLOURS[2]}
    many = [str(n) for n in range(len(COLOURS))]
    assert set(colours_of(many).values()) == set(COLOURS), "none twice while there are others"
