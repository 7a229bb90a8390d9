"""The football experiment (Preite 2020, 6.5): match reports answered after SQuAD, after football alone, and
after both in turn.

    python -m benchmarks.experiments.football --squad runs/student --layers 3 --data biquad-train.json.gz \
        --eval-data biquad-dev.json.gz

Each with windows of 384 and of 512 tokens, scored with answer and without apart, and by the questions'
category. The same command goes on after a stop.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.experiments.base import Experiment, ExperimentConfig, data_of, evenly, show_tables, train
from benchmarks.experiments.football_views import (
    FOOTBALL,
    MARKERS_NAME,
    SQUAD,
    SQUAD_FOOTBALL,
    STARTS,
    FootballResults,
    comparison_table,
    main_table,
)
from benchmarks.measure.command_line import command_line_of, note
from benchmarks.results.rows import AnyResult, Failure, ResultFile, exit_if_failed
from distill.stage import disable_attention_dropout, fresh_model, load_splits
from distill.student import same_tokens
from distill.training.options import TrainingOptions
from qa.base.cli import check_option, run_command
from qa.base.errors import OptionError, SquadFormatError
from qa.base.files import file_sha256
from qa.bundles.bundle import Bundle
from qa.bundles.hf_import import open_model
from qa.data.squad import Example
from qa.models.model import QAModel
from qa.models.pretrained import find_encoder, load_encoder
from qa.text.features import Window, make_windows
from qa.text.settings import QASettings
from qa.text.tokenization import load_tokenizer

# Questions for the threshold, of held-out reports: a fifth as many as are trained on, up to these. A question
# is eight windows here, so the 1,000 that a bundle may carry would take as long as scoring a small run.
HELD_OUT_SHARE = 0.2
HELD_OUT_QUESTIONS = 200


@dataclass(frozen=True, kw_only=True)
class FootballConfig(ExperimentConfig):
    """Which SQuAD model, trained how on how much football; --encoder and --layers are what football alone
    starts from."""

    squad: Path
    """PyTorch bundle trained on SQuAD; its encoder and head are those of all models."""
    data: Path
    """Football questions to train on: a SQuAD JSON file whose questions have a category."""
    eval_data: Path
    """Football questions to score on."""
    lengths: tuple[int, ...] = (384, 512)
    """Longest windows, in tokens: each makes a model of every start."""
    train_questions: int | None = None
    """Train on this many questions, evenly chosen; all when not given."""
    epochs: float = 4
    """Passes over the training questions (Preite's fine-tuning on match reports: 4)."""
    seed: int = 0
    """Seed of the fresh head, of batches and dropout."""
    out: Path = Path("runs/football")
    """Folder of all models, their scores and football.md."""

    def __post_init__(self) -> None:
        good = bool(self.lengths) and len(set(self.lengths)) == len(self.lengths) and min(self.lengths) >= 1
        check_option(good, "--lengths", self.lengths, "numbers of at least 1, each once")
        self.check(MARKERS_NAME, "train_questions")
        self.options()

    def options(self) -> TrainingOptions:
        """For the training loop."""
        return TrainingOptions(self.learning_rate, self.batch_size, self.epochs, seed=self.seed)


@dataclass(frozen=True)
class FootballModel:
    """One model of the experiment, before it is trained; `training` is what all of them share."""

    start: str
    max_length: int
    training: dict[str, Any]

    @property
    def name(self) -> str:
        """Name of its bundle and in results."""
        return f"{self.start}-{self.max_length}"

    @property
    def made_from(self) -> str:
        """Hash of the SQuAD model, or of the encoder."""
        return str(self.training["encoder_sha256" if self.start == FOOTBALL else "squad_sha256"])

    @property
    def own(self) -> dict[str, Any]:
        """The fields of its results that are its own."""
        training = self.training | {"start": self.start, "max_length": self.max_length}
        return {"seed": self.training["seed"], "training": training}


@dataclass
class Football(Experiment):
    """One run: the SQuAD model, the encoder beside it, and `training`, what all models that are trained here
    share."""

    config: FootballConfig
    squad: Bundle
    encoder_folder: Path
    training: dict[str, Any]
    n_given: tuple[int, int]
    """Questions of the two files, before any were chosen."""
    models: list[FootballModel] = field(init=False)
    """All of them; those that need no training first."""

    def __post_init__(self) -> None:
        self.models = [
            FootballModel(start, length, self.training) for start in STARTS for length in self.config.lengths
        ]

    def settings(self, model: FootballModel) -> QASettings:
        """The SQuAD model's settings with this model's length; the threshold is only the SQuAD model's
        own.
        """
        own = self.squad.settings.null_threshold if model.start == SQUAD else None
        return replace(self.squad.settings, max_length=model.max_length, null_threshold=own)

    @cached_property
    def windows(self) -> dict[int, list[Window]]:
        """The training windows by length, cut and counted before the first model is trained."""
        tokenizer = self.squad.tokenizer()
        found = {}
        for length in self.config.lengths:
            settings = replace(self.squad.settings, max_length=length, null_threshold=None)
            windows = found[length] = make_windows(self.splits.train, tokenizer, settings)
            note(
                f"{len(self.splits.train):,} training questions are {len(windows):,} windows of at most "
                f"{length} tokens; "
                f"--epochs {self.config.epochs:g} sees {round(self.config.epochs * len(windows)):,}"
            )
        return found

    def take(self, model: FootballModel) -> Bundle | None:
        """The model's bundle, if it has been trained; the SQuAD model has been."""
        return (
            replace(self.squad, settings=self.settings(model))
            if model.start == SQUAD
            else super().take(model)
        )

    def make(self, model: FootballModel) -> Bundle:
        """Train a model on football."""
        after_squad = model.start == SQUAD_FOOTBALL
        return train(
            untrained(self.config, self.squad, self.encoder_folder, model.start),
            self.out / model.name,
            model,
            self.windows[model.max_length],
            self.config.options(),
            self.splits,
            self.squad.path if after_squad else self.encoder_folder,
            self.settings(model),
            self.squad if after_squad else None,
        )


def untrained(config: FootballConfig, squad: Bundle, encoder_folder: Path, start: str) -> QAModel:
    """What training starts from: the SQuAD model, or the encoder's layers under a fresh head of the same
    kind."""
    given = QAModel.from_pretrained(squad.path)
    if start == SQUAD_FOOTBALL:
        disable_attention_dropout(given)
        return given
    return fresh_model(
        config.encoder, encoder_folder, given.head_name, given.activation, config.seed, config.layers
    )


def check_encoder(config: FootballConfig, squad: Bundle, encoder_folder: Path) -> None:
    """OptionError unless the encoder has the SQuAD model's shape and tokens, and positions for windows of
    --lengths."""
    given = QAModel.from_pretrained(squad.path)
    where = f"--squad {squad.path}"
    n_layers = len(load_encoder(config.encoder, encoder_folder).layers)
    check_option(
        (config.layers or 1) <= n_layers, "--layers", config.layers, f"at most the encoder's {n_layers}"
    )
    if given.encoder.architecture.output is not None:
        raise OptionError(f"{where}: {given.head_name} is a whole model without a pre-trained encoder")
    ours = shape(untrained(config, squad, encoder_folder, FOOTBALL))
    encoder = f"--encoder {config.encoder}{f' --layers {config.layers}' if config.layers else ''}"
    for what, value in shape(given).items():
        if value != ours[what]:
            differ = f"{what} {value}, but {ours[what]} of {encoder}"
            raise OptionError(f"{where}: {differ}; choose the bundle's own encoder and layers")
    if not same_tokens(squad.tokenizer(), load_tokenizer(encoder_folder)):
        raise OptionError(f"{where}: its tokenizer differs from that of --encoder {config.encoder}")
    for length in config.lengths:
        replace(squad.settings, max_length=length)  # refuses one that leaves no room beside the question
    longest = given.encoder.max_length
    check_option(
        max(config.lengths) <= longest,
        "--lengths",
        max(config.lengths),
        f"at most {longest}, the encoder's positions",
    )


def shape(model: QAModel) -> dict[str, object]:
    """What two encoders have to have in common, by its name."""
    config = model.config()
    return {
        "encoder type": config["encoder"]["model_type"],
        "layers": len(model.encoder.layers),
        "width": model.encoder.hidden_size,
        "heads in each layer": config["heads_per_layer"],
        "neurons in each layer": config["neurons_per_layer"],
    }


def plan(config: FootballConfig) -> Football:
    """Read and check all there is to read, so that a bad input is refused before anything is trained."""
    squad = open_model(config.squad, kind="pytorch")
    encoder_folder = find_encoder(config.encoder)
    check_encoder(config, squad, encoder_folder)
    given = load_splits(str(config.data), str(config.eval_data))
    check_categories(given.train + given.held_out, config.data)
    assert given.eval is not None  # --eval-data has no default
    check_categories(given.eval.examples, config.eval_data)
    chosen = evenly(given.train, config.train_questions)
    held_out = evenly(given.held_out, min(HELD_OUT_QUESTIONS, math.ceil(HELD_OUT_SHARE * len(chosen))))
    splits = replace(given, train=chosen, held_out=held_out)
    names = ("encoder", "layers", "train_questions", "epochs", "learning_rate", "batch_size", "seed")
    training = {name: getattr(config, name) for name in names}
    training |= {
        "squad_sha256": squad.sha256,
        "encoder_sha256": file_sha256(encoder_folder / "model.safetensors"),
    }
    training["data"] = {"name": config.data.name, "sha256": file_sha256(config.data)}
    run = Football(
        config.out,
        ResultFile(config.rows or config.out / "rows.jsonl"),
        evenly(given.eval.examples, config.dev_questions),
        data_of(config.eval_data),
        command_line_of("-m benchmarks.experiments.football", config),
        splits,
        config,
        squad,
        encoder_folder,
        training,
        (len(given.train), len(given.eval.examples)),
    )
    for model in run.models:
        run.take(model)
    return run


def check_categories(examples: Sequence[Example], path: Path) -> None:
    """SquadFormatError naming the first question without a category."""
    for e in examples:
        if e.category is None:
            raise SquadFormatError(
                f"{path}: question id {e.id!r} has no 'category'; give match reports whose questions have one"
            )


def results_of(run: Football) -> FootballResults:
    """The scores of all models that have some, and under which conditions they came to be."""
    taken = [(model, bundle) for model in run.models if (bundle := run.take(model))]
    scores = {
        (m.start, m.max_length): found for m, bundle in taken if (found := run.scores_of(m.name, bundle))
    }
    newest = {one.model: one for one in run.file.all if one.data == run.data}
    failures = [
        f"{m.name}: {one.error}" for m in run.models if isinstance(one := newest.get(m.name), Failure)
    ]
    unanswered = [model.start for model, bundle in taken if bundle.settings.null_threshold is None]
    return FootballResults(run.config.lengths, scores, run.examples, conditions(run, unanswered), failures)


def conditions(run: Football, without_threshold: Sequence[str]) -> list[str]:
    """What was trained on and scored on, and how."""
    config = run.config
    splits = run.splits
    layers = f"{config.layers} layers of " if config.layers else ""
    passes = "1 epoch" if config.epochs == 1 else f"{config.epochs:g} epochs"
    evenly_chosen = "evenly chosen over the file"
    notes = [
        f"scored on {len(run.examples):,} of {run.n_given[1]:,} questions of {run.data.name}, "
        f"{evenly_chosen}; PyTorch fp32",
        f"football: {len(splits.train):,} of {run.n_given[0]:,} questions of {config.data.name}, "
        f"{evenly_chosen}; "
        f"{passes}, batch {config.batch_size}, peak learning rate {config.learning_rate:g}, seed "
        f"{config.seed}",
        f"SQuAD: the bundle {run.squad.path.resolve().name}; "
        f"football alone starts from {layers}{config.encoder} with a fresh head",
    ]
    if splits.held_out:
        notes.append(
            f"no-answer threshold of what is trained on football: tuned on {len(splits.held_out):,} "
            "questions on held-out "
            "training reports; the SQuAD model keeps its own"
        )
    if without_threshold:
        names = " and ".join(STARTS[start] for start in dict.fromkeys(without_threshold))
        notes.append(
            f"{names}: trained on answerable questions alone, so without a threshold; always answers, and "
            "No Ans is 0"
        )
    return notes


def main(config: FootballConfig) -> list[AnyResult]:
    """Train and score; write football.md and print the tables. Returns the results of this run."""
    run = plan(config)
    for model in run.models:
        run.train_and_score(model)
    found = results_of(run)
    show_tables((main_table(found), comparison_table(found)), config, MARKERS_NAME)
    print(f"rows: {run.file.path}\ntables: {config.out / 'football.md'}")
    return run.file.new


def command(config: FootballConfig) -> None:
    """`main` for the command line: exit code 1 when something failed."""
    exit_if_failed(main(config))


if __name__ == "__main__":
    run_command(command)
