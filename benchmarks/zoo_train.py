"""One model of the zoo: an encoder with a head, or a whole model, trained on a fixed number of windows, or taken where it has
been trained before.

All models of a seed see the same windows in the same order; all heads have the same dropout in the encoder.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy import measure_accuracy
from benchmarks.command_line import flag_name
from distill.objectives import supervised
from distill.stage import Material, fresh_model, save_model
from distill.student import whole_student
from distill.training import Trainer, TrainingOptions
from qa.bundle import Bundle, open_bundle
from qa.errors import BundleError, OptionError
from qa.features import Window
from qa.files import write_whole
from qa.metrics import question_scores
from qa.models.architectures import WHOLE_MODELS
from qa.models.model import QAModel
from qa.models.pretrained import load_encoder
from qa.runtimes import load_runtime
from qa.settings import QASettings
from qa.squad import Example
from qa.tokenization import load_tokenizer

PLAN = "zoo.json"
# Whole models start from fresh weights, which the rate of a pre-trained encoder would hardly move (Yu et al. 2018 took 1e-3).
WHOLE_MODEL_RATE = 1e-3
FLAGS = {"windows": "--train-windows", "encoder_sha256": "the weights of --encoder", "squad_sha256": "--squad of SHA-256"}


@dataclass(frozen=True)
class Training:
    """What all models of a zoo share. Two models are compared only when all of this is equal."""

    encoder: str
    encoder_sha256: str
    layers: int | None
    data: dict[str, str]
    windows: int
    """Windows seen, rounded up to whole batches."""
    learning_rate: float
    batch_size: int
    optimizer: str
    freeze_encoder: bool
    precision: str

    def options(self, model: "Model", n_windows: int) -> TrainingOptions:
        """For a training set of `n_windows`: as many epochs as give the windows to see."""
        n_steps, n_batches = -(-self.windows // self.batch_size), -(-n_windows // self.batch_size)
        rate, frozen = (WHOLE_MODEL_RATE, False) if model.is_whole else (self.learning_rate, self.freeze_encoder)
        return TrainingOptions(
            rate, self.batch_size, n_steps / n_batches, precision=self.precision, seed=model.seed,
            optimizer=self.optimizer, freeze_encoder=frozen,
        )  # fmt: skip


def check_plan(folder: Path, training: Any, plan_name: str = PLAN) -> None:
    """Keep beside the models how they are trained (a dataclass); OptionError when those there were to be trained otherwise."""
    path, now = folder / plan_name, asdict(training)
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
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


@dataclass(frozen=True)
class Model:
    """One model of the zoo, before it is trained."""

    head: str
    """Name of its head, or of a whole model."""
    seed: int
    training: Training

    @property
    def name(self) -> str:
        """Name of its bundle and in rows."""
        return f"{self.head}-seed{self.seed}"

    @property
    def is_whole(self) -> bool:
        """Whether this has no head on the shared encoder, but is a model of its own."""
        return self.head in WHOLE_MODELS

    def fresh(self, encoder_folder: Path) -> QAModel:
        """The untrained model; a whole one starts from the encoder's word vectors."""
        encoder = self.training.encoder
        if not self.is_whole:
            return fresh_model(encoder, encoder_folder, self.head, seed=self.seed, n_layers=self.training.layers)
        words = QAModel(load_encoder(encoder, encoder_folder), "linear")
        return whole_student(self.head, words, load_tokenizer(encoder_folder), self.seed)

    def take(self, folder: Path) -> Bundle | None:
        """The bundle of an earlier run, or None. BundleError when it is another model's."""
        return take_bundle(folder / self.name, self)


def take_bundle(path: Path, config: Any) -> Bundle | None:
    """The PyTorch bundle at `path`, or None; BundleError when its config is not this dataclass."""
    if not path.exists():
        return None
    bundle = open_bundle(path, kind="pytorch")
    if bundle.manifest.get("config") != asdict(config):
        raise BundleError(f"{path}: not the model that these options make; choose another --out, or remove it")
    return bundle


def train(
    model: Model, folder: Path, encoder_folder: Path, material: Material, windows: Callable[[], Sequence[Window]]
) -> Bundle:
    """Train one model and save it as a bundle, going on from its checkpoint where a run was stopped."""
    training = model.training
    fresh = model.fresh(encoder_folder)
    cut, work = windows(), folder / "training" / model.name
    facts = {"zoo": asdict(training)}
    trainer = Trainer(fresh, cut, supervised, training.options(model, len(cut)), work, model.name, facts)
    trainer.train(resume=True)
    unscored = replace(material, eval=[], eval_file=None)
    n_head = sum(p.numel() for p in fresh.head.parameters())
    bundle = save_model(
        fresh, folder / model.name, unscored, stage="finetune", config=model, tokenizer=encoder_folder, parent=None,
        settings=QASettings(), head_parameters=n_head,
    )  # fmt: skip
    trainer.finish()
    return bundle


@dataclass(frozen=True)
class QuestionScores:
    """EM and F1 (0 to 1) of every question by its id, and of what on what."""

    bundle_sha256: str
    data_sha256: str
    exact: Mapping[str, float]
    f1: Mapping[str, float]

    def hold_for(self, bundle: Bundle, data_sha256: str, examples: Sequence[Example]) -> bool:
        """Whether these are a bundle's scores on just these questions."""
        same = (self.bundle_sha256, self.data_sha256) == (bundle.sha256, data_sha256)
        return same and self.f1.keys() == {e.id for e in examples}

    def array(self, examples: Sequence[Example]) -> np.ndarray:
        """F1 (Q,) in percent, in the order of the examples."""
        return 100 * np.array([self.f1[e.id] for e in examples])


def evaluate(
    bundle: Bundle, data_sha256: str, examples: Sequence[Example], progress: bool
) -> tuple[dict[str, Any], QuestionScores]:
    """Accuracy columns with the runtime's name, and every question's scores."""
    runtime = load_runtime(bundle)
    columns, answers = measure_accuracy(runtime, bundle, examples, progress=progress)
    pairs = {e.id: question_scores(e, answers[e.id]) for e in examples}
    exact, f1 = ({qid: pair[which] for qid, pair in pairs.items()} for which in (0, 1))
    return columns | {"runtime": runtime.name}, QuestionScores(bundle.sha256, data_sha256, exact, f1)


def scores_path(folder: Path, model: Model) -> Path:
    """Where a model's scores of every question are kept."""
    return folder / "scores" / f"{model.name}.json"


def save_scores(path: Path, scores: QuestionScores) -> None:
    """Write as JSON, by rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(asdict(scores), ensure_ascii=False) + "\n")


def load_scores(path: Path) -> QuestionScores | None:
    """Scores kept earlier; None where there are none, or what is there is no such file."""
    try:
        return QuestionScores(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
