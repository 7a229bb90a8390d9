"""The football experiment (Preite 2020, 6.5): match reports answered after SQuAD, after football alone, and after both in turn.

    python benchmarks/football.py --squad runs/student --layers 3 --data biquad-train.json.gz --eval-data biquad-dev.json.gz

Each with windows of 384 and of 512 tokens, scored with answer and without apart, and by the questions' category. The same
command goes on after a stop: what is finished is kept, and the model under way continues from its checkpoint.
"""

import math
import sys
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from benchmarks.command_line import command_line_of, flag_name, note
from benchmarks.compare import EXIT_SOME_FAILED
from benchmarks.football_train import FOOTBALL, STARTS, Model, Sources, Training, train
from benchmarks.football_views import MARKERS_NAME, Results, by_category, write_results
from benchmarks.rows import OK, Row, append_row, machine, make_row, rows_so_far
from benchmarks.subjects import bundle_columns
from benchmarks.zoo import evenly
from benchmarks.zoo_train import QuestionScores, check_plan, evaluate, load_scores, save_scores
from benchmarks.zoo_views import check_markers
from distill.stage import Material, read_material
from distill.training import TrainingOptions
from qa.bundle import Bundle
from qa.checkpoints import open_model
from qa.cli import check_option, one_line, run_command
from qa.errors import SquadFormatError
from qa.features import Window, make_windows
from qa.models.pretrained import EMBEDDED as EMBEDDED_ENCODER
from qa.models.pretrained import find_encoder
from qa.squad import Example, file_sha256

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
    """File the result rows are appended to; by default rows.jsonl in --out."""
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


@dataclass
class Run:
    """One run: what its measurements share."""

    config: FootballConfig
    training: Training
    sources: Sources
    material: Material
    n_given: tuple[int, int]
    """Questions of the two files, before any were chosen."""
    data: dict[str, str]
    rows_path: Path
    old_rows: list[Row]
    new_rows: list[Row] = field(default_factory=list)
    date: str = field(default_factory=lambda: datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))

    @cached_property
    def models(self) -> list[Model]:
        """All models; those that need no training first."""
        return [Model(start, length, self.training) for start in STARTS for length in self.config.lengths]

    @cached_property
    def windows(self) -> dict[int, list[Window]]:
        """The training windows by length, cut and counted before the first model is trained."""
        tokenizer, found = self.sources.squad.tokenizer(), {}
        for length in self.config.lengths:
            settings = Model(FOOTBALL, length, self.training).settings(self.sources.squad)
            windows = found[length] = make_windows(self.material.train, tokenizer, settings)
            note(
                f"{len(self.material.train):,} training questions are {len(windows):,} windows of at most {length} tokens; "
                f"--epochs {self.config.epochs:g} sees {round(self.config.epochs * len(windows)):,}"
            )
        return found

    @property
    def rows(self) -> list[Row]:
        """Old rows and new ones."""
        return self.old_rows + self.new_rows

    def take(self, model: Model) -> Bundle | None:
        """The model's bundle, if it has been trained."""
        return model.take(self.config.out, self.sources.squad)

    def scores_path(self, model: Model) -> Path:
        """Where a model's scores of every question are kept."""
        return self.config.out / "scores" / f"{model.name}.json"

    def facts(self, model: Model, bundle: Bundle | None) -> Row:
        """The columns known before anything is measured."""
        made_from = self.training.encoder_sha256 if model.start == FOOTBALL else self.training.squad_sha256
        facts: Row = {
            "model": model.name, "bundle_sha256": made_from, "stage": "teacher", "precision": "fp32", "seed": self.config.seed,
            "training": asdict(self.training) | {"start": model.start, "max_length": model.max_length}, "data": self.data,
            "target": "cpu", "machine": machine(), "date": self.date,
            "command": command_line_of("benchmarks/football.py", self.config),
        }  # fmt: skip
        if bundle is not None:
            facts |= bundle_columns(bundle)
        return facts

    def append(self, facts: Row, status: str = OK) -> None:
        """Append a row."""
        row = make_row(facts | {"status": status})
        append_row(self.rows_path, row)
        self.new_rows.append(row)

    def measured(self, model: Model, bundle: Bundle) -> QuestionScores | None:
        """The model's scores on just these questions, when an earlier run has both kept them and appended their row."""
        scores = load_scores(self.scores_path(model))
        n = len(self.material.eval)
        wanted: Row = {"model": model.name, "bundle_sha256": bundle.sha256, "data": self.data, "n": n, "status": OK}
        known = any(all(row.get(key) == value for key, value in wanted.items()) for row in self.rows)
        return scores if scores and known and scores.hold_for(bundle, self.data["sha256"], self.material.eval) else None


def plan(config: FootballConfig) -> Run:
    """Read and check all there is to read, so that a bad input is refused before anything is trained."""
    squad = open_model(config.squad, kind="pytorch")
    sources = Sources(squad, config.encoder, find_encoder(config.encoder), config.layers, config.seed)
    sources.check(config.lengths)
    given = read_material(str(config.data), str(config.eval_data))
    check_categories(given.train + given.held_out, config.data)
    check_categories(given.eval, config.eval_data)
    train = evenly(given.train, config.train_questions)
    held_out = evenly(given.held_out, min(HELD_OUT_QUESTIONS, math.ceil(HELD_OUT_SHARE * len(train))))
    material = replace(given, train=train, held_out=held_out, eval=evenly(given.eval, config.dev_questions))
    training = Training(
        squad.sha256, config.encoder, file_sha256(sources.encoder_folder / "model.safetensors"), config.layers,
        {"name": config.data.name, "sha256": file_sha256(config.data)}, config.train_questions, config.epochs,
        config.learning_rate, config.batch_size, config.seed,
    )  # fmt: skip
    data = {"name": config.eval_data.name, "sha256": file_sha256(config.eval_data)}
    rows_path = config.rows or config.out / "rows.jsonl"
    old_rows = rows_so_far(rows_path)
    run = Run(config, training, sources, material, (len(given.train), len(given.eval)), data, rows_path, old_rows)
    check_plan(config.out, training, PLAN)
    for model in run.models:
        run.take(model)
    return run


def check_categories(examples: list[Example], path: Path) -> None:
    """SquadFormatError naming the first question without a category."""
    for e in examples:
        if e.category is None:
            raise SquadFormatError(f"{path}: question id {e.id!r} has no 'category'; give match reports whose questions have one")


def train_and_score(run: Run, model: Model) -> None:
    """Train one model and score it, where that is not done yet. A failure becomes a row; the others go on."""
    facts = run.facts(model, None)
    try:
        bundle = run.take(model)
        bundle = bundle or train(model, run.sources, run.config.out, run.material, run.windows[model.max_length])
        facts = run.facts(model, bundle)
        if run.measured(model, bundle) is None:
            columns, scores = evaluate(bundle, run.data["sha256"], run.material.eval, sys.stderr.isatty())
            save_scores(run.scores_path(model), scores)
            run.append(facts | columns | {"by_category": by_category(run.material.eval, scores)})
            note(f"{model.name}: F1 {columns['f1']:.2f}, EM {columns['exact']:.2f} on {columns['n']} questions")
    except Exception as error:  # of whatever type: one model must not cost the others
        note(f"{model.name}: failed, {one_line(error)}")
        run.append(facts, one_line(error))


def collect(run: Run) -> Results:
    """The scores of all models that have some, and under which conditions they came to be."""
    taken = [(model, bundle) for model in run.models if (bundle := run.take(model))]
    scores = {(m.start, m.max_length): found for m, bundle in taken if (found := run.measured(m, bundle))}
    newest = {row["model"]: row for row in run.rows if row["data"] == run.data}
    names = [model.name for model in run.models]
    failures = [f"{n}: {newest[n]['status']}" for n in names if n in newest and newest[n]["status"] != OK]
    return Results(run.config.lengths, scores, run.material.eval, conditions(run, taken), failures)


def conditions(run: Run, taken: list[tuple[Model, Bundle]]) -> list[str]:
    """What was trained on and scored on, and how."""
    config, training, material, squad = run.config, run.training, run.material, run.sources.squad
    layers = f"{config.layers} layers of " if config.layers else ""
    passes = "1 epoch" if config.epochs == 1 else f"{config.epochs:g} epochs"
    evenly_chosen = "evenly chosen over the file"
    notes = [
        f"scored on {len(material.eval):,} of {run.n_given[1]:,} questions of {run.data['name']}, {evenly_chosen}; PyTorch fp32",
        f"football: {len(material.train):,} of {run.n_given[0]:,} questions of {training.data['name']}, {evenly_chosen}; "
        f"{passes}, batch {config.batch_size}, peak learning rate {config.learning_rate:g}, seed {config.seed}",
        f"SQuAD: the bundle {squad.path.resolve().name}; football alone starts from {layers}{config.encoder} with a fresh head",
    ]
    if material.held_out:
        notes.append(
            f"no-answer threshold of what is trained on football: tuned on {len(material.held_out):,} questions on held-out "
            "training reports; the SQuAD model keeps its own"
        )
    starts = dict.fromkeys(model.start for model, bundle in taken if bundle.settings.null_threshold is None)
    if starts:
        names = " and ".join(STARTS[start] for start in starts)
        notes.append(f"{names}: trained on answerable questions alone, so without a threshold; always answers, and No Ans is 0")
    return notes


def main(config: FootballConfig) -> list[Row]:
    """Train and score; write football.md and print the tables. Returns the rows of this run."""
    run = plan(config)
    for model in run.models:
        train_and_score(run, model)
    print(write_results(collect(run), config.out, config.write), end="")
    print(f"rows: {run.rows_path}\ntables: {config.out / 'football.md'}")
    return run.new_rows


def command(config: FootballConfig) -> None:
    """`main` for the command line: exit code 1 when something failed."""
    if any(row["status"] != OK for row in main(config)):
        sys.exit(EXIT_SOME_FAILED)


if __name__ == "__main__":
    run_command(FootballConfig, command)
