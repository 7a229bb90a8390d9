"""Distil a teacher into a student: what `python -m distill.run` does."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

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
from distill.train_on_gold import finetuned
from qa.base.files import file_sha256
from qa.base.shipped import TEACHER, shipped
from qa.bundles.bundle import Bundle, copy_bundle
from qa.bundles.hf_import import open_model
from qa.bundles.manifest import FileReference, Made
from qa.bundles.next_export import say_next_export
from qa.models.model import QAModel
from qa.models.pretrained import find_encoder, load_encoder
from qa.models.standalone import STANDALONE_MODELS
from qa.text.features import Window
from qa.text.settings import QASettings
from qa.text.tokenization import load_tokenizer

INSTEAD_OF_WIDTH = "--student-layers takes some of its layers whole"


def distil(options: DistillOptions) -> Bundle:
    """Make teacher and student, print a line about each and return the student's bundle."""
    out = options.out / "student"
    models = {"teacher": given_teacher(options), "student": options.student}
    making = Making.open("distill", options, out, folder=options.out, **models)
    bundle = making.done or distilled(options, making)
    if is_first_process():
        print(summary(bundle))
        say_next_export(bundle)
    return bundle


def distilled(options: DistillOptions, making: Making) -> Bundle:
    """Make what is missing of teacher and student, and save the student."""
    options.check_cache()
    parent = given_student(options)
    teacher, splits = teacher_and_data(options, parent)
    start = student_start(options, teacher, parent)
    tokenizer = load_tokenizer(start.tokenizer)
    teacher.read(tokenizer, splits.train)
    teacher.check_windows(start.settings)
    teacher.check_hidden_states(start.model, options.hidden_weight)
    windows = training_windows(splits, tokenizer, start.settings)
    made = prune(start, teacher, windows, options, making.work) if options.prunes else start.made
    trainer = distillation_trainer(
        start.model,
        teacher,
        windows,
        splits.train_file,
        options=options.student_training(),
        weights=options.weights(),
        cache=options.cache,
        work=making.work,
        name="student",
        depends_on={"student": start.sha256},
    )
    if trainer.accelerator.is_main_process:
        announce(teacher.bundle, splits, options)
    trainer.train(options.resume)
    return making.save(start, splits, made, trainer)


def teacher_and_data(options: DistillOptions, parent: Bundle | None) -> tuple[TeacherBundle, DataSplits]:
    """Open the teacher or fine-tune a new one, and read the questions.

    All that can be refused is refused before a teacher is trained.
    """
    path = given_teacher(options)
    given = open_model(path, format="pytorch") if path else None
    splits = load_splits(options.data, options.eval_data, parent or given, unlabelled=given is not None)
    if given is None:
        check_plan(options)
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
    score = teacher_score(teacher, splits)
    if score:
        print(score, flush=True)


def check_plan(options: DistillOptions) -> None:
    """Build the student of an untrained teacher and drop it: errors come before the teacher is fine-tuned."""
    encoder = options.teacher_options().model
    folder = find_encoder(encoder)
    teacher = QAModel(load_encoder(encoder, folder), options.teacher_head, options.activation)
    parent = given_student(options)
    settings = options.window_settings(parent.settings if parent else QASettings())
    teacher.check_windows(settings)
    if parent:
        student = QAModel.from_pretrained(parent.path)
        tokenizer = parent.path
    else:
        student, tokenizer = student_for(options, teacher, folder)
    if options.prunes:
        check_pruning(student, options, INSTEAD_OF_WIDTH)
    student.check_windows(settings)
    one_tokenizer = same_tokens(load_tokenizer(folder), load_tokenizer(tokenizer))
    check_hidden_states(teacher, student, one_tokenizer, options.hidden_weight)


def student_for(
    options: DistillOptions, teacher_model: QAModel, teacher_folder: Path
) -> tuple[QAModel, Path]:
    """Return the untrained student, not yet pruned, and the folder of its tokenizer."""
    if options.student_encoder is None:
        n_layers = options.student_layers or len(teacher_model.encoder.layers)
        return student_from_layers(
            teacher_model, n_layers, options.student_head, options.seed
        ), teacher_folder
    if options.student_encoder in STANDALONE_MODELS:
        tokenizer = load_tokenizer(teacher_folder)
        student = standalone_student(options.student_encoder, teacher_model, tokenizer, options.seed)
        return student, teacher_folder
    folder = find_encoder(options.student_encoder)
    encoder = load_encoder(options.student_encoder, folder)
    head = options.student_head or teacher_model.head_name
    return QAModel(encoder, head, teacher_model.activation, options.seed), folder


def given_student(options: DistillOptions) -> Bundle | None:
    """Return the bundle that is trained further as the student, if one is given."""
    return open_model(options.student, format="pytorch") if options.student else None


def given_teacher(options: DistillOptions) -> Path | None:
    """Return the teacher of the options or the shipped one; None where a new one is fine-tuned."""
    return None if options.teacher_encoder else options.teacher or shipped(TEACHER, "--teacher")


def student_start(options: DistillOptions, teacher: TeacherBundle, parent: Bundle | None) -> Start:
    """Return `parent`, to be trained further, or a new student, not yet pruned. OptionError for none."""
    made = Made()
    sha256 = None
    if parent is not None:
        model = QAModel.from_pretrained(parent.path)
        tokenizer = parent.path
        made = Made(teacher=teacher.bundle.as_teacher(parent))
        sha256 = parent.sha256
    else:
        model, tokenizer = student_for(options, teacher.model, teacher.bundle.path)
        encoder = options.student_encoder
        if encoder is not None and encoder not in STANDALONE_MODELS:
            sha256 = file_sha256(tokenizer / "model.safetensors")
            made = Made(encoder=FileReference(name=encoder, sha256=sha256))
    made_of = parent or teacher.bundle
    settings = options.window_settings(made_of.settings)
    model.check_windows(settings)
    if options.prunes:
        check_pruning(model, options, INSTEAD_OF_WIDTH)
    return Start(model, tokenizer, settings, made_of, sha256, made, teacher=teacher.bundle)


def prune(
    start: Start, teacher: TeacherBundle, windows: Sequence[Window], options: DistillOptions, work: Path
) -> Made:
    """Prune a new student in place, and return how it was made."""
    width = prune_by_importance(
        start.model,
        teacher.model,
        sample_labelled(windows, options.importance_windows, options.seed),
        options,
        work=work,
    )
    return msgspec.structs.replace(start.made, width=width)
