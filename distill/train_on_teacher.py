"""Distil a teacher into a student: what `python -m distill.run` does."""

from dataclasses import replace
from pathlib import Path

from distill.data import DataSplits, load_splits, training_windows
from distill.making import Making, Start, is_first_process, summary
from distill.options import DistillOptions
from distill.prune_plan.importance import sample_labelled
from distill.prune_plan.plan import check_pruning, prune_by_importance
from distill.student import standalone_student, student_from_layers
from distill.teacher import TeacherBundle, distillation_trainer
from distill.teacher_score import teacher_score
from distill.train_on_gold import fresh_start
from qa.base.shipped import TEACHER, shipped
from qa.bundles.bundle import Bundle, copy_bundle
from qa.bundles.hf_import import open_model
from qa.bundles.manifest import Made
from qa.bundles.next_export import say_next_export
from qa.models.heads import DEFAULT_HEAD, HEADS
from qa.models.model import QAModel
from qa.models.standalone import STANDALONE_MODELS
from qa.text.settings import QASettings
from qa.text.tokenization import load_encoder_tokenizer

INSTEAD_OF_WIDTH = "--student-layers takes some of its layers whole"


def distil(options: DistillOptions) -> Bundle:
    """Make the student, print a line about it and its teacher, and return its bundle."""
    out = options.out / "student"
    untaught = options.weights().gold_only and (options.student or starts_from_encoder(options))
    making = Making.open(
        "distill",
        options,
        out,
        folder=options.out,
        student=options.student,
        student_encoder=options.student_encoder,
        teacher=None if untaught else teacher_path(options),
    )
    bundle = making.done or distilled(options, making)
    if is_first_process():
        print(summary(bundle))
        say_next_export(bundle, options.target_quantize, options.target_embeddings, options.eval_data)
    return bundle


def distilled(options: DistillOptions, making: Making) -> Bundle:
    """Make the student and save it."""
    options.check_cache()
    parent = open_model(options.student, format="pytorch") if options.student else None
    taught = not options.weights().gold_only
    if parent and not taught and options.teacher is None:  # from gold answers alone, it needs no teacher
        bundle = parent
    else:
        bundle = open_model(teacher_path(options), format="pytorch")
    teacher = TeacherBundle(bundle)
    # Nothing of a teacher is in a student of an encoder that gold answers alone taught.
    origin = None if starts_from_encoder(options) and not taught else bundle
    if origin and not parent:
        origin = replace(origin, settings=for_students(origin.settings, options))
    splits = load_splits(options.data, options.eval_data, parent or origin, unlabelled=taught)
    copied = teacher_in_run(options)
    if copied and copied.exists():
        copy_bundle(bundle.path, copied)  # another model there is said before minutes of work
    start = student_start(options, teacher, parent)
    tokenizer = load_encoder_tokenizer(start.tokenizer)
    teacher.read(tokenizer, splits.train)
    teacher.check_windows(start.settings)
    teacher.check_hidden_states(start.model, options.hidden_weight)
    windows = training_windows(splits, tokenizer, start.settings)
    made = Made(teacher=bundle.as_teacher(parent)) if parent and taught else start.made
    if options.prunes:
        sample = sample_labelled(windows, options.importance_windows, options.seed)
        width = prune_by_importance(
            start.model, teacher.model, sample, options, start.settings, work=making.work
        )
        made = Made(width=width)
    depends_on = {"student": start.sha256, **options.student_as_given()}
    trainer = distillation_trainer(
        start.model, teacher, windows, splits, options, making.work, "student", depends_on
    )
    if trainer.accelerator.is_main_process and bundle is not parent:
        announce(bundle, splits, options)
    trainer.train(options.resume)
    start = replace(start, parent=parent or origin, teacher=bundle if taught else None)
    return making.save(start, splits, made, trainer)


def for_students(settings: QASettings, options: DistillOptions) -> QASettings:
    """Return a teacher's settings as far as a new student may keep them.

    Its calibration suits its own logits. Its thresholds suit a head that learns these logits, or has learnt.
    """
    is_fresh = options.student_head is not None or options.student_encoder is not None
    if is_fresh and options.weights().alpha == 1:
        return options.window_settings(settings)
    return replace(settings, calibration=None)


def starts_from_encoder(options: DistillOptions) -> bool:
    """Return True for a student whose first weights are an encoder's, not a teacher's or fresh ones."""
    return options.student_encoder is not None and options.student_encoder not in STANDALONE_MODELS


def teacher_path(options: DistillOptions) -> Path:
    """Return the teacher of the options, or the shipped one."""
    return options.teacher or shipped(TEACHER, "--teacher")


def teacher_in_run(options: DistillOptions) -> Path | None:
    """Return where a copy of the shipped teacher goes, if one is needed: later stages and tables find it."""
    is_needed = options.student is None or not options.weights().gold_only
    return options.out / "teacher" if options.teacher is None and is_needed else None


def announce(teacher: Bundle, splits: DataSplits, options: DistillOptions) -> None:
    """Copy a shipped teacher to the run folder, and print what the teacher scores."""
    copied = teacher_in_run(options)
    if copied:
        teacher = copy_bundle(teacher.path, copied)
    print(summary(teacher), flush=True)
    score = "" if options.weights().gold_only else teacher_score(teacher, splits)
    if score:
        print(score, flush=True)


def student_start(options: DistillOptions, teacher: TeacherBundle, parent: Bundle | None) -> Start:
    """Return `parent`, to be trained further, or a new student, not yet pruned. OptionError for none."""
    if parent is None:
        settings = options.window_settings(teacher.bundle.settings)
        start = new_student(options, teacher.model, teacher.bundle.path, settings)
    else:
        model = QAModel.from_pretrained(parent.path)
        settings = options.window_settings(parent.settings)
        start = Start(model, parent.path, settings, parent, parent.sha256)
    start.model.check_windows(start.settings)
    if options.prunes:
        check_pruning(start.model, options, start.settings, INSTEAD_OF_WIDTH)
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
        model = standalone_student(name, teacher, load_encoder_tokenizer(teacher_folder), options.seed)
        return Start(model, teacher_folder, settings, None, None)
    of_teacher = teacher.head_name if teacher.head_name in HEADS else DEFAULT_HEAD  # not a standalone model's
    head = options.student_head or of_teacher
    return fresh_start(name, head, teacher.activation, settings, options.seed)
