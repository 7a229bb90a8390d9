"""What experiments that train many models share: plans, bundles taken again, scores of every question, results appended.

An experiment goes on after a stop: what is finished is kept, and the model under way continues from its checkpoint.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy import evaluate
from benchmarks.command_line import flag_name, note
from benchmarks.latency.conditions import machine
from benchmarks.models import now
from benchmarks.results import CPU, Accuracy, Data, Failure, ResultFile, Runtime
from benchmarks.tables import Table, as_markdown, as_text, write_marked
from distill.objectives import supervised
from distill.stage import DataSplits, save_model
from distill.training import Trainer, TrainingOptions
from qa import sampling
from qa.bundle import Bundle, open_bundle
from qa.cli import one_line
from qa.errors import BundleError, OptionError, UnsupportedExport
from qa.features import Window
from qa.files import write_whole
from qa.metrics import question_scores
from qa.models.model import QAModel
from qa.runtimes import load_runtime
from qa.settings import QASettings
from qa.squad import Example, file_sha256

FLAGS = {"windows": "--train-windows", "encoder_sha256": "the weights of --encoder", "squad_sha256": "--squad of SHA-256"}


def evenly(examples: Sequence[Example], n: int | None) -> list[Example]:
    """`n` of the examples, evenly chosen; all when there are no more, or n is None."""
    return [examples[i] for i in sampling.evenly(len(examples), len(examples) if n is None else n, ends=True)]


def data_of(path: Path) -> Data:
    """A data file as results name it."""
    return Data(path.name, file_sha256(path))


def check_plan(path: Path, training: Any) -> None:
    """Keep beside the models how they are trained (a dataclass); OptionError when those there were to be trained otherwise."""
    now = asdict(training)
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(now, indent=1) + "\n")
        return
    try:
        then = dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError):
        raise OptionError(f"{path}: not a plan of training; choose another --out") from None
    changed = [name for name in now if now[name] != then.get(name)]
    if changed:
        flag = FLAGS.get(changed[0], flag_name(changed[0]))
        raise OptionError(f"{path}: made with {flag} {then.get(changed[0])}, not {now[changed[0]]}; choose another --out")


def take_bundle(path: Path, config: Any) -> Bundle | None:
    """The PyTorch bundle at `path`, or None; BundleError when its config is not this dataclass."""
    if not path.exists():
        return None
    bundle = open_bundle(path, kind="pytorch")
    if bundle.manifest.get("config") != asdict(config):
        raise BundleError(f"{path}: not the model that these options make; choose another --out, or remove it")
    return bundle


def train(
    fresh: QAModel, out: Path, config: Any, windows: Sequence[Window], options: TrainingOptions, splits: DataSplits,
    tokenizer: Path, settings: QASettings, parent: Bundle | None = None, **facts: Any,
) -> Bundle:  # fmt: skip
    """Fine-tune a model on windows and save it, unscored, as a bundle with its threshold; goes on from its checkpoint.

    `config` is the dataclass that says which model of the experiment it is.
    """
    trainer = Trainer(fresh, windows, supervised, options, out.parent / "training" / out.name, out.name, asdict(config))
    trainer.train(resume=True)
    unscored = replace(splits, eval=[], eval_file=None)
    bundle = save_model(
        fresh, out, unscored, stage="finetune", config=config, tokenizer=tokenizer, parent=parent, settings=settings, **facts
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

    def hold_for(self, bundle: Bundle, data: Data, examples: Sequence[Example]) -> bool:
        """Whether these are a bundle's scores on just these questions."""
        same = (self.bundle_sha256, self.data_sha256) == (bundle.sha256, data.sha256)
        return same and self.f1.keys() == {e.id for e in examples}

    def array(self, examples: Sequence[Example]) -> np.ndarray:
        """F1 (Q,) in percent, in the order of the examples."""
        return 100 * np.array([self.f1[e.id] for e in examples])

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
    """One run: questions to score on, where models, scores and results go, and the command that repeats it."""

    out: Path
    file: ResultFile
    examples: list[Example]
    data: Data
    command: str
    date: str = field(default_factory=now)

    def common(self) -> dict[str, Any]:
        """The fields that all results of the run have."""
        return {"data": self.data, "target": CPU, "machine": machine(), "command": self.command, "date": self.date}

    def fail(self, facts: Mapping[str, Any], error: Exception) -> None:
        """Append a failure; the other models go on."""
        note(f"{facts['model']}: {'' if isinstance(error, UnsupportedExport) else 'failed, '}{one_line(error)}")
        unsupported = isinstance(error, UnsupportedExport)
        self.file.append(Failure(**{**self.common(), **facts}, error=one_line(error), unsupported=unsupported))

    def scores_path(self, name: str) -> Path:
        """Where a model's scores of every question are kept."""
        return self.out / "scores" / f"{name}.json"

    def scored(self, sha256: str, runtime: Runtime | None = None) -> Accuracy | None:
        """The newest accuracy of a bundle on just these questions."""
        for one in reversed(self.file.all):
            if type(one) is not Accuracy or runtime not in (None, one.runtime):
                continue
            if (one.bundle_sha256, one.data, one.n) == (sha256, self.data, len(self.examples)):
                return one
        return None

    def scores_of(self, name: str, bundle: Bundle) -> QuestionScores | None:
        """A model's scores on just these questions, when an earlier run has both kept them and appended their result."""
        scores = load_scores(self.scores_path(name))
        known = scores is not None and scores.hold_for(bundle, self.data, self.examples) and self.scored(bundle.sha256)
        return scores if known else None

    def score(self, facts: Mapping[str, Any], bundle: Bundle) -> tuple[Accuracy, QuestionScores]:
        """Score a bundle on this machine: its accuracy, still to be appended, and the scores of every question."""
        runtime = load_runtime(bundle)
        fields, answers = evaluate(runtime, bundle, self.examples)
        pairs = {e.id: question_scores(e, answers[e.id]) for e in self.examples}
        exact, f1 = ({qid: pair[which] for qid, pair in pairs.items()} for which in (0, 1))
        scores = QuestionScores(bundle.sha256, self.data.sha256, exact, f1)
        used = Runtime(runtime.package, runtime.version)
        return Accuracy(**{**self.common(), **facts, "runtime": used}, **fields), scores


def show_tables(tables: Sequence[Table], out: Path, readme: Path | None, name: str) -> None:
    """Print tables, write them into <out>/<name>.md and, where given, between a Markdown file's markers of that name."""
    markdown = "\n".join(map(as_markdown, tables))
    write_whole(out / f"{name}.md", markdown)
    if readme is not None:
        write_marked(readme, name, markdown)
    print("\n".join(map(as_text, tables)), file=sys.stdout)
