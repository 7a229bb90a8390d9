"""Steps of `python -m benchmarks.search`."""

import json
import math
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.search.candidates import Candidate, Check, Form, Trial, plot, table, trials
from benchmarks.search.questions import read_questions
from benchmarks.search.simulate import Scores, f1_at, f1_scores, known_forms, simulated, word_forms
from benchmarks.search.stage import SearchConfig
from benchmarks.search.widths import Widths, run_of
from benchmarks.show.plots import scatter_svg
from compress.product_quantization import token_counts
from distill.prune_plan.importance import (
    IMPORTANCE,
    Importance,
    cached_importance,
    equal_importance,
    sample_windows,
)
from distill.prune_plan.plan import plan_facts
from distill.resume import work_folder
from distill.stage import load_splits, save_model, summary
from export.embeddings import Int8Codebooks
from export.tflite.stage import check_converter
from qa.base.cli import check_option
from qa.base.files import write_whole
from qa.base.journal import Journal
from qa.base.next_step import say_next
from qa.bundles.bundle import Bundle, refuse_existing
from qa.bundles.hf_import import open_model, output_beside
from qa.evaluation.bootstrap import score_interval
from qa.models.model import QAModel

IMPORTANCE_WINDOWS = 256
Timed = tuple[Trial, float]  # a width, and the milliseconds of a window


def search(config: SearchConfig) -> Bundle:
    """Time, recover and score every width, and save the best; continue where a search was stopped."""
    check_converter()
    out = config.out or output_beside(config.model, "searched")
    refuse_existing(out)
    parent = open_model(config.model, format="pytorch")
    model = QAModel.from_pretrained(parent.path).eval()
    model.encoder.check_prunable("there is nothing to search")
    model.encoder.check_tflite()
    trials(model, equal_importance(model), known_forms(model), config.target_mb)  # refuses what nothing meets
    on = read_questions(config, parent)
    folder = work_folder(out)
    with closing(Journal(folder / "search.json", run_of(config, parent, on.data))) as journal:
        store = journal.path.with_suffix("")
        sample = sample_windows(on.train, IMPORTANCE_WINDOWS, config.seed)
        importance = cached_importance(model, sample, store / IMPORTANCE)
        words = word_forms(
            model, lambda: token_counts(parent, model.encoder.words.num_embeddings, config.data)
        )
        widths = Widths(parent, model, on, words, config, journal, folder)
        bundle = best_of(widths, importance, out)
        widths.remove()
    return bundle


def fast_enough(tried: Sequence[Trial], ms: Sequence[float], target_ms: float | None) -> list[Timed]:
    """Return the widths within the target, with their ms; OptionError when there is none."""
    limit = math.inf if target_ms is None else target_ms
    fast = [(trial, time) for trial, time in zip(tried, ms, strict=True) if time <= limit]
    check_option(
        bool(fast), "--target-ms", target_ms, f"at least {min(ms):.2f}, which the fastest width tried takes"
    )
    return fast


def best_of(widths: Widths, importance: Importance, out: Path) -> Bundle:
    """Score every width in every form near the targets, show the front, save the best."""
    config = widths.config
    words = widths.words
    choice = widths.on.choice
    tried = trials(widths.model, importance, list(words), config.target_mb)
    timed = fast_enough(tried, widths.times(tried), config.target_ms)
    whole = f1_scores(widths.model, choice)
    scored = list[dict[Form, Scores]]()
    candidates = list[Candidate]()
    for number, (trial, ms) in enumerate(timed, 1):
        heads, neurons = trial.counts
        print(f"width {number} of {len(timed)}: {heads} heads, {neurons} neurons", file=sys.stderr)
        scored.append(widths.scores(number, trial))
        for form, scores in scored[-1].items():
            lost, _ = score_interval(scores.f1 - whole.f1, choice.articles)
            candidates.append(Candidate(trial, form, ms, float(scores.f1.mean()), lost))
    best = max((c for c in candidates if c.mb <= config.target_mb), key=lambda c: (c.f1, -c.mb))
    place = [trial for trial, _ in timed].index(best.trial)
    model = widths.recovered(place + 1)
    simulation = simulated(model, best.form.quantize, words[best.form.embeddings])
    ours = f1_at(simulation, widths.on.check, scored[place][best.form].threshold)
    unpruned = f1_at(widths.model, widths.on.check, whole.threshold)
    lost, _ = score_interval(ours - unpruned, widths.on.check.articles)
    check = Check(len(ours), float(ours.mean()), float(unpruned.mean()), lost)
    folder = widths.curves
    drawn = plot(candidates, best, float(whole.f1.mean()))
    front = [candidates[drawn.points.index(point)] for point in drawn.front]
    rows = [c.row() | ({"check": check.row()} if c is best else {}) for c in candidates]
    write_whole(folder / "search.json", json.dumps(rows, indent=1) + "\n")
    write_whole(folder / "search.svg", scatter_svg(drawn))
    # Last, since what is there says that the search is over.
    bundle = save(widths, out, model, best, check, importance)
    print(table(candidates, front, best))
    limits = f"{config.target_mb:g} MB"
    if config.target_ms is not None:
        limits += f" and {config.target_ms:g} ms"
    print(f"* nothing smaller is better   > the best within {limits}; drawn in {folder / 'search.svg'}")
    print(
        f"F1 on {len(choice.examples)} held-out questions, {whole.f1.mean():.1f} for the unpruned model "
        "in fp32; the best of many candidates has had luck on these"
    )
    print(f"the best again: {check}")
    print(summary(bundle))
    say_next("export tflite", "--model", out, *best.form.flags.split())
    return bundle


def save(
    widths: Widths, out: Path, model: QAModel, best: Candidate, check: Check, importance: Importance
) -> Bundle:
    """Save the best as a bundle that can be trained further, with its quantized embedding table."""
    parent = widths.parent
    words = widths.words[best.form.embeddings]
    facts = dict[str, Any]()
    if isinstance(words, Int8Codebooks):  # a table of rows is quantized by the export itself
        model.encoder.set_words(words.words)
        facts["embeddings"] = best.form.embeddings
    return save_model(
        model,
        out,
        load_splits(widths.config.data, None, parent),
        stage="search",
        config=widths.config,
        tokenizer=parent.path,
        parent=parent,
        settings=parent.settings,
        pruning=plan_facts(importance, best.trial.width, IMPORTANCE_WINDOWS),
        search=best.row() | {"check": check.row()},
        **facts,
    )
