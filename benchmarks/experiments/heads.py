"""Compare all heads on one encoder, and the whole models: train each alike, evaluate, export, and time the
exports.

The tables say which differences exceed noise.

    python -m benchmarks.experiments.heads --data squad --train-windows 20000 --dev-questions 2000 --seeds 0 1
    python -m benchmarks.experiments.heads --layers 3 --heads linear pointer --out runs/heads-small

Every model sees the same number of windows, in the same order for the same seed. The same command goes on
after a stop.
"""

from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import export.onnx.stage
import export.tflite.stage
from benchmarks.experiments.base import (
    Experiment,
    ExperimentConfig,
    data_of,
    evenly,
    load_scores,
    show_tables,
    train,
)
from benchmarks.experiments.heads_views import (
    MARKERS_NAME,
    WHOLE_MODEL_RATE,
    HeadsResults,
    comparison_table,
    draw,
    main_table,
)
from benchmarks.measure.command_line import command_line_of
from benchmarks.measure.conditions import machine, this_host
from benchmarks.measure.latency import Timing, measure_latency
from benchmarks.measure.models import ModelUnderTest, Run, bundle_metadata, model_of
from benchmarks.measure.plan import QUICK, Setting
from benchmarks.results.rows import (
    CPU,
    PADDED,
    UNPADDED,
    AnyResult,
    Failure,
    Latency,
    ResultFile,
    Runtime,
    exit_if_failed,
)
from distill.stage import fresh_model, load_splits
from distill.student import standalone_student
from distill.training.options import TrainingOptions
from distill.training.precision import resolve_precision
from qa.base.cli import check_option, run_command
from qa.base.files import file_sha256
from qa.bundles.bundle import Bundle, open_bundle
from qa.data.datasets import EMBEDDED, SQUAD_FILES
from qa.formats.precision import OF_FLAG
from qa.models.heads import HEADS
from qa.models.model import QAModel
from qa.models.pretrained import find_encoder, load_encoder
from qa.models.standalone import STANDALONE_MODELS
from qa.runtime.runtimes import load_runtime
from qa.text.features import Window, make_windows
from qa.text.settings import QASettings
from qa.text.tokenization import load_tokenizer

EXPORTS = (("onnx", "none"), ("onnx", "int8"), ("tflite", "none"), ("tflite", "int8"))


@dataclass(frozen=True, kw_only=True)
class HeadsConfig(ExperimentConfig):
    """Which heads, on which encoder, trained how long on what."""

    heads: tuple[str, ...] = (*HEADS, *STANDALONE_MODELS)
    """Heads to train, and whole models; all are compared with linear, so it should be among them."""
    seeds: tuple[int, ...] = (0,)
    """Seeds of fresh weights, order and dropout: each makes a model of every head. Exports are those of the
    first."""
    repeat: tuple[str, ...] | None = None
    """Heads to train with the seeds after the first; all when not given."""
    data: str = EMBEDDED
    """Training questions: embedded, squad, squad_v2, or a SQuAD JSON file."""
    eval_data: str | None = None
    """Questions to score on; by default the dev part of a named --data."""
    train_windows: int = 20_000
    """Windows each model sees in training, repetitions counted."""
    optimizer: str = "adamw"
    """adamw or adafactor."""
    freeze_encoder: bool = False
    """Train the heads alone."""
    precision: str = "auto"
    """Of training: bf16 (autocast), fp32, or auto: bf16 where the GPU, or without one the CPU, computes in
    it, else fp32."""
    skip_exports: bool = False
    """Train and score PyTorch only; the same command without this exports what was trained."""
    out: Path = Path("runs/zoo")
    """Folder of all models, their exports and scores, zoo.md and zoo.svg."""

    def __post_init__(self) -> None:
        check_option(
            bool(self.heads) and len(set(self.heads)) == len(self.heads),
            "--heads",
            self.heads,
            "names, each once",
        )
        for head in self.heads:
            check_option(
                head in (*HEADS, *STANDALONE_MODELS),
                "--heads",
                head,
                f"one of {', '.join((*HEADS, *STANDALONE_MODELS))}",
            )
        for head in self.repeat or ():
            check_option(head in self.heads, "--repeat", head, "one of --heads")
        good = bool(self.seeds) and len(set(self.seeds)) == len(self.seeds) and min(self.seeds) >= 0
        check_option(good, "--seeds", self.seeds, "numbers of at least 0, each once")
        known = self.eval_data is not None or self.data in (EMBEDDED, *SQUAD_FILES)
        check_option(known, "--eval-data", self.eval_data, "given when --data is a file")
        self.check(MARKERS_NAME, "train_windows")
        TrainingOptions(
            self.learning_rate, self.batch_size, 1, precision=self.precision, optimizer=self.optimizer
        )


@dataclass(frozen=True)
class HeadModel:
    """One model, before it is trained: a head on the encoder, or a whole model. `training` is the same for
    all compared."""

    head: str
    seed: int
    training: dict[str, Any]

    @property
    def name(self) -> str:
        """Name of its bundle and in results."""
        return f"{self.head}-seed{self.seed}"

    @property
    def made_from(self) -> str:
        """Hash of the encoder."""
        return str(self.training["encoder_sha256"])

    @property
    def own(self) -> dict[str, Any]:
        """The fields of its results that are its own."""
        return asdict(self)

    def options(self, n_windows: int) -> TrainingOptions:
        """For a training set of `n_windows`: as many epochs as give the windows to see."""
        shared = self.training
        whole = self.head in STANDALONE_MODELS
        n_steps, n_batches = (-(-n // shared["batch_size"]) for n in (shared["windows"], n_windows))
        return TrainingOptions(
            WHOLE_MODEL_RATE if whole else shared["learning_rate"],
            shared["batch_size"],
            n_steps / n_batches,
            precision=shared["precision"],
            seed=self.seed,
            optimizer=shared["optimizer"],
            freeze_encoder=shared["freeze_encoder"] and not whole,
        )

    def fresh(self, encoder_folder: Path) -> QAModel:
        """The untrained model; a whole one starts from the encoder's word vectors."""
        encoder = self.training["encoder"]
        if self.head not in STANDALONE_MODELS:
            return fresh_model(
                encoder, encoder_folder, self.head, seed=self.seed, n_layers=self.training["layers"]
            )
        words = QAModel(load_encoder(encoder, encoder_folder), "linear")
        return standalone_student(self.head, words, load_tokenizer(encoder_folder), self.seed)


@dataclass
class Heads(Experiment):
    """One run."""

    config: HeadsConfig
    training: dict[str, Any]
    encoder_folder: Path
    models: list[HeadModel] = field(init=False)
    """All of them, seed by seed."""

    def __post_init__(self) -> None:
        config = self.config
        more = config.heads if config.repeat is None else config.repeat
        chosen = [(head, config.seeds[0]) for head in config.heads] + [
            (head, seed) for seed in config.seeds[1:] for head in more
        ]
        self.models = [HeadModel(head, seed, self.training) for head, seed in chosen]

    @cached_property
    def windows(self) -> list[Window]:
        """The training windows, cut when the first model needs them."""
        return make_windows(
            self.splits.train, load_tokenizer(self.encoder_folder), QASettings(), progress=True
        )

    def make(self, model: HeadModel) -> Bundle:
        """Train a model."""
        fresh = model.fresh(self.encoder_folder)
        return train(
            fresh,
            self.out / model.name,
            model,
            self.windows,
            model.options(len(self.windows)),
            self.splits,
            self.encoder_folder,
            QASettings(),
            head_parameters=sum(p.numel() for p in fresh.head.parameters()),
        )


def plan(config: HeadsConfig) -> Heads:
    """Read and check all there is to read, so that a bad input is refused before anything is trained."""
    encoder_folder = find_encoder(config.encoder)
    load_tokenizer(encoder_folder)
    encoder = load_encoder(config.encoder, encoder_folder)
    encoder.check_length(QASettings().max_length)
    n_layers = len(encoder.layers)
    check_option(
        (config.layers or 1) <= n_layers, "--layers", config.layers, f"at most the encoder's {n_layers}"
    )
    splits = load_splits(config.data, config.eval_data)
    assert splits.eval is not None  # HeadsConfig has seen to it
    names = ("encoder", "layers", "learning_rate", "batch_size", "optimizer", "freeze_encoder")
    training = {name: getattr(config, name) for name in names}
    training |= {"windows": config.train_windows, "precision": resolve_precision(config.precision)}
    training["encoder_sha256"] = file_sha256(encoder_folder / "model.safetensors")
    training["data"] = {"name": splits.train_file.name, "sha256": file_sha256(splits.train_file)}
    heads = Heads(
        config.out,
        ResultFile(config.rows or config.out / "rows.jsonl"),
        evenly(splits.eval.examples, config.dev_questions),
        data_of(splits.eval.file),
        command_line_of("-m benchmarks.experiments.heads", config),
        splits,
        config,
        training,
        encoder_folder,
    )
    for model in heads.models:
        heads.take(model)
    return heads


def export_model(run: Heads, model: HeadModel, parent: Bundle, kind: str, flag: str) -> ModelUnderTest | None:
    """One export of a model, made or taken; None when it cannot be, and why is a result."""
    precision = OF_FLAG[flag].name
    path = parent.path.with_name(f"{parent.path.name}-{kind}-{precision}")
    own = model.own | {"head_params": parent.manifest["head_parameters"]}
    told = [r for r in run.file.all if (r.model, r.bundle_sha256) == (path.name, parent.sha256)]
    if told and isinstance(told[-1], Failure) and told[-1].unsupported and not path.exists():
        return None
    try:
        if not path.exists() and kind == "onnx":
            export.onnx.stage.main(export.onnx.stage.OnnxConfig(model=parent.path, quantize=flag))
        elif not path.exists():
            export.tflite.stage.main(export.tflite.stage.TFLiteConfig(model=parent.path, quantize=flag))
        made = model_of(open_bundle(path, kind=kind), path.name)
        runtime = load_runtime(made.bundle)
    except Exception as error:  # runtimes and converters raise their own types
        metadata = {
            **bundle_metadata(parent, path.name),
            "stage": "export",
            "precision": precision,
            "size_bytes": None,
            **own,
        }
        run.fail(metadata, error)
        return None
    made.metadata |= own
    made.runtime = Runtime(runtime.package, runtime.version)
    return made


def export_and_measure(run: Heads) -> None:
    """Export the first seed's models, score those in int8, and time the same export of all models in turns,
    at one thread.

    Exports in fp32 are not scored: each was compared with PyTorch when it was made.
    """
    models = [model for model in run.models if model.seed == run.config.seeds[0]]
    trained = [(model, bundle) for model in models if (bundle := run.take(model))]
    for kind, flag in EXPORTS:
        found = (export_model(run, model, bundle, kind, flag) for model, bundle in trained)
        exports = [made for made in found if made is not None]
        for made in exports if flag == "int8" else ():
            score_export(run, made)
        timed = {r.bundle_sha256 for r in run.file.all if isinstance(r, Latency) and r.machine == machine()}
        if any(made.sha256 not in timed for made in exports):
            shared = Run(
                run.file, run.examples, run.data, exports, CPU, machine(), run.command, date=run.date
            )
            measure_latency(Timing(shared, (Setting(UNPADDED), Setting(PADDED)), QUICK, (1,), this_host()))


def score_export(run: Heads, made: ModelUnderTest) -> None:
    """Score an export, where that is not done yet."""
    if run.scored(made.sha256, made.runtime) is None:
        try:
            accuracy, _ = run.score(made.metadata, made.bundle)
            run.append(accuracy)
        except Exception as error:  # runtimes raise their own types
            run.fail(made.metadata, error)


def main(config: HeadsConfig) -> list[AnyResult]:
    """Train, score, export, time; write zoo.md and zoo.svg and print the tables. Returns the results of this
    run."""
    run = plan(config)
    for model in run.models:
        run.train_and_score(model)
    if not config.skip_exports:
        export_and_measure(run)
    scores = {model.name: load_scores(run.scores_path(model.name)) for model in run.models}
    kept = {name: found for name, found in scores.items() if found}
    found = HeadsResults(config.heads, config.seeds, run.file.all, kept, run.data, run.examples, run.training)
    show_tables((main_table(found), comparison_table(found)), config, MARKERS_NAME)
    draw(found, config.out / "zoo.svg")
    print(f"rows: {run.file.path}\ntables: {config.out / 'zoo.md'}\nplot: {config.out / 'zoo.svg'}")
    return run.file.new


def command(config: HeadsConfig) -> None:
    """`main` for the command line: exit code 1 when something failed."""
    exit_if_failed(main(config))


if __name__ == "__main__":
    run_command(command)
