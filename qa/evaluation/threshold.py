"""No-answer thresholds and calibration, tuned on held-out training articles, again for every export.

Where `export.tune` tuned a model on other files, exports and copies keep that.

A model trained on answerable questions only has no threshold and always answers. The held-out questions are
in the bundle, so that an export can tune the threshold with its own logits.
"""

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

import msgspec
import numpy as np
from tokenizers import Tokenizer

from qa.base.errors import OptionError
from qa.base.sampling import evenly
from qa.bundles.bundle import HELD_OUT, Bundle
from qa.bundles.manifest import FileReference, Tuning
from qa.data.datasets import NAMED, data_reference, resolve
from qa.data.metrics import gain_of_answering, has_answer
from qa.data.squad import Example, articles_of, read_squad, write_squad
from qa.evaluation.bootstrap import ENDS, MIN_ARTICLES, Resampled, numbered
from qa.evaluation.calibration import equal_groups, fit_calibration
from qa.evaluation.predict import answer_text, predict
from qa.runtime.runtimes import Runtime, run_windows
from qa.text.answers import Prediction
from qa.text.preselection import windows_to_read
from qa.text.settings import QASettings

HELD_OUT_SHARE = 0.05
MOST_HELD_OUT_SHARE = 0.2  # where a threshold takes it
HELD_OUT_QUESTIONS = 1000
N_DRAWS = 200
N_INNER_DRAWS = 50  # of a threshold in each draw of its interval
STRICT_SHARE = 0.05
# Below these, a threshold says more about the few questions than about the model.
ENOUGH_QUESTIONS = 100
ENOUGH_OF_A_KIND = 20


def hold_out(examples: list[Example], before: Sequence[Example] = ()) -> tuple[list[Example], list[Example]]:
    """Return the questions to train on and those held out, which `last_articles` chooses.

    `before` are questions that the model to train holds out. Nothing is held out where every labelled
    question has an answer. Questions without a label and copies of others are never held out; those made of a
    held-out question, or asked of its passage, are dropped.
    """
    if all_answered(examples):
        return examples, []
    held_out = last_articles([e for e in examples if _may_be_held_out(e)], before)
    ids = {e.id for e in held_out}
    contexts = {e.context for e in held_out}

    def is_made_of_one(e: Example) -> bool:
        source = e.id.rpartition("-")[0] if e.unlabelled else e.copy_of
        return source is not None and (source in ids or e.context in contexts)

    return [e for e in examples if e.id not in ids and not is_made_of_one(e)], held_out


def kept(held_out: Sequence[Example]) -> list[Example]:
    """Return those that a bundle keeps: at most 1,000, evenly chosen of those with and without an answer."""
    by_kind = sorted(range(len(held_out)), key=lambda i: has_answer(held_out[i]))
    return [held_out[i] for i in sorted(by_kind[n] for n in evenly(len(held_out), HELD_OUT_QUESTIONS))]


def all_answered(examples: Sequence[Example]) -> bool:
    """Return True where every labelled question, copies aside, has an answer."""
    return all(e.answers for e in examples if _may_be_held_out(e))


def _may_be_held_out(e: Example) -> bool:
    return not (e.unlabelled or e.copy_of)


def last_articles(examples: list[Example], before: Sequence[Example]) -> list[Example]:
    """Return the questions to hold out: the last articles, about 5 % of the questions.

    Up to 20 % are held out where it takes so many for a threshold.
    Articles with passages of `before`, held out of earlier training, come first, whatever their place.
    Passages are held out instead of articles when the file has fewer than 20 articles, of questions without a
    title, and where a passage has several titles. In a mix, questions with and without a title give the same
    share. Parts with more than twice the questions wanted stay in training; when all are that large, the
    smallest is held out, unless `before` gave some.
    """
    few_articles = len({e.title for e in examples}) < 1 / HELD_OUT_SHARE
    parts = [e.context for e in examples] if few_articles else articles_of(examples)
    sizes = Counter(parts)  # in the order of the file
    wanted = HELD_OUT_SHARE * len(examples)
    if MOST_HELD_OUT_SHARE * len(examples) >= ENOUGH_QUESTIONS:
        wanted = max(wanted, ENOUGH_QUESTIONS)
    passages = {e.context for e in before}
    held = {part for part, e in zip(parts, examples, strict=True) if e.context in passages}
    if len(held) == len(sizes):  # nothing would stay to train on
        held = set()
    n = sum(sizes[part] for part in held)
    free = [part for part in sizes if part not in held]
    last = free[:0:-1]  # the first stays to train on
    smallest = [] if held else sorted(free, key=sizes.__getitem__)[: len(last)][:1]
    fit = [p for p in last if sizes[p] <= 2 * wanted] or smallest
    titled = {part: bool(e.title) for part, e in zip(parts, examples, strict=True)}
    totals = Counter(titled[part] for part in parts)
    passed = Counter(titled[part] for part in parts if part in held)
    shares = {}
    for part in fit:
        passed[titled[part]] += sizes[part]
        shares[part] = passed[titled[part]] / totals[titled[part]]
    for part in sorted(fit, key=shares.__getitem__):
        if n >= wanted:
            break
        held.add(part)
        n += sizes[part]
    return [e for part, e in zip(parts, examples, strict=True) if part in held]


def save_held_out(examples: Sequence[Example], folder: Path) -> None:
    """Write held-out questions as a SQuAD file; no file when there are none."""
    if examples:
        write_squad(folder / HELD_OUT, examples)


def read_held_out(folder: Path) -> list[Example]:
    """Read the held-out questions of a bundle; an empty list if it has none."""
    path = folder / HELD_OUT
    return read_squad(path) if path.is_file() else []


def copy_held_out(source: Path, folder: Path) -> None:
    """Copy the held-out questions of a bundle, if it has any, to the folder of its child."""
    if (source / HELD_OUT).is_file():
        shutil.copy(source / HELD_OUT, folder)


@dataclass(frozen=True)
class Judged:
    """Three values of each question, on which a threshold is tuned."""

    groups: np.ndarray  # (Q,), of equal weight (qa.evaluation.calibration.equal_groups)
    gains: np.ndarray
    """Gain of F1 when the best candidate is given instead of no answer."""
    differences: np.ndarray
    """Null score - best score."""

    @classmethod
    def of(
        cls, examples: Sequence[Example], predictions: Sequence[Prediction], groups: np.ndarray
    ) -> "Judged":
        """Judge the best candidates of the predictions."""
        pairs = list(zip(examples, predictions, strict=True))
        return cls(
            groups,
            np.array([gain_of_answering(e, answer_text(e, p, None)) for e, p in pairs]),
            np.array([p.null_difference for p in predictions]),
        )


def steady_threshold(judged: Judged) -> float:
    """Return the threshold on null score - best score that maximizes F1, averaged over N_DRAWS draws.

    F1 against the threshold is a jagged plateau, and its maximum moves far with the questions. The mean of
    the maxima of many draws (bagging, Breiman 1996) moves less. A draw counts as 0 when never answering would
    be best, as in the official script: a model that never answers is useless.
    """
    return _steady(judged, np.ones(len(judged.groups)), N_DRAWS, np.random.default_rng(0))


def _steady(judged: Judged, counts: np.ndarray, n_draws: int, rng: np.random.Generator) -> float:
    """Return the steady threshold of questions of which each is there `counts` (Q,) times."""
    weights = np.zeros((n_draws, len(counts)))
    for group in np.unique(judged.groups[counts > 0]):
        (indices,) = np.nonzero((judged.groups == group) & (counts > 0))
        n = int(counts[indices].sum())
        weights[:, indices] = rng.multinomial(n, counts[indices] / n, n_draws) / n
    order = np.argsort(judged.differences, kind="stable")  # from surely answerable to surely not
    totals = (weights * judged.gains)[:, order].cumsum(axis=1)  # (n_draws, Q): answering up to each question
    best = judged.differences[order][totals.argmax(axis=1)]
    return float(np.where(totals.max(axis=1) > 0, best, 0.0).mean())


def threshold_interval(judged: Judged, titles: Sequence[str]) -> tuple[tuple[float, float], Resampled]:
    """Return the ends of the interval of `steady_threshold`, and the unit of the bootstrap's draws.

    Articles, by the `titles` of the questions, are drawn, or questions where there are fewer than
    MIN_ARTICLES articles.
    """
    units = numbered(titles)
    resampled: Resampled = "articles"
    if units.max() + 1 < MIN_ARTICLES:
        units = np.arange(len(titles))
        resampled = "questions"
    n = int(units.max()) + 1
    rng = np.random.default_rng(0)
    draws = rng.multinomial(n, np.full(n, 1 / n), N_DRAWS)[:, units]  # (N_DRAWS, Q)
    low, high = np.quantile([_steady(judged, counts, N_INNER_DRAWS, rng) for counts in draws], ENDS)
    return (float(low), float(high)), resampled


def strict_threshold(examples: Sequence[Example], predictions: Sequence[Prediction]) -> float:
    """Return the highest threshold that answers at most STRICT_SHARE of the unanswerable questions."""
    differences = sorted(
        p.null_difference for e, p in zip(examples, predictions, strict=True) if not has_answer(e)
    )
    first_declined = differences[int(STRICT_SHARE * len(differences))]
    return float(np.nextafter(first_declined, -np.inf))


def too_few(examples: Sequence[Example]) -> str:
    """Return in words why these questions are too few to tune a threshold on; empty when they are enough."""
    n_unanswerable = sum(not has_answer(e) for e in examples)
    fewer = min(n_unanswerable, len(examples) - n_unanswerable)
    if len(examples) >= ENOUGH_QUESTIONS and fewer >= ENOUGH_OF_A_KIND:
        return ""
    return (
        f"{len(examples)} questions, {n_unanswerable} of them without an answer; tuning a no-answer "
        f"threshold takes {ENOUGH_QUESTIONS}, and {ENOUGH_OF_A_KIND} of them with and without an answer each"
    )


def tune(
    runtime: Runtime, tokenizer: Tokenizer, settings: QASettings, *parts: Sequence[Example]
) -> tuple[QASettings, Tuning | None]:
    """Return settings with thresholds and calibration of the examples, and on what they were tuned.

    The parts have equal weight, and so have questions with and without an answer (`equal_groups`). The strict
    threshold is the lowest of those of the parts, so that mode strict keeps its share in each.
    Too few examples leave a threshold that is there as it is; where there is none, they give the balanced
    threshold only. Settings are unchanged, and the tuning is None, without examples.
    """
    examples = list(chain(*parts))
    why_not = too_few(examples)
    if not examples or (settings.null_threshold is not None and why_not):
        return settings, None
    windows = windows_to_read(examples, tokenizer, settings)
    predictions = predict(examples, windows, run_windows(runtime, windows, progress=True), settings)
    groups = equal_groups(*parts)
    judged = Judged.of(examples, predictions, groups)
    tuned = replace(settings, null_threshold=steady_threshold(judged))
    if not why_not:
        assert tuned.null_threshold is not None
        left = iter(predictions)
        strict = [strict_threshold(part, list(islice(left, len(part)))) for part in parts]
        tuned = replace(
            tuned,
            strict_threshold=min(tuned.null_threshold, *strict),
            calibration=fit_calibration(examples, predictions, groups),
        )
    ends, resampled = threshold_interval(judged, articles_of(examples))
    return tuned, Tuning(
        n_questions=len(examples),
        n_unanswerable=sum(not has_answer(e) for e in examples),
        n_articles=len(set(articles_of(examples))),
        null_threshold_interval=ends,
        resampled=resampled,
    )


def tune_for_bundle(runtime: Runtime, bundle: Bundle) -> tuple[QASettings, Tuning | None]:
    """Tune on the held-out questions of a bundle, if there are any, as `tune` does.

    Settings that were tuned on other files stay, with their tuning.
    """
    if bundle.lasting_tuning is not None:
        return bundle.settings, bundle.lasting_tuning
    return tune(runtime, bundle.tokenizer, bundle.settings, read_held_out(bundle.path))


def questions_to_tune(file: Path, flag: str) -> Path:
    """Return the SQuAD file of a file of questions. OptionError, which names `flag`, for too few or none.

    The name of a data set is refused: its dev part is there to score on.
    """
    if str(file) in NAMED or not file.exists():
        raise OptionError(f"{flag} {file}: no such file; give questions to tune on")
    found = resolve(str(file), "dev")
    if why_not := too_few(read_squad(found)):
        raise OptionError(f"{flag} {file}: {why_not}; give more questions")
    return found


def tune_on_files(
    runtime: Runtime, tokenizer: Tokenizer, settings: QASettings, files: Sequence[Path]
) -> tuple[QASettings, Tuning | None]:
    """Tune on SQuAD files that `questions_to_tune` returned, as `tune` does."""
    tuned, tuning = tune(runtime, tokenizer, settings, *map(read_squad, files))
    assert tuning is not None
    data, *more_data = (msgspec.convert(data_reference(file), FileReference) for file in files)
    return tuned, msgspec.structs.replace(tuning, data=data, more_data=more_data)
