"""Steps of `python -m benchmarks.search`."""

import copy
import gc
import json
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from benchmarks.search.candidates import Candidate, Check, Form, plot, table, trials
from benchmarks.search.questions import Half, read_questions
from benchmarks.search.simulate import (
    Scores,
    as_trained,
    f1_at,
    f1_scores,
    known_forms,
    simulated,
    word_forms,
)
from benchmarks.search.stage import SearchConfig
from benchmarks.show.plots import scatter_svg
from compress.product_quantization import token_counts
from distill.prune_plan.importance import Importance, equal_importance, measure_importance, sample_windows
from distill.prune_plan.plan import plan_facts, prune_to
from distill.resume import work_folder
from distill.stage import distil, load_splits, save_model, summary, without_autocast
from distill.teacher import TeacherBundle
from distill.training.options import DistillationWeights, TrainingOptions
from export.tflite.convert import convert_to
from export.tflite.stage import check_converter
from export.tflite.timing import measure
from qa.base.files import write_whole
from qa.base.next_step import say_next
from qa.base.progress import Progress
from qa.bundles.bundle import Bundle, refuse_existing
from qa.bundles.hf_import import open_model, output_beside
from qa.evaluation.bootstrap import paired_difference
from qa.formats.tflite import any_length_signature
from qa.models.model import QAModel
from qa.text.features import Window
from qa.text.settings import QASettings

ROUNDS = 30  # rounds in which each width is timed
RECOVERY_RATE = 2e-4
IMPORTANCE_WINDOWS = 256


def recover(
    model: QAModel, parent: Bundle, windows: Sequence[Window], data: Path, work: Path, seed: int
) -> QAModel:
    """Train a pruned model for one pass over `windows` against its parent, and return it.

    Its word vectors stay as they are: a few windows contain few of them.
    """
    model.encoder.words.requires_grad_(False)
    options = TrainingOptions(RECOVERY_RATE, 16, 1, seed=seed)
    weights = DistillationWeights(0.1, 4.0, 10.0)
    teacher = TeacherBundle(parent, parent.tokenizer, [])
    trainer = distil(
        model,
        teacher,
        windows,
        data,
        options=options,
        weights=weights,
        cache=work,
        work=work,
        name="recovery",
    )
    trainer.train()
    trainer.finish()
    return without_autocast(model)


def scores_of(
    model: QAModel, forms: Collection[Form], words: dict[str, nn.Module], on: Half, settings: QASettings
) -> dict[Form, Scores]:
    """Score a model in every form."""
    found = {}
    for form in Progress(forms, desc="scoring", unit="form"):
        computed = simulated(model, form.quantize, words[form.embeddings])
        found[form] = f1_scores(computed, on, settings)
        del computed
        gc.collect()  # hooks and modules hold each other
    return found


def checked(ours: np.ndarray, whole: np.ndarray) -> Check:
    """Compare the chosen candidate's F1 with the unpruned model's; both (Q,)."""
    return Check(len(ours), float(ours.mean()), float(whole.mean()), paired_difference(ours, whole))


def search(config: SearchConfig) -> Bundle:
    """Prune, recover, score every combination, time every width, show the front, save the best."""
    check_converter()
    out = config.out or output_beside(config.model, "searched")
    refuse_existing(out)
    parent = open_model(config.model, format="pytorch")
    model = QAModel.from_pretrained(parent.path).eval()
    settings = parent.settings
    model.encoder.check_prunable("there is nothing to search")
    model.encoder.check_tflite()
    trials(model, equal_importance(model), known_forms(model), config.target_mb)  # refuses what nothing meets
    on = read_questions(config, parent)
    importance = measure_importance(model, sample_windows(on.train, IMPORTANCE_WINDOWS, config.seed))
    words = word_forms(model, lambda: token_counts(parent, model.encoder.words.num_embeddings, config.data))
    tried = trials(model, importance, list(words), config.target_mb)
    whole = f1_scores(model, on.choice, settings)
    sample = sample_windows(on.train, config.recovery_windows, config.seed + 1)
    folder = work_folder(out)
    models = list[QAModel]()
    scores = list[dict[Form, Scores]]()
    files = list[bytes]()
    for number, trial in enumerate(tried, 1):
        print(
            "width {} of {}: {} heads, {} neurons".format(number, len(tried), *trial.counts), file=sys.stderr
        )
        narrow = copy.deepcopy(model)
        prune_to(narrow, trial.width)
        if sample and narrow.count_parameters() != model.count_parameters():
            narrow = recover(narrow, parent, sample, on.data, folder / f"width-{number}", config.seed)
        models.append(narrow)
        scores.append(scores_of(narrow, trial.forms, words, on.choice, settings))
        converted = convert_to(narrow, "int8", [any_length_signature(settings.max_length)])
        files.append(converted.file.to_bytes())
    ms = measure(files, settings.max_length, ROUNDS)
    candidates = [
        Candidate(trial, form, float(ms[i]), float(scored.f1.mean()), paired_difference(scored.f1, whole.f1))
        for i, trial in enumerate(tried)
        for form, scored in scores[i].items()
    ]
    best = max((c for c in candidates if c.mb <= config.target_mb), key=lambda c: (c.f1, -c.mb))
    number = tried.index(best.trial)
    chosen = simulated(models[number], best.form.quantize, words[best.form.embeddings])
    check = checked(
        f1_at(chosen, on.check, settings, scores[number][best.form].threshold),
        f1_at(model, on.check, settings, whole.threshold),
    )
    drawn = plot(candidates, float(whole.f1.mean()))
    front = [candidates[drawn.points.index(point)] for point in drawn.front]
    rows = [c.row() | ({"check": check.row()} if c is best else {}) for c in candidates]
    write_whole(folder / "search.json", json.dumps(rows, indent=1) + "\n")
    write_whole(folder / "search.svg", scatter_svg(drawn))
    # Last, since what is there says that the search is over.
    bundle = save(config, out, parent, models[number], words[best.form.embeddings], best, check, importance)
    print(table(candidates, front, best))
    print(
        f"* nothing smaller is better   > the best within {config.target_mb:g} MB; drawn in "
        f"{folder / 'search.svg'}"
    )
    print(
        f"F1 on {len(on.choice.examples)} held-out questions, {whole.f1.mean():.1f} for the unpruned model "
        "in fp32; the best of many candidates has had luck on these"
    )
    print(f"the best again: {check}")
    print(summary(bundle))
    say_next("export.tflite", "--model", out, *best.form.flags.split())
    return bundle


def save(
    config: SearchConfig,
    out: Path,
    parent: Bundle,
    model: QAModel,
    words: nn.Module,
    best: Candidate,
    check: Check,
    importance: Importance,
) -> Bundle:
    """Save the best as a bundle that can be trained further, with its quantized embedding table."""
    trained = as_trained(words)
    facts = dict[str, Any]()
    if trained is not None:
        model.encoder.set_words(trained)
        facts["embeddings"] = best.form.embeddings
    pruning = plan_facts(importance, best.trial.width, IMPORTANCE_WINDOWS)
    return save_model(
        model,
        out,
        load_splits(config.data, None),
        stage="search",
        config=config,
        tokenizer=parent.path,
        parent=parent,
        settings=parent.settings,
        pruning=pruning,
        search=best.row() | {"check": check.row()},
        **facts,
    )
