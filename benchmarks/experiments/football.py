"""The football experiment (Preite 2020, 6.5): match reports answered after SQuAD, after football alone, and after both in turn.

    python -m benchmarks.experiments.football --squad runs/student --layers 3 --data biquad-train.json.gz \
        --eval-data biquad-dev.json.gz

Each with windows of 384 and of 512 tokens, scored with answer and without apart, and by the questions' category. The same
command goes on after a stop.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.command_line import command_line_of, flag_name, note
from benchmarks.experiments.base import Experiment, check_plan, data_of, evenly, show_tables, take_bundle, train
from benchmarks.experiments.football_views import (
    FOOTBALL,
    MARKERS_NAME,
    SQUAD,
    SQUAD_FOOTBALL,
    STARTS,
    FootballResults,
    by_category,
    comparison_table,
    main_table,
)
from benchmarks.models import bundle_facts
from benchmarks.results import EXIT_SOME_FAILED, AnyResult, Failure, ResultFile, failed
from benchmarks.tables import check_markers
from distill.stage import DataSplits, disable_attention_dropout, fresh_model, load_splits
from distill.student import same_tokens
from distill.training import TrainingOptions
from qa.bundle import Bundle
from qa.checkpoints import open_model
from qa.cli import check_option, run_command
from qa.errors import OptionError, SquadFormatError
from qa.features import Window, make_windows
from qa.models.model import QAModel
from qa.models.pretrained import EMBEDDED as EMBEDDED_ENCODER
from qa.models.pretrained import find_encoder, load_encoder
from qa.settings import QASettings
from qa.squad import Example, file_sha256
from qa.tokenization import load_tokenizer

PLAN = "football.json"
# Questions for the threshold, of held-out reports: a fifth as many as are trained on, up to these. A question is eight windows
# here, so the 500 that a bundle may carry would take as long as scoring a small run.
HELD_OUT_SHARE, HELD_OUT_QUESTIONS = 0.2, 200


@dataclass(frozen=True)
class FootballConfig:
    """Which SQuAD model, trained how on how much football."""

    squad: Path
    """PyTorch bundle trained on SQuAD; its encoder and head are those of all models."""
    data: Path
    """Football questions to train on: a SQuAD JSON file whose questions have a category."""
    eval_data: Path
    """Football questions to score on."""
    encoder: str = EMBEDDED_ENCODER
    """Pre-trained encoder that football alone starts from: minilm-l6 (from an installed wheel), a hub name, or a folder."""
    layers: int | None = None
    """Keep this many of its layers, evenly chosen, as --squad has them; all when not given."""
    lengths: tuple[int, ...] = (384, 512)
    """Longest windows, in tokens: each makes a model of every start."""
    train_questions: int | None = None
    """Train on this many questions, evenly chosen; all when not given."""
    dev_questions: int | None = None
    """Score on this many questions, evenly chosen; all when not given."""
    epochs: float = 4
    """Passes over the training questions (Preite's fine-tuning on match reports: 4)."""
    learning_rate: float = 1.2e-4
    """Peak learning rate."""
    batch_size: int = 16
    """Windows in a step."""
    seed: int = 0
    """Seed of the fresh head, of batches and dropout."""
    out: Path = Path("runs/football")
    """Folder of all models, their scores and football.md."""
    rows: Path | None = None
    """File the results are appended to; by default rows.jsonl in --out."""
    write: Path | None = None
    """Markdown file whose part between the markers of the name football is replaced by the tables."""

    def __post_init__(self) -> None:
        good = bool(self.lengths) and len(set(self.lengths)) == len(self.lengths) and min(self.lengths) >= 1
        check_option(good, "--lengths", self.lengths, "numbers of at least 1, each once")
        for name in ("train_questions", "dev_questions", "layers"):
            value = getattr(self, name)
            check_option(value is None or value >= 1, flag_name(name), value, "at least 1")
        if self.write is not None:
            check_markers(self.write, MARKERS_NAME)
        TrainingOptions(self.learning_rate, self.batch_size, self.epochs, seed=self.seed)


@dataclass(frozen=True)
class SharedTraining:
    """What all models that are trained here share."""

    squad_sha256: str
    encoder: str
    encoder_sha256: str
    layers: int | None
    data: dict[str, str]
    train_questions: int | None
    epochs: float
    learning_rate: float
    batch_size: int
    seed: int

    def options(self) -> TrainingOptions:
        """For the training loop."""
        return TrainingOptions(self.learning_rate, self.batch_size, self.epochs, seed=self.seed)


@dataclass(frozen=True)
class FootballModel:
    """One model of the experiment, before it is trained."""

    start: str
    max_length: int
    training: SharedTraining

    @property
    def name(self) -> str:
        """Name of its bundle and in results."""
        return f"{self.start}-{self.max_length}"

    def settings(self, squad: Bundle) -> QASettings:
        """The SQuAD model's settings with this model's length; the threshold is only the SQuAD model's own."""
        own = squad.settings.null_threshold if self.start == SQUAD else None
        return replace(squad.settings, max_length=self.max_length, null_threshold=own)

    def take(self, folder: Path, squad: Bundle) -> Bundle | None:
        """The SQuAD model with this length, or the bundle of an earlier run, or None. BundleError when it is another's."""
        if self.start == SQUAD:
            return replace(squad, settings=self.settings(squad))
        return take_bundle(folder / self.name, self)


@dataclass(frozen=True)
class Sources:
    """What the models are made of: the SQuAD model, and the pre-trained encoder under it."""

    squad: Bundle
    encoder: str
    encoder_folder: Path
    layers: int | None
    seed: int

    def model(self, start: str) -> QAModel:
        """An untrained model: the SQuAD model, or the encoder's layers under a fresh head of the same kind."""
        given = QAModel.from_pretrained(self.squad.path)
        if start == SQUAD_FOOTBALL:
            disable_attention_dropout(given)
            return given
        return fresh_model(self.encoder, self.encoder_folder, given.head_name, given.activation, self.seed, self.layers)

    def check(self, lengths: Sequence[int]) -> None:
        """OptionError unless the encoder has the SQuAD model's shape and tokens, and positions for windows of these lengths."""
        given = QAModel.from_pretrained(self.squad.path)
        n_layers = len(load_encoder(self.encoder, self.encoder_folder).layers)
        check_option((self.layers or 1) <= n_layers, "--layers", self.layers, f"at most the encoder's {n_layers}")
        if given.encoder.architecture.output is not None:
            raise OptionError(f"--squad {self.squad.path}: {given.head_name} is a whole model without a pre-trained encoder")
        ours, theirs = _shape(self.model(FOOTBALL)), _shape(given)
        for what, value in theirs.items():
            if value != ours[what]:
                raise OptionError(
                    f"--squad {self.squad.path}: {what} {value}, but {ours[what]} of --encoder {self.encoder}"
                    f"{f' --layers {self.layers}' if self.layers else ''}; choose the bundle's own encoder and layers"
                )
        if not same_tokens(self.squad.tokenizer(), load_tokenizer(self.encoder_folder)):
            raise OptionError(f"--squad {self.squad.path}: its tokenizer differs from that of --encoder {self.encoder}")
        for length in lengths:
            replace(self.squad.settings, max_length=length)  # refuses one that leaves no room beside the question
        longest = given.encoder.max_length
        check_option(max(lengths) <= longest, "--lengths", max(lengths), f"at most {longest}, the encoder's positions")


def _shape(model: QAModel) -> dict[str, object]:
    config = model.config()
    return {
        "encoder type": config["encoder"]["model_type"],
        "layers": len(model.encoder.layers),
        "width": model.encoder.hidden_size,
        "heads in each layer": config["heads_per_layer"],
        "neurons in each layer": config["neurons_per_layer"],
    }


@dataclass
class Football(Experiment):
    """One run."""

    config: FootballConfig = field(kw_only=True)
    training: SharedTraining = field(kw_only=True)
    sources: Sources = field(kw_only=True)
    splits: DataSplits = field(kw_only=True)
    n_given: tuple[int, int] = field(kw_only=True)
    """Questions of the two files, before any were chosen."""

    @cached_property
    def models(self) -> list[FootballModel]:
        """All models; those that need no training first."""
        return [FootballModel(start, length, self.training) for start in STARTS for length in self.config.lengths]

    @cached_property
    def windows(self) -> dict[int, list[Window]]:
        """The training windows by length, cut and counted before the first model is trained."""
        tokenizer, found = self.sources.squad.tokenizer(), {}
        for length in self.config.lengths:
            settings = FootballModel(FOOTBALL, length, self.training).settings(self.sources.squad)
            windows = found[length] = make_windows(self.splits.train, tokenizer, settings)
            note(
                f"{len(self.splits.train):,} training questions are {len(windows):,} windows of at most {length} tokens; "
                f"--epochs {self.config.epochs:g} sees {round(self.config.epochs * len(windows)):,}"
            )
        return found

    def take(self, model: FootballModel) -> Bundle | None:
        """The model's bundle, if it has been trained."""
        return model.take(self.out, self.sources.squad)

    def facts(self, model: FootballModel, bundle: Bundle | None) -> dict[str, Any]:
        """The fields of a result that are the model's own."""
        made_from = self.training.encoder_sha256 if model.start == FOOTBALL else self.training.squad_sha256
        facts: dict[str, Any] = {"model": model.name, "bundle_sha256": made_from, "stage": "finetune", "precision": "fp32"}
        facts |= bundle_facts(bundle, model.name) if bundle is not None else {}
        training = asdict(self.training) | {"start": model.start, "max_length": model.max_length}
        return facts | {"seed": self.config.seed, "training": training}


def plan(config: FootballConfig) -> Football:
    """Read and check all there is to read, so that a bad input is refused before anything is trained."""
    squad = open_model(config.squad, kind="pytorch")
    sources = Sources(squad, config.encoder, find_encoder(config.encoder), config.layers, config.seed)
    sources.check(config.lengths)
    given = load_splits(str(config.data), str(config.eval_data))
    check_categories(given.train + given.held_out, config.data)
    check_categories(given.eval, config.eval_data)
    chosen = evenly(given.train, config.train_questions)
    held_out = evenly(given.held_out, min(HELD_OUT_QUESTIONS, math.ceil(HELD_OUT_SHARE * len(chosen))))
    splits = replace(given, train=chosen, held_out=held_out, eval=evenly(given.eval, config.dev_questions))
    training = SharedTraining(
        squad.sha256, config.encoder, file_sha256(sources.encoder_folder / "model.safetensors"), config.layers,
        {"name": config.data.name, "sha256": file_sha256(config.data)}, config.train_questions, config.epochs,
        config.learning_rate, config.batch_size, config.seed,
    )  # fmt: skip
    run = Football(
        config.out, ResultFile(config.rows or config.out / "rows.jsonl"), splits.eval, data_of(config.eval_data),
        command_line_of("-m benchmarks.experiments.football", config), config=config, training=training, sources=sources,
        splits=splits, n_given=(len(given.train), len(given.eval)),
    )  # fmt: skip
    check_plan(config.out / PLAN, training)
    for model in run.models:
        run.take(model)
    return run


def check_categories(examples: list[Example], path: Path) -> None:
    """SquadFormatError naming the first question without a category."""
    for e in examples:
        if e.category is None:
            raise SquadFormatError(f"{path}: question id {e.id!r} has no 'category'; give match reports whose questions have one")


def train_and_score(run: Football, model: FootballModel) -> None:
    """Train one model and score it, where that is not done yet. A failure becomes a result; the others go on."""
    facts = run.facts(model, None)
    try:
        bundle = run.take(model)
        if bundle is None:
            squad, first = run.sources.squad, model.start == SQUAD_FOOTBALL
            bundle = train(
                run.sources.model(model.start), run.out / model.name, model, run.windows[model.max_length],
                run.training.options(), run.splits, squad.path if first else run.sources.encoder_folder,
                model.settings(squad), squad if first else None,
            )  # fmt: skip
        facts = run.facts(model, bundle)
        if run.scores_of(model.name, bundle) is None:
            accuracy, scores = run.score(facts, bundle)
            accuracy.by_category = by_category(run.examples, scores)
            scores.save(run.scores_path(model.name))
            run.file.append(accuracy)
            note(f"{model.name}: F1 {accuracy.f1:.2f}, EM {accuracy.exact:.2f} on {accuracy.n} questions")
    except Exception as error:  # of whatever type: one model must not cost the others
        run.fail(facts, error)


def collect(run: Football) -> FootballResults:
    """The scores of all models that have some, and under which conditions they came to be."""
    taken = [(model, bundle) for model in run.models if (bundle := run.take(model))]
    scores = {(m.start, m.max_length): found for m, bundle in taken if (found := run.scores_of(m.name, bundle))}
    newest = {one.model: one for one in run.file.all if one.data == run.data}
    names = [model.name for model in run.models]
    failures = [f"{name}: {one.error}" for name in names if isinstance(one := newest.get(name), Failure)]
    return FootballResults(run.config.lengths, scores, run.examples, conditions(run, taken), failures)


def conditions(run: Football, taken: list[tuple[FootballModel, Bundle]]) -> list[str]:
    """What was trained on and scored on, and how."""
    config, training, splits, squad = run.config, run.training, run.splits, run.sources.squad
    layers = f"{config.layers} layers of " if config.layers else ""
    passes = "1 epoch" if config.epochs == 1 else f"{config.epochs:g} epochs"
    evenly_chosen = "evenly chosen over the file"
    notes = [
        f"scored on {len(splits.eval):,} of {run.n_given[1]:,} questions of {run.data.name}, {evenly_chosen}; PyTorch fp32",
        f"football: {len(splits.train):,} of {run.n_given[0]:,} questions of {training.data['name']}, {evenly_chosen}; "
        f"{passes}, batch {config.batch_size}, peak learning rate {config.learning_rate:g}, seed {config.seed}",
        f"SQuAD: the bundle {squad.path.resolve().name}; football alone starts from {layers}{config.encoder} with a fresh head",
    ]
    if splits.held_out:
        notes.append(
            f"no-answer threshold of what is trained on football: tuned on {len(splits.held_out):,} questions on held-out "
            "training reports; the SQuAD model keeps its own"
        )
    starts = dict.fromkeys(model.start for model, bundle in taken if bundle.settings.null_threshold is None)
    if starts:
        names = " and ".join(STARTS[start] for start in starts)
        notes.append(f"{names}: trained on answerable questions alone, so without a threshold; always answers, and No Ans is 0")
    return notes


def main(config: FootballConfig) -> list[AnyResult]:
    """Train and score; write football.md and print the tables. Returns the results of this run."""
    run = plan(config)
    for model in run.models:
        train_and_score(run, model)
    found = collect(run)
    tables = [table for table in (main_table(found), comparison_table(found)) if table is not None]
    show_tables(tables, config.out, config.write, MARKERS_NAME)
    print(f"rows: {run.file.path}\ntables: {config.out / 'football.md'}")
    return run.file.new


def command(config: FootballConfig) -> None:
    """`main` for the command line: exit code 1 when something failed."""
    if failed(main(config)):
        sys.exit(EXIT_SOME_FAILED)


if __name__ == "__main__":
    run_command(command)
