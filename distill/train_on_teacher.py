"""Distil a teacher into a student: what `python -m distill.run` does."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from distill.data import DataSplits, load_splits, training_windows
from distill.making import Making, Start, is_first_process, summary
from distill.options import DistillOptions
from distill.prune_plan.importance import sample_labelled
from distill.prune_plan.plan import check_pruning, prune_by_importance
from distill.student import (
    check_hidden_states,
    same_tokens,
    standalone_student,
    student_from_layers,
)
from distill.teacher import TeacherBundle, distillation_trainer
from distill.teacher_score import teacher_score
from distill.train_on_gold import encoder_start, finetuned, fresh_start
from qa.base.shipped import TEACHER, shipped
from qa.bundles.bundle import Bundle, copy_bundle
from qa.bundles.hf_import import open_model
from qa.bundles.manifest import Made
from qa.bundles.next_export import say_next_export
from qa.models.model import QAModel
from qa.models.standalone import STANDALONE_MODELS
from qa.text.settings import QASettings
from qa.text.tokenization import load_tokenizer

INSTEAD_OF_WIDTH = "--student-layers takes some of its layers whole"


def distil(options: DistillOptions) -> Bundle:
    """Make teacher and student, print a line about each and return the student's bundle."""
    out = options.out / "student"
    models = {"student": options.student, "student_encoder": options.student_encoder}
    if not (options.weights().gold_only and (options.student or starts_from_encoder(options))):
        models |= {"teacher": given_teacher(options), "teacher_encoder": options.teacher_encoder}
    making = Making.open("distill", options, out, folder=options.out, **models)
    bundle = making.done or distilled(options, making)
    if is_first_process():
        print(summary(bundle))
        say_next_export(bundle, options.target_quantize, options.target_embeddings)
    return bundle


def distilled(options: DistillOptions, making: Making) -> Bundle:
    """Make what is missing of teacher and student, and save the student."""
    options.check_cache()
    parent = open_model(options.student, format="pytorch") if options.student else None
    teacher, splits = teacher_and_data(options, parent)
    bundle = teacher.bundle
    start = student_start(options, lambda: teacher.model, bundle.path, bundle.settings, parent)
    tokenizer = load_tokenizer(start.tokenizer)
    teacher.read(tokenizer, splits.train)
    teacher.check_windows(start.settings)
    teacher.check_hidden_states(start.model, options.hidden_weight)
    windows = training_windows(splits, tokenizer, start.settings)
    taught = not options.weights().gold_only
    made = Made(teacher=bundle.as_teacher(parent)) if parent and taught else start.made
    if options.prunes:
        sample = sample_labelled(windows, options.importance_windows, options.seed)
        width = prune_by_importance(start.model, teacher.model, sample, options, work=making.work)
        made = Made(width=width)
    depends_on = {"student": start.sha256, **options.student_as_given()}
    trainer = distillation_trainer(
        start.model, teacher, windows, splits, options, making.work, "student", depends_on
    )
    if trainer.accelerator.is_main_process:
        announce(bundle, splits, options)
    trainer.train(options.resume)
    # Nothing of a teacher is in a student of an encoder that gold answers alone taught.
    origin = None if starts_from_encoder(options) and not taught else bundle
    start = replace(start, parent=parent or origin, teacher=bundle if taught else None)
    return making.save(start, splits, made, trainer)


def starts_from_encoder(options: DistillOptions) -> bool:
    """Return True for a student whose first weights are an encoder's, not a teacher's or fresh ones."""
    return options.student_encoder is not None and options.student_encoder not in STANDALONE_MODELS


def teacher_and_data(options: DistillOptions, parent: Bundle | None) -> tuple[TeacherBundle, DataSplits]:
    """Open the teacher or fine-tune a new one, and read the questions.

    All that can be refused is refused before a teacher is trained.
    """
    path = given_teacher(options)
    given = open_model(path, format="pytorch") if path else None
    teacher_labels = given is not None and not options.weights().gold_only
    splits = load_splits(options.data, options.eval_data, parent or given, unlabelled=teacher_labels)
    if given is None:
        check_plan(options, parent)
        given = finetuned(options.teacher_options())
    copied = teacher_in_run(options)
    if copied and copied.exists():
        copy_bundle(given.path, copied)  # another model there is said before minutes of work
    return TeacherBundle(given), splits


def teacher_in_run(options: DistillOptions) -> Path | None:
    """Return where a copy of the shipped teacher goes: later stages and tables find it in the run folder."""
    return None if options.teacher_encoder or options.teacher else options.out / "teacher"


def announce(teacher: Bundle, splits: DataSplits, options: DistillOptions) -> None:
    """Copy a shipped teacher to the run folder, and print what the teacher scores."""
    copied = teacher_in_run(options)
    if copied:
        teacher = copy_bundle(teacher.path, copied)
    print(summary(teacher), flush=True)
    score = "" if options.weights().gold_only else teacher_score(teacher, splits)
    if score:
        print(score, flush=True)


def check_plan(options: DistillOptions, parent: Bundle | None) -> None:
    """Build the student of an untrained teacher and drop it: errors come before the teacher is fine-tuned."""
    new = encoder_start(options.teacher_options())
    start = student_start(options, lambda: new.model, new.tokenizer, QASettings(), parent)
    new.model.check_windows(start.settings)
    one_tokenizer = same_tokens(load_tokenizer(new.tokenizer), load_tokenizer(start.tokenizer))
    check_hidden_states(new.model, start.model, one_tokenizer, options.hidden_weight)


def given_teacher(options: DistillOptions) -> Path | None:
    """Return the teacher of the options or the shipped one; None where a new one is fine-tuned."""
    return None if options.teacher_encoder else options.teacher or shipped(TEACHER, "--teacher")


def student_start(
    options: DistillOptions,
    teacher: Callable[[], QAModel],
    teacher_folder: Path,
    teacher_settings: QASettings,
    parent: Bundle | None,
) -> Start:
    """Return `parent`, to be trained further, or a new student, not yet pruned. OptionError for none."""
    if parent is None:
        start = new_student(options, teacher(), teacher_folder, options.window_settings(teacher_settings))
    else:
        model = QAModel.from_pretrained(parent.path)
        settings = options.window_settings(parent.settings)
        start = Start(model, parent.path, settings, parent, parent.sha256)
    start.model.check_windows(start.settings)
    if options.prunes:
        check_pruning(start.model, options, INSTEAD_OF_WIDTH)
    return start


def new_student(
    options: DistillOptions, teacher: QAModel, teacher_folder: Path, settings: QASettings
) -> Start:
    """Return a student that is made from the teacher, or from an encoder of its own."""
    name = options.student_encoder
    if name is None:
        n_layers = options.student_layers or len(teacher.encoder.layers)
        model = student_from_layers(teacher, n_layers, options.student_head, options.seed)
        return Start(model, teacher_folder, settings, None, None)
    if name in STANDALONE_MODELS:
        model = standalone_student(name, teacher, load_tokenizer(teacher_folder), options.seed)
        return Start(model, teacher_folder, settings, None, None)
    head = options.student_head or teacher.head_name
    return fresh_start(name, head, teacher.activation, settings, options.seed)
