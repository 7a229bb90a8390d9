"""What experiments that train many models share: options, bundles taken again, scores of every question,
results appended.

An experiment goes on after a stop: what is finished is kept, and the model under way continues from its
checkpoint.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.measure.accuracy import evaluate
from benchmarks.measure.command_line import flag_name, note
from benchmarks.measure.conditions import machine
from benchmarks.measure.models import bundle_metadata, now
from benchmarks.results.rows import CPU, Accuracy, Data, Failure, ResultFile, Runtime, newest
from benchmarks.show.tables import Table, as_markdown, as_text, check_markers, write_marked
from distill.stage import DataSplits, save_model
from distill.training.objectives import supervised
from distill.training.options import TrainingOptions
from distill.training.trainer import Trainer
from qa.base import sampling
from qa.base.cli import check_option, one_line
from qa.base.errors import BundleError, UnsupportedExport
from qa.base.files import file_sha256, write_whole
from qa.bundles.bundle import Bundle, open_bundle
from qa.data.metrics import question_scores
from qa.data.origins import MINILM
from qa.data.squad import Example
from qa.models.model import QAModel
from qa.runtime.runtimes import load_runtime
from qa.text.features import Window
from qa.text.settings import QASettings


@dataclass(frozen=True, kw_only=True)
class ExperimentConfig:
    """Options of every experiment that trains models."""

    encoder: str = MINILM
    """Pre-trained encoder: minilm-l6 (from an installed wheel), a hub name, or a folder."""
    layers: int | None = None
    """Keep this many of its layers, evenly chosen; all when not given."""
    dev_questions: int | None = None
    """Score on this many questions, evenly chosen; all when not given."""
    learning_rate: float = 1.2e-4
    """Peak learning rate."""
    batch_size: int = 16
    """Windows in a step."""
    out: Path
    """Folder of all models, their scores and tables."""
    rows: Path | None = None
    """File the results are appended to; by default rows.jsonl in --out."""
    write: Path | None = None
    """Markdown file whose marked part is replaced by the tables."""

    def check(self, markers: str, *counts: str) -> None:
        """OptionError when --write has no such markers, or one of these options is below 1."""
        for name in ("layers", "dev_questions", *counts):
            value = getattr(self, name)
            check_option(value is None or value >= 1, flag_name(name), value, "at least 1")
        if self.write is not None:
            check_markers(self.write, markers)


class Planned(Protocol):
    """A model of an experiment, before it is trained: a dataclass that says all that it depends on."""

    @property
    def name(self) -> str:
        """Of its bundle, and in results."""
        ...

    @property
    def made_from(self) -> str:
        """Hash of the weights that it starts from."""
        ...

    @property
    def own(self) -> dict[str, Any]:
        """The fields of its results that are its own."""
        ...


def evenly(examples: Sequence[Example], n: int | None) -> list[Example]:
    """`n` of the examples, evenly chosen; all when there are no more, or n is None."""
    return [examples[i] for i in sampling.evenly(len(examples), len(examples) if n is None else n, ends=True)]


def data_of(path: Path) -> Data:
    """A data file as results name it."""
    return Data(path.name, file_sha256(path))


def take_bundle(path: Path, config: Any) -> Bundle | None:
    """The PyTorch bundle at `path`, or None; BundleError when another `config` made it, a dataclass with
    `training` in it."""
    if not path.exists():
        return None
    bundle = open_bundle(path, kind="pytorch")
    then, now = (
        {**one, **one.get("training", {})} for one in (bundle.manifest.get("config") or {}, asdict(config))
    )
    changed = [name for name in now if name != "training" and now[name] != then.get(name)]
    if changed:
        name = changed[0]
        raise BundleError(
            f"{path}: made with {name} {then.get(name)}, not {now[name]}; choose another --out, or remove it"
        )
    return bundle


def train(
    fresh: QAModel,
    out: Path,
    config: Any,
    windows: Sequence[Window],
    options: TrainingOptions,
    splits: DataSplits,
    tokenizer: Path,
    settings: QASettings,
    parent: Bundle | None = None,
    **metadata: Any,
) -> Bundle:
    """Fine-tune a model on windows and save it, unscored, as a bundle with its threshold; goes on from its
    checkpoint.

    `config` is the dataclass that says which model of the experiment it is.
    """
    trainer = Trainer(
        fresh, windows, supervised, options, out.parent / "training" / out.name, out.name, asdict(config)
    )
    trainer.train(resume=True)
    unscored = replace(splits, eval=None)
    bundle = save_model(
        fresh,
        out,
        unscored,
        stage="finetune",
        config=config,
        tokenizer=tokenizer,
        parent=parent,
        settings=settings,
        **metadata,
    )
    trainer.finish()
    return bundle


@dataclass(frozen=True)
class QuestionScores:
    """EM and F1 (0 to 1) of every question by its id, and of what on what."""

    bundle_sha256: str
    data_sha256: str
    exact: Mapping[str, float]
    f1: Mapping[str, float]

    def array(self, examples: Sequence[Example]) -> np.ndarray:
        """F1 (Q,) in percent, in the order of the examples."""
        return 100 * np.array([self.f1[e.id] for e in examples])

    def mean(self, examples: Sequence[Example]) -> dict[str, float]:
        """EM and F1 in percent over these of the questions, and how many they are; empty when there are
        none.
        """
        ids = [e.id for e in examples]
        if not ids:
            return {}
        exact, f1 = (100 * float(np.mean([values[qid] for qid in ids])) for values in (self.exact, self.f1))
        return {"exact": exact, "f1": f1, "total": len(ids)}

    def by_category(self, examples: Sequence[Example]) -> dict[str, dict[str, float]]:
        """`mean` of each of the questions' categories."""
        names = sorted({e.category for e in examples if e.category is not None})
        return {name: self.mean([e for e in examples if e.category == name]) for name in names}

    def save(self, path: Path) -> None:
        """Write as JSON, by rename."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(asdict(self), ensure_ascii=False) + "\n")


def load_scores(path: Path) -> QuestionScores | None:
    """Scores kept earlier; None where there are none, or what is there is no such file."""
    try:
        return QuestionScores(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


@dataclass
class Experiment:
    """One run: questions to train and score on, where models, scores and results go, and the command that
    repeats it."""

    out: Path
    file: ResultFile
    examples: list[Example]
    data: Data
    command: str
    splits: DataSplits
    date: str = field(default_factory=now, kw_only=True)

    def take(self, model: Any) -> Bundle | None:
        """The model's bundle, if it is there. BundleError when it is another's."""
        return take_bundle(self.out / model.name, model)

    def make(self, model: Any) -> Bundle:
        """Train a model that is not there yet."""
        raise NotImplementedError

    def common(self) -> dict[str, Any]:
        """The fields that all results of the run have."""
        return {
            "data": self.data,
            "target": CPU,
            "machine": machine(),
            "command": self.command,
            "date": self.date,
        }

    def fail(self, metadata: Mapping[str, Any], error: Exception) -> None:
        """Append a failure; the other models go on."""
        unsupported = isinstance(error, UnsupportedExport)
        note(f"{metadata['model']}: {'' if unsupported else 'failed, '}{one_line(error)}")
        self.file.append(
            Failure(**{**self.common(), **metadata}, error=one_line(error), unsupported=unsupported)
        )

    def train_and_score(self, model: Planned) -> None:
        """Train one model and score it, where that is not done yet. A failure becomes a result; the others go
        on."""
        metadata = {
            "model": model.name,
            "bundle_sha256": model.made_from,
            "stage": "finetune",
            "precision": "fp32",
            **model.own,
        }
        try:
            bundle = self.take(model) or self.make(model)
            metadata = (
                bundle_metadata(bundle, model.name)
                | model.own
                | {"head_params": bundle.manifest.get("head_parameters")}
            )
            if self.scores_of(model.name, bundle) is None:
                accuracy, scores = self.score(metadata, bundle)
                accuracy.by_category = scores.by_category(self.examples)
                scores.save(self.scores_path(model.name))
                self.append(accuracy)
        except Exception as error:  # of whatever type: one model must not cost the others
            self.fail(metadata, error)

    def append(self, accuracy: Accuracy) -> None:
        """Append scores, and say them."""
        self.file.append(accuracy)
        note(f"{accuracy.model}: F1 {accuracy.f1:.2f}, EM {accuracy.exact:.2f} on {accuracy.n} questions")

    def scores_path(self, name: str) -> Path:
        """Where a model's scores of every question are kept."""
        return self.out / "scores" / f"{name}.json"

    def scored(self, sha256: str, runtime: Runtime | None = None) -> Accuracy | None:
        """The newest accuracy of a bundle on just these questions."""
        wanted = {"bundle_sha256": sha256, "data": self.data, "n": len(self.examples), "runtime": runtime}
        return newest(self.file.all, Accuracy, **wanted)

    def scores_of(self, name: str, bundle: Bundle) -> QuestionScores | None:
        """A model's scores on just these questions, when an earlier run has both kept them and appended their
        result."""
        scores = load_scores(self.scores_path(name))
        if scores is None or (scores.bundle_sha256, scores.data_sha256) != (bundle.sha256, self.data.sha256):
            return None
        return (
            scores
            if scores.f1.keys() == {e.id for e in self.examples} and self.scored(bundle.sha256)
            else None
        )

    def score(self, metadata: Mapping[str, Any], bundle: Bundle) -> tuple[Accuracy, QuestionScores]:
        """Score a bundle on this machine: its accuracy, still to be appended, and the scores of every
        question."""
        runtime = load_runtime(bundle)
        fields, answers = evaluate(runtime, bundle, self.examples)
        pairs = {e.id: question_scores(e, answers[e.id]) for e in self.examples}
        exact, f1 = ({qid: pair[which] for qid, pair in pairs.items()} for which in (0, 1))
        scores = QuestionScores(bundle.sha256, self.data.sha256, exact, f1)
        used = Runtime(runtime.package, runtime.version)
        return Accuracy(**{**self.common(), **metadata, "runtime": used}, **fields), scores


def show_tables(tables: Sequence[Table | None], config: ExperimentConfig, name: str) -> None:
    """Print tables, write them into <out>/<name>.md and, where given, between a Markdown file's markers of
    that name."""
    shown = [table for table in tables if table is not None]
    markdown = "\n".join(map(as_markdown, shown))
    write_whole(config.out / f"{name}.md", markdown)
    if config.write is not None:
        write_marked(config.write, name, markdown)
    print("\n".join(map(as_text, shown)))
