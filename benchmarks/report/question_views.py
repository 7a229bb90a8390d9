"""What single questions tell, as HTML: F1 by sort of question and length of passage, and the worst regressions as examples."""

from collections.abc import Sequence
from itertools import pairwise

from benchmarks.report.html import plural, text
from benchmarks.report.questions import (
    LENGTHS,
    TYPES,
    Kept,
    Slice,
    chosen_three,
    key_of,
    passage_length,
    question_type,
    regressions,
    slices,
)
from benchmarks.views.groups import Entry, Group
from qa.metrics import gold_texts

AROUND = 90  # characters of the passage shown on both sides of what is marked
Span = tuple[int, int, str]


def question_sections(kept: Kept | None, group: Group, missing: str) -> str:
    """All sections about single questions of one group; without kept answers one line that says why."""
    head = "<h2>Single questions</h2>"
    three = chosen_three(kept, group) if kept is not None else []
    if kept is None or not three:
        return f'{head}\n<p class="notes">{text(missing)}</p>\n'
    names = ("teacher", *(["student"] if len(three) == 3 else []), "int8 student" if len(three) == 3 else "int8")
    key = "".join(
        f'<span class="s{number}"><i></i>{text(name)}: <strong>{text(e.facts["model"])}</strong></span>'
        for number, (name, e) in enumerate(zip(names, three, strict=True))
    )
    parts = [head, f'<p class="legend">{key}<span><i class="bar"></i>95 % interval over questions</span></p>']
    for title, function, order in (
        ("F1 by question word", question_type, TYPES),
        ("F1 by length of the passage", passage_length, LENGTHS),
    ):
        bins = slices(kept, three, function, order)
        parts.append(f'<h3>{title}</h3>\n<div class="bins">{"".join(_bin(one, names) for one in bins)}</div>')
    parts.append('<p class="notes">Question word: the first of them in the question; whom and whose count as who.</p>')
    return "\n".join([*parts, _regressions(kept, three, names)])


def _bin(one: Slice, names: Sequence[str]) -> str:
    bars = "".join(
        bar(name, f1.mean, (f1.low, f1.high), f"{f1.mean:.1f}", f"s{number}")
        for number, (name, f1) in enumerate(zip(names, one.f1, strict=True))
    )
    return f'<div class="bin"><h4>{text(one.name)} <span class="soft">{plural(one.n, "question")}</span></h4>{bars}</div>\n'


def bar(name: str, percent: float, ends: tuple[float, float] | None, figure: str, kind: str) -> str:
    """A bar from 0 to `percent`, with its interval as a line where it is known."""
    width = min(percent, 100.0)
    whisker, said = "", ""
    if ends is not None:
        low, high = (min(end, 100.0) for end in ends)
        whisker = f'<u style="left:{low:.2f}%;width:{high - low:.2f}%"></u>'
        said = f" <small>{ends[0]:.1f}–{ends[1]:.1f}</small>"
    return (
        f'<div class="row {kind}"><span class="what">{text(name)}</span>'
        f'<span class="track"><i style="width:{width:.2f}%"></i>{whisker}</span><span class="figure">{figure}{said}</span></div>'
    )


def _regressions(kept: Kept, three: Sequence[Entry], names: Sequence[str]) -> str:
    teacher, student = three[0], three[-1]
    found = regressions(kept, three)
    n, worse, better = len(kept.examples), found.n_worse, found.n_better
    counted = (
        f"Of {plural(n, 'question')}, {student.facts['model']} has a lower F1 than {teacher.facts['model']} on {worse:,}, "
        f"a higher one on {better:,}, the same on {n - worse - better:,}. {found.n_lost:,} fall from 100 to 0"
    )
    if len(three) == 3:
        counted += (
            f"; on {found.n_lost_before:,} of these {three[1].facts['model']} in {three[1].facts['precision']} has 0 as well"
        )
    examples = "\n".join(_example(kept, number, three, names) for number in found.worst)
    how = "Those shown fall furthest; of equal falls, some spread evenly over the data file."
    where = "Answers are kept as texts: where one occurs several times, the place nearest to the gold answer is marked."
    marks = '<mark class="gold">gold</mark> <mark class="s0">teacher</mark> <mark class="s2">int8</mark>'
    return (
        f'<h3>Worst regressions</h3>\n<p>{text(counted)}.</p>\n<p class="notes">{how if found.worst else ""} {where} '
        f'Marked: {marks}.</p>\n<div class="examples">{examples}</div>'
    )


def _example(kept: Kept, number: int, three: Sequence[Entry], names: Sequence[str]) -> str:
    example = kept.examples[number]
    answers = [kept.answers[key_of(e)].get(example.id, "") for e in three]
    golds = list(dict.fromkeys(gold_texts(example)))
    spans: list[Span] = [(a.start, a.start + len(a.text), "gold") for a in example.answers[:1]]
    near = example.answers[0].start if example.answers else 0
    for answer, kind in ((answers[0], "s0"), (answers[-1], "s2")):
        start = nearest(example.context, answer, near)
        spans += [(start, start + len(answer), kind)] if start is not None else []
    lines = "".join(
        f'<div class="answer s{rank}"><dt>{text(name)}</dt><dd>{_answer(given)}</dd>'
        f'<dd class="soft">F1 {kept.f1[key_of(e)][number]:.0f}</dd></div>'
        for rank, (name, e, given) in enumerate(zip(names, three, answers, strict=True))
    )
    gold = " / ".join(_answer(g) for g in golds)
    return (
        f'<article class="example"><h4>{text(example.question)}</h4><p class="soft">{text(example.title.replace("_", " "))}, '
        f"{text(example.id)}</p><blockquote>{excerpt(example.context, spans)}</blockquote>"
        f'<dl><div class="answer gold"><dt>gold</dt><dd>{gold}</dd></div>{lines}</dl></article>'
    )


def _answer(given: str) -> str:
    return text(given) if given else "<em>no answer</em>"


def nearest(context: str, answer: str, place: int) -> int | None:
    """Where `answer` stands in the context, nearest to `place`; None where it does not, or is empty."""
    if not answer:
        return None
    starts, at = [], context.find(answer)
    while at >= 0:
        starts.append(at)
        at = context.find(answer, at + 1)
    return min(starts, key=lambda start: abs(start - place), default=None)


def excerpt(context: str, spans: Sequence[Span]) -> str:
    """The passage around what is marked, with marks that may overlap, and dots where it was cut."""
    shown = [False] * len(context)
    for start, end, _ in spans or [(0, 0, "")]:
        first, last = max(0, start - AROUND), min(len(context), end + AROUND)
        while first > 0 and not context[first - 1].isspace() and first > start - AROUND - 20:
            first -= 1
        while last < len(context) and not context[last].isspace() and last < end + AROUND + 20:
            last += 1
        shown[first:last] = [True] * (last - first)
    cuts = {0, len(context), *(i for start, end, _ in spans for i in (start, end))}
    cuts |= {i for i in range(1, len(context)) if shown[i] != shown[i - 1]}
    edges = sorted(cuts)
    parts = []
    for start, end in pairwise(edges):
        kinds = " ".join(dict.fromkeys(kind for low, high, kind in spans if low <= start and end <= high))
        piece = text(context[start:end])
        parts.append(" … " if not shown[start] else f'<mark class="{kinds}">{piece}</mark>' if kinds else piece)
    return " ".join("".join(parts).split())
