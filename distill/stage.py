"""Steps of every stage that trains: reading the questions, distilling, saving the model as a bundle."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from torch import nn

from distill.student import check_same_width, same_tokens
from distill.training.alignment import Alignment
from distill.training.checkpoint import CHECKPOINT
from distill.training.objectives import Distillation
from distill.training.options import DistillationWeights, TrainingOptions
from distill.training.precision import resolve_precision
from distill.training.teacher_logits import Teacher, TeacherLogits, cache_key
from distill.training.trainer import AfterStep, Trainer, make_accelerator
from qa.base.errors import BundleError, OptionError
from qa.base.files import file_sha256
from qa.bundles.bundle import MANIFEST, SETTINGS, Bundle, new_bundle, open_bundle
from qa.data.datasets import EMBEDDED, SQUAD_FILES, data_reference, resolve
from qa.data.squad import Example, read_squad
from qa.evaluation.scores import EvalData, load_eval, scores_of
from qa.evaluation.threshold import hold_out, save_held_out, tune_for_bundle
from qa.models.model import QAModel
from qa.models.pretrained import copy_tokenizer, load_encoder
from qa.runtime.runtimes import load_runtime
from qa.text.features import Window
from qa.text.settings import QASettings
from qa.text.tokenization import load_tokenizer


@dataclass(frozen=True)
class DataSplits:
    """Questions to train on, questions held out of them for the threshold, and questions to score on."""

    train: list[Example]
    held_out: list[Example]
    eval: EvalData | None
    train_file: Path


def load_splits(data: str, eval_data: str | None, *, unlabelled: bool = False) -> DataSplits:
    """Read and check all data before anything is trained.

    A named data set is scored on its own dev part by default. `unlabelled` allows questions without a label.
    """
    if eval_data is None and data in (EMBEDDED, *SQUAD_FILES):
        eval_data = data
    train_file = resolve(data, "train")
    train, held_out = hold_out(read_squad(train_file, unlabelled=unlabelled))
    return DataSplits(train, held_out, load_eval(eval_data), train_file)


def fresh_model(encoder: str, folder: Path, head: str, activation: str = "gelu", seed: int = 0) -> QAModel:
    """Load a pre-trained encoder and put a fresh head on it, ready to be fine-tuned."""
    model = QAModel(load_encoder(encoder, folder), head, activation, seed)
    disable_attention_dropout(model)
    return model


def disable_attention_dropout(model: QAModel) -> None:
    """Set it to 0 in place: it needs (B, heads, T, T) arrays, which halve the speed, and no gain in F1 was
    measured."""
    for parts in model.encoder.layer_parts():
        parts.attention_dropout.p = 0.0


def disable_dropout(model: QAModel) -> None:
    """Set all of it to 0 in place."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0


def distil(
    student: QAModel,
    teacher: Bundle,
    windows: Sequence[Window],
    data: Path,
    *,
    options: TrainingOptions,
    weights: DistillationWeights,
    aligned: Sequence[Example] = (),
    cache: Path,
    work: Path,
    name: str,
    depends_on: dict[str, Any] | None = None,
    after_step: AfterStep | None = None,
) -> Trainer:
    """A trainer that distils `teacher` into `student` on `windows`.

    They were cut from the file `data`; `aligned` are their examples where the teacher has another tokenizer.

    A checkpoint goes on only with the same teacher, data, loss and `depends_on`. The student learns without
    dropout: it is to match given logits and states, which noise in its own would bias. Attention then needs
    no (B, heads, T, T) array either, which halves the memory of a step.
    """
    disable_dropout(student)
    if weights.hidden_weight > 0:
        check_hidden_states(teacher, student, weights.hidden_weight, other_tokens=bool(aligned))
    depends_on = {
        "teacher": teacher.sha256,
        "data": file_sha256(data),
        "loss": asdict(weights),
        **(depends_on or {}),
    }
    accelerator = make_accelerator(options.precision)
    # Hidden states are not kept, so with them the teacher runs each time, and needs no room for its logits.
    folder = (
        None
        if weights.hidden_weight > 0
        else cache / cache_key(teacher, windows, resolve_precision(options.precision), aligned)
    )
    logits = TeacherLogits(lambda: load_teacher(teacher, windows, aligned), windows, folder, accelerator)
    loss = Distillation(logits, weights)
    return Trainer(
        student,
        windows,
        loss,
        options,
        work,
        name,
        depends_on,
        accelerator=accelerator,
        after_step=after_step,
    )


def check_hidden_states(teacher: Bundle, student: QAModel, weight: float, *, other_tokens: bool) -> None:
    """Raise OptionError unless the hidden states of both can be compared token by token."""
    if other_tokens:
        raise OptionError(
            f"--hidden-weight {weight}: the teacher {teacher.path} has another tokenizer than the student; "
            "give --hidden-weight 0"
        )
    check_same_width(QAModel.from_pretrained(teacher.path), student, weight)


def to_align(teacher: Bundle, tokenizer: Tokenizer, examples: list[Example]) -> list[Example]:
    """Return `examples` where the teacher has another tokenizer than the student's, else none."""
    return [] if same_tokens(teacher.tokenizer, tokenizer) else examples


def load_teacher(teacher: Bundle, windows: Sequence[Window], aligned: Sequence[Example]) -> Teacher:
    """Load a teacher's model; `aligned` are the windows' examples where its tokenizer is another."""
    model = QAModel.from_pretrained(teacher.path)
    if not aligned:
        return Teacher(model)
    longest_question = teacher.settings.max_question_length
    return Teacher(
        model, Alignment(aligned, windows, teacher.tokenizer, model.encoder.max_length, longest_question)
    )


def save_model(
    model: QAModel,
    out: Path,
    splits: DataSplits,
    *,
    stage: str,
    config: Any,
    tokenizer: Path,
    parent: Bundle | None,
    settings: QASettings,
    **facts: Any,
) -> Bundle:
    """Write a trained model as a bundle, with its threshold when the data has unanswerable questions, and its
    scores.

    `config` is the stage's dataclass, `tokenizer` the folder to copy the tokenizer from, `facts` more for the
    manifest. `settings` are those of the windows it was trained on; their threshold stays where there is
    nothing to tune one on.
    """
    facts = {
        "kind": "pytorch",
        "precision": "fp32",
        "stage": stage,
        "config": asdict(config),
        "training_data": data_reference(splits.train_file),
        "parent": parent.reference() if parent else None,
        "ancestors": parent.lineage() if parent else [],
        "parameters": asdict(model.count_parameters()),
        **facts,
    }
    with new_bundle(out, facts) as draft:
        model.save_pretrained(draft.path)
        copy_tokenizer(tokenizer, draft.path, settings.max_length, model.encoder.architecture.inputs)
        save_held_out(splits.held_out, draft.path)
        runtime = load_runtime(draft.model(settings))
        settings = tune_for_bundle(runtime, load_tokenizer(draft.path), settings, draft.path)
        settings.save(draft.path / SETTINGS)
        if splits.eval is not None:
            draft.record(scores=scores_of(runtime, draft.model(settings), splits.eval))
    return draft.bundle


def without_autocast(model: QAModel) -> QAModel:
    """The same model as it computes anywhere: training leaves bf16 autocast on it."""
    found = QAModel.from_config(model.config())
    found.load_state_dict(model.state_dict())
    return found.eval()


def is_first_process() -> bool:
    """Whether this is torchrun's first process, or the only one; known before anything is set up."""
    return os.environ.get("RANK", "0") == "0"


def refuse_unless_resumed(out: Path, resume: bool) -> None:
    """BundleError when `out`, or what a stopped run had learnt of it, exists and the run is not to be gone on
    with."""
    # Only the first process looks: by the time the others do, it may have made the folder itself.
    if resume or not is_first_process():
        return
    if out.exists():
        raise BundleError(
            f"{out}: exists already; choose another --out, remove it, or go on with it by --resume"
        )
    checkpoint = work_folder(out) / CHECKPOINT
    if checkpoint.is_file():
        raise BundleError(
            f"{checkpoint}: a stopped run left it; go on with that run by --resume, or remove it to begin "
            "again"
        )


def work_folder(out: Path) -> Path:
    """Where the checkpoint and the curves of what becomes the bundle `out` lie."""
    return out.parent / "training" / out.name


ANY_VALUE = ("resume", "cache", "out", "eval_data")  # options that a finished model does not depend on


def finished(config: Any, out: Path, teacher: Path | None = None) -> Bundle:
    """The bundle that an interrupted run of this stage has finished. BundleError when its options were not
    those of `config`.

    `teacher` is what the stage takes where `config` names none.
    """
    bundle = open_bundle(out, kind="pytorch")
    now, then = (
        json.loads(json.dumps(of, default=str)) for of in (asdict(config), bundle.manifest.config or {})
    )
    then = {
        name: getattr(type(config), name, None) for name in now
    } | then  # an older bundle has the default of a new option
    changed = [
        name for name in now if name not in ANY_VALUE and last_part(now[name]) != last_part(then.get(name))
    ]
    if changed:
        flag = "--" + changed[0].replace("_", "-")
        raise BundleError(
            f"{out}: made with {flag} {then.get(changed[0])}, not {now[changed[0]]}; choose another --out"
        )
    trained_on = bundle.manifest.training_data
    if trained_on is None or trained_on.sha256 != file_sha256(resolve(config.data, "train")):
        raise BundleError(f"{out}: made of another --data than {config.data} is now; choose another --out")
    made_of = {ancestor.sha256 for ancestor in bundle.manifest.ancestors}
    if bundle.manifest.teacher is not None:
        made_of.add(bundle.manifest.teacher.sha256)
    for name, default in (("model", None), ("teacher", teacher)):  # by content: a folder's name says little
        given = getattr(config, name, None) or default
        manifest = Path(given or "") / MANIFEST
        if given and manifest.is_file() and file_sha256(manifest) not in made_of:
            raise BundleError(
                f"{out}: made of another --{name} than {manifest.parent} is now; choose another --out"
            )
    (work_folder(out) / CHECKPOINT).unlink(
        missing_ok=True
    )  # of a run that was killed once the bundle was there
    return bundle


def last_part(value: Any) -> Any:
    """Of a path its last part, in an option's value; what is there is compared by content."""
    return Path(value).name if isinstance(value, str) and "/" in value else value


def summary(bundle: Bundle) -> str:
    """One line about a finished bundle: parameters, and scores where it has some."""
    parameters = bundle.manifest.parameters
    scores = bundle.manifest.scores
    line = (
        f"{bundle.path}: {parameters.total:,} parameters ({parameters.without_embeddings:,} without "
        "embeddings)"
    )
    if scores:
        line += (
            f", EM {scores.exact:.2f}, F1 {scores.f1:.2f} on {scores.total} questions of {scores.data.name}"
        )
    return line
