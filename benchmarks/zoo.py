"""Compare all heads on one encoder, and the whole models: train each alike, evaluate, export, score and time the exports, and
say which differences exceed noise.

    python benchmarks/zoo.py --data squad --train-windows 20000 --dev-questions 2000 --seeds 0 1
    python benchmarks/zoo.py --layers 3 --heads linear pointer --out runs/zoo-small

Every model sees the same number of windows, in the same order for the same seed. The same command goes on after a stop: what
is finished is kept, and the model under way continues from its checkpoint.
"""

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import export.onnx
import export.tflite
from benchmarks.accuracy import measure_accuracy
from benchmarks.command_line import command_line_of, flag_name, note
from benchmarks.compare import EXIT_SOME_FAILED
from benchmarks.measure import Comparison
from benchmarks.rows import OK, Row, append_row, machine, make_row, rows_so_far
from benchmarks.subjects import Subject, bundle_columns
from benchmarks.timing.conditions import this_host
from benchmarks.timing.latency import PADDED, QUICK, REAL, Setting
from benchmarks.timing.passes import Timing, measure_latency
from benchmarks.zoo_train import Model, Training, check_plan, evaluate, load_scores, save_scores, scores_path, train
from benchmarks.zoo_views import UNSUPPORTED, Results, check_markers, write_results
from compress.quantize import PRECISION_OF_FLAG
from distill.precision import resolve_precision
from distill.stage import Material, read_material
from distill.training import TrainingOptions
from qa import sampling
from qa.bundle import Bundle, open_bundle
from qa.cli import check_option, one_line, run_command
from qa.datasets import EMBEDDED, SQUAD_FILES
from qa.errors import UnsupportedExport
from qa.features import Window, make_windows
from qa.models.architectures import WHOLE_MODELS
from qa.models.heads import HEADS
from qa.models.pretrained import EMBEDDED as EMBEDDED_ENCODER
from qa.models.pretrained import find_encoder, load_encoder
from qa.runtimes import load_runtime
from qa.settings import QASettings
from qa.squad import Example, file_sha256
from qa.tokenization import load_tokenizer

EXPORTS = (("onnx", "none"), ("onnx", "int8"), ("tflite", "none"), ("tflite", "int8"))


@dataclass(frozen=True)
class ZooConfig:
    """Which heads, on which encoder, trained how long on what."""

    encoder: str = EMBEDDED_ENCODER
    """Encoder under every head: minilm-l6 (from an installed wheel), a hub name, or a folder."""
    layers: int | None = None
    """Keep this many of its layers, evenly chosen; all when not given."""
    heads: tuple[str, ...] = (*HEADS, *WHOLE_MODELS)
    """Heads to train, and whole models; all are compared with linear, so it should be among them."""
    seeds: tuple[int, ...] = (0,)
    """Seeds of fresh weights, order and dropout: each makes a model of every head. Exports are those of the first."""
    repeat: tuple[str, ...] | None = None
    """Heads to train with the seeds after the first; all when not given."""
    data: str = EMBEDDED
    """Training questions: embedded, squad, squad_v2, or a SQuAD JSON file."""
    eval_data: str | None = None
    """Questions to score on; by default the dev part of a named --data."""
    train_windows: int = 20_000
    """Windows each model sees in training, repetitions counted."""
    dev_questions: int | None = None
    """Score on this many questions, evenly chosen; all when not given."""
    learning_rate: float = 1.2e-4
    """Peak learning rate."""
    batch_size: int = 16
    """Windows in a step."""
    optimizer: str = "adamw"
    """adamw or adafactor."""
    freeze_encoder: bool = False
    """Train the heads alone."""
    precision: str = "auto"
    """Of training: bf16 (autocast), fp32, or auto: bf16 where the GPU, or without one the CPU, computes in it, else fp32."""
    skip_exports: bool = False
    """Train and score PyTorch only; the same command without this exports what was trained."""
    out: Path = Path("runs/zoo")
    """Folder of all models, their exports and scores, zoo.md and zoo.svg."""
    rows: Path | None = None
    """File the result rows are appended to; by default rows.jsonl in --out."""
    write: Path | None = None
    """Markdown file whose part between the markers of the name zoo is replaced by the tables."""

    def __post_init__(self) -> None:
        check_option(bool(self.heads) and len(set(self.heads)) == len(self.heads), "--heads", self.heads, "names, each once")
        for head in self.heads:
            check_option(head in (*HEADS, *WHOLE_MODELS), "--heads", head, f"one of {', '.join((*HEADS, *WHOLE_MODELS))}")
        for head in self.repeat or ():
            check_option(head in self.heads, "--repeat", head, "one of --heads")
        good = bool(self.seeds) and len(set(self.seeds)) == len(self.seeds) and min(self.seeds) >= 0
        check_option(good, "--seeds", self.seeds, "numbers of at least 0, each once")
        for name in ("train_windows", "dev_questions", "layers"):
            value = getattr(self, name)
            check_option(value is None or value >= 1, flag_name(name), value, "at least 1")
        known = self.eval_data is not None or self.data in (EMBEDDED, *SQUAD_FILES)
        check_option(known, "--eval-data", self.eval_data, "given when --data is a file")
        if self.write is not None:
            check_markers(self.write)
        TrainingOptions(self.learning_rate, self.batch_size, 1, precision=self.precision, optimizer=self.optimizer)


def evenly(examples: Sequence[Example], n: int | None) -> list[Example]:
    """`n` of the examples, evenly chosen; all when there are no more, or n is None."""
    if n is None or n >= len(examples):
        return list(examples)
    return [examples[i] for i in sampling.evenly(len(examples), n, ends=True)]


@dataclass
class Zoo:
    """One run: what its measurements share."""

    config: ZooConfig
    training: Training
    encoder_folder: Path
    material: Material
    examples: list[Example]
    data: dict[str, str]
    rows_path: Path
    old_rows: list[Row]
    new_rows: list[Row] = field(default_factory=list)
    date: str = field(default_factory=lambda: datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))

    @cached_property
    def models(self) -> list[Model]:
        """All models, seed by seed."""
        config = self.config
        first = [Model(head, config.seeds[0], self.training) for head in config.heads]
        more = config.heads if config.repeat is None else config.repeat
        return first + [Model(head, seed, self.training) for seed in config.seeds[1:] for head in more]

    @cached_property
    def windows(self) -> list[Window]:
        """The training windows, cut when the first model needs them."""
        return make_windows(self.material.train, load_tokenizer(self.encoder_folder), QASettings(), progress=True)

    @property
    def rows(self) -> list[Row]:
        """Old rows and new ones."""
        return self.old_rows + self.new_rows

    def facts(self, model: Model, bundle: Bundle | None) -> Row:
        """The columns known before anything is measured."""
        facts: Row = {
            "model": model.name, "bundle_sha256": self.training.encoder_sha256, "stage": "finetune", "precision": "fp32",
            "head": model.head, "seed": model.seed, "training": asdict(self.training), "data": self.data,
            "target": "cpu", "machine": machine(), "date": self.date,
            "command": command_line_of("benchmarks/zoo.py", self.config),
        }  # fmt: skip
        if bundle is not None:
            facts |= {"model": bundle.path.name} | bundle_columns(bundle)
        return facts

    def append(self, facts: Row, status: str = OK) -> None:
        """Append a row."""
        row = make_row(facts | {"status": status})
        append_row(self.rows_path, row)
        self.new_rows.append(row)

    def known(self, **wanted: Any) -> bool:
        """Whether a row has these columns."""
        return any(all(row.get(key) == value for key, value in wanted.items()) for row in self.rows)


def plan(config: ZooConfig) -> Zoo:
    """Read and check all there is to read, so that a bad input is refused before anything is trained."""
    encoder_folder = find_encoder(config.encoder)
    load_tokenizer(encoder_folder)
    encoder = load_encoder(config.encoder, encoder_folder)
    encoder.check_length(QASettings().max_length)
    n_layers = len(encoder.layers)
    check_option((config.layers or 1) <= n_layers, "--layers", config.layers, f"at most the encoder's {n_layers}")
    material = read_material(config.data, config.eval_data)
    assert material.eval_file is not None  # ZooConfig has seen to it
    train_data = {"name": material.train_file.name, "sha256": file_sha256(material.train_file)}
    encoder_sha256 = file_sha256(encoder_folder / "model.safetensors")
    training = Training(
        config.encoder, encoder_sha256, config.layers, train_data, config.train_windows, config.learning_rate,
        config.batch_size, config.optimizer, config.freeze_encoder, resolve_precision(config.precision),
    )  # fmt: skip
    examples = evenly(material.eval, config.dev_questions)
    data = {"name": material.eval_file.name, "sha256": file_sha256(material.eval_file)}
    rows_path = config.rows or config.out / "rows.jsonl"
    old_rows = rows_so_far(rows_path)
    zoo = Zoo(config, training, encoder_folder, material, examples, data, rows_path, old_rows)
    check_plan(config.out, training)
    for model in zoo.models:
        model.take(config.out)
    return zoo


def train_and_score(zoo: Zoo, model: Model) -> None:
    """Train one model and score it, where that is not done yet. A failure becomes a row; the others go on."""
    folder, facts = zoo.config.out, zoo.facts(model, None)
    try:
        bundle = model.take(folder) or train(model, folder, zoo.encoder_folder, zoo.material, lambda: zoo.windows)
        facts = zoo.facts(model, bundle) | {"head_params": bundle.manifest["head_parameters"]}
        path, data_sha256 = scores_path(folder, model), zoo.data["sha256"]
        scores, n = load_scores(path), len(zoo.examples)
        measured = zoo.known(bundle_sha256=bundle.sha256, data=zoo.data, n=n, status=OK)
        if scores is None or not scores.hold_for(bundle, data_sha256, zoo.examples) or not measured:
            columns, scores = evaluate(bundle, data_sha256, zoo.examples, sys.stderr.isatty())
            save_scores(path, scores)
            zoo.append(facts | columns)
            note(f"{model.name}: F1 {columns['f1']:.2f}, EM {columns['exact']:.2f} on {n} questions")
    except Exception as error:  # of whatever type: one head must not cost the others
        note(f"{model.name}: failed, {one_line(error)}")
        zoo.append(facts, one_line(error))


def export_model(zoo: Zoo, model: Model, parent: Bundle, kind: str, flag: str) -> Subject | None:
    """One export of a model, made or taken; None when it cannot be, and why is a row."""
    path = parent.path.with_name(f"{parent.path.name}-{kind}-{PRECISION_OF_FLAG[flag]}")
    facts = zoo.facts(model, parent) | {"model": path.name, "stage": "export", "precision": PRECISION_OF_FLAG[flag]}
    facts["head_params"] = parent.manifest["head_parameters"]
    reasons = [r["status"] for r in zoo.rows if (r["model"], r["bundle_sha256"]) == (path.name, parent.sha256)]
    if reasons and reasons[-1].startswith(UNSUPPORTED) and not path.exists():
        return None
    try:
        if not path.exists() and kind == "onnx":
            export.onnx.main(export.onnx.OnnxConfig(model=parent.path, quantize=flag))
        elif not path.exists():
            export.tflite.main(export.tflite.TFLiteConfig(model=parent.path, quantize=flag))
        bundle = open_bundle(path, kind=kind)
        runtime = load_runtime(bundle).name
    except UnsupportedExport as error:
        note(f"{path.name}: {one_line(error)}")
        zoo.append({key: value for key, value in facts.items() if key != "size_bytes"}, UNSUPPORTED + one_line(error))
        return None
    except Exception as error:  # runtimes and converters raise their own types
        note(f"{path.name}: failed, {one_line(error)}")
        zoo.append({key: value for key, value in facts.items() if key != "size_bytes"}, one_line(error))
        return None
    return Subject(bundle, facts | zoo.facts(model, bundle) | {"runtime": runtime})


def score_export(zoo: Zoo, subject: Subject) -> None:
    """Score an export, where that is not done yet."""
    bundle, facts = subject.bundle, subject.facts
    if zoo.known(bundle_sha256=bundle.sha256, data=zoo.data, n=len(zoo.examples), runtime=facts["runtime"], status=OK):
        return
    try:
        columns, _ = measure_accuracy(load_runtime(bundle), bundle, zoo.examples, progress=sys.stderr.isatty())
        zoo.append(facts | columns)
        note(f"{bundle.path.name}: F1 {columns['f1']:.2f}")
    except Exception as error:  # runtimes raise their own types
        note(f"{bundle.path.name}: failed, {one_line(error)}")
        zoo.append(facts, one_line(error))


def export_and_measure(zoo: Zoo) -> None:
    """Export the first seed's models, score those in int8, and time the same export of all models in turns, at one thread.

    Exports in fp32 are not scored: each was compared with PyTorch when it was made.
    """
    models = [model for model in zoo.models if model.seed == zoo.config.seeds[0]]
    trained = [(model, bundle) for model in models if (bundle := model.take(zoo.config.out))]
    for kind, flag in EXPORTS:
        made = (export_model(zoo, model, bundle, kind, flag) for model, bundle in trained)
        subjects = [subject for subject in made if subject is not None]
        for subject in subjects if flag == "int8" else ():
            score_export(zoo, subject)
        if all(zoo.known(bundle_sha256=s.bundle.sha256, lengths="real", machine=machine(), status=OK) for s in subjects):
            continue
        examples = zoo.examples
        run = Comparison(zoo.rows_path, examples, zoo.data["sha256"], subjects, None, [])
        measure_latency(Timing(run, (Setting(REAL), Setting(PADDED)), QUICK, (1,), this_host()))
        zoo.new_rows += run.new_rows


def main(config: ZooConfig) -> list[Row]:
    """Train, score, export, time; write zoo.md and zoo.svg and print the tables. Returns the rows of this run."""
    zoo = plan(config)
    for model in zoo.models:
        train_and_score(zoo, model)
    if not config.skip_exports:
        export_and_measure(zoo)
    scores = {model.name: load_scores(scores_path(config.out, model)) for model in zoo.models}
    results = Results(config.heads, config.seeds, zoo.rows, {n: s for n, s in scores.items() if s}, zoo.data, zoo.examples)
    print(write_results(results, zoo.training, config.out, config.write), end="")
    print(f"rows: {zoo.rows_path}\ntables: {config.out / 'zoo.md'}\nplot: {config.out / 'zoo.svg'}")
    return zoo.new_rows


def command(config: ZooConfig) -> None:
    """`main` for the command line: exit code 1 when something failed."""
    if any(row["status"] != OK and not row["status"].startswith(UNSUPPORTED) for row in main(config)):
        sys.exit(EXIT_SOME_FAILED)


if __name__ == "__main__":
    run_command(ZooConfig, command)
