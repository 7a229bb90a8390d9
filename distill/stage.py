"""What every stage that trains shares: reading the questions, distilling, saving the trained model as a bundle."""

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from torch import nn

from distill.objectives import Distillation, DistillationWeights, supervised
from distill.student import check_same_width, student_from_layers
from distill.teacher_logits import TeacherLogits, cache_key
from distill.training import Trainer, TrainingOptions
from qa.bundle import SETTINGS, Bundle, new_bundle, open_bundle
from qa.datasets import EMBEDDED, SQUAD_FILES, resolve
from qa.evaluate import evaluate_runtime
from qa.features import Window
from qa.models.model import QAModel
from qa.models.pretrained import copy_tokenizer, load_encoder
from qa.runtimes import load_runtime
from qa.settings import QASettings
from qa.squad import Example, file_sha256, read_squad
from qa.threshold import hold_out, save_held_out, tune_for_bundle
from qa.tokenization import load_tokenizer


@dataclass(frozen=True, kw_only=True)
class DistillationFlags:
    """Options of every stage that trains a model against a teacher."""

    data: str = "embedded"
    """Training questions: embedded (ships with the project), squad or squad_v2 (downloaded), or a SQuAD JSON file."""
    eval_data: str | None = None
    """Questions to score the result on; by default the dev part of a named --data, nothing for a file."""
    alpha: float = 0.1
    """Weight of the gold answers; the teacher's distribution gets 1 - alpha."""
    temperature: float = 4.0
    """Temperature of both distributions in the soft loss."""
    hidden_weight: float = 10.0
    """Weight of the hidden-state loss; 0 leaves it out, and teacher logits are then read from the cache."""
    precision: str = "auto"
    """bf16 (autocast), fp32, or auto: bf16 where the GPU, or without one the CPU, computes in it, else fp32."""
    optimizer: str = "adamw"
    """adamw, or adafactor (less memory; transformers' settings for fine-tuning, published for rates of about 1e-3)."""
    seed: int = 0
    """Seed of fresh weights, of chosen windows, batches and dropout."""
    cache: Path = Path("runs/cache")
    """Folder for cached teacher logits, shared by all runs."""
    resume: bool = False
    """Go on with an interrupted run of the same --out."""

    def weights(self) -> DistillationWeights:
        """The weights of the loss, checked."""
        return DistillationWeights(self.alpha, self.temperature, self.hidden_weight)


@dataclass(frozen=True)
class Material:
    """Questions to train on, questions held out of them for the threshold, and questions to score on."""

    train: list[Example]
    held_out: list[Example]
    eval: list[Example]
    train_file: Path
    eval_file: Path | None


def read_material(data: str, eval_data: str | None) -> Material:
    """Read and check all data before anything is trained; a named data set is scored on its own dev part by default."""
    if eval_data is None and data in (EMBEDDED, *SQUAD_FILES):
        eval_data = data
    train_file = resolve(data, "train")
    eval_file = resolve(eval_data, "dev") if eval_data else None
    train, held_out = hold_out(read_squad(train_file))
    return Material(train, held_out, read_squad(eval_file) if eval_file else [], train_file, eval_file)


def fresh_model(
    encoder: str, folder: Path, head: str, activation: str = "gelu", seed: int = 0, n_layers: int | None = None
) -> QAModel:
    """A pre-trained encoder, or `n_layers` of its layers evenly chosen, with a fresh head, ready to be fine-tuned."""
    model = QAModel(load_encoder(encoder, folder), head, activation, seed)
    if n_layers is not None:
        model = student_from_layers(model, n_layers, head, seed)
    leave_out_attention_dropout(model)
    return model


def leave_out_attention_dropout(model: QAModel) -> None:
    """Set it to 0 in place: it needs (B, heads, T, T) arrays, half the speed for nothing that was measured."""
    for parts in model.encoder.layer_parts():
        parts.attention_dropout.p = 0.0


def leave_out_dropout(model: QAModel) -> None:
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
    cache: Path,
    work: Path,
    name: str,
    facts: dict[str, Any] | None = None,
) -> Trainer:
    """A trainer that distils `teacher` into `student`; `windows` are cut from `data` with the teacher's settings.

    A checkpoint goes on only with the same teacher, data, loss and `facts`. The student learns without dropout: it is to
    match given logits and states, which noise in its own would bias. Attention then needs no (B, heads, T, T) array either,
    which halves the memory of a step.
    """
    leave_out_dropout(student)
    teacher_model = QAModel.from_pretrained(teacher.path)
    check_same_width(teacher_model, student, weights.hidden_weight)
    depends_on = {"teacher": teacher.sha256, "data": file_sha256(data), "loss": asdict(weights), **(facts or {})}
    trainer = Trainer(student, windows, supervised, options, work, name, depends_on)
    # Hidden states are not kept, so with them the teacher runs each time, and needs no room for its logits.
    folder = None if weights.hidden_weight > 0 else cache / cache_key(teacher, data, trainer.options.precision)
    trainer.loss = Distillation(TeacherLogits(teacher_model, windows, folder, trainer.accelerator), weights)
    return trainer


def save_model(
    model: QAModel,
    out: Path,
    material: Material,
    *,
    stage: str,
    config: Any,
    tokenizer: Path,
    parent: Bundle | None,
    settings: QASettings | None = None,
    **facts: Any,
) -> Bundle:
    """Write a trained model as a bundle, with its threshold when the data has unanswerable questions, and its scores.

    `config` is the stage's dataclass, `tokenizer` the folder to copy the tokenizer from, `facts` more for the manifest.
    `settings` are those of the windows it was trained on, by default the parent's, or BERT's for SQuAD where it has none.
    """
    counts = model.count_parameters()
    manifest: dict[str, Any] = {
        "kind": "pytorch",
        "precision": "fp32",
        "stage": stage,
        "config": asdict(config),
        "training_data": {"name": material.train_file.name, "sha256": file_sha256(material.train_file)},
        "parent": parent.reference() if parent else None,
        "parameters": asdict(counts),
        **facts,
    }
    if settings is None:
        settings = parent.settings if parent else QASettings()
        if stage != "prune" and not material.held_out:  # nothing to tune on; a pruned model is still near its parent
            settings = replace(settings, null_threshold=None)
    with new_bundle(out, manifest) as draft:
        model.save_pretrained(draft)
        copy_tokenizer(tokenizer, draft)
        save_held_out(material.held_out, draft)
        runtime = load_runtime(Bundle(draft, manifest, "", settings))
        settings = tune_for_bundle(runtime, load_tokenizer(draft), settings, draft)
        settings.save(draft / SETTINGS)
        if material.eval_file is not None:
            bundle = Bundle(draft, manifest, "", settings)
            scores, _ = evaluate_runtime(runtime, bundle, material.eval, progress=sys.stderr.isatty())
            manifest["scores"] = {"data": {"name": material.eval_file.name, "sha256": file_sha256(material.eval_file)}, **scores}
    return open_bundle(out)


def summary(bundle: Bundle) -> str:
    """One line about a finished bundle: parameters, and scores where it has some."""
    parameters, scores = bundle.manifest["parameters"], bundle.manifest.get("scores")
    line = f"{bundle.path}: {parameters['total']:,} parameters ({parameters['without_embeddings']:,} without embeddings)"
    if scores:
        line += f", EM {scores['exact']:.2f}, F1 {scores['f1']:.2f} on {scores['total']} questions of {scores['data']['name']}"
    return line
