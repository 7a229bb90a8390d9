"""Steps of `python -m distill.run`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from distill.fine_tuning import finetune
from distill.prune_plan.importance import sample_labelled
from distill.prune_plan.plan import check_pruning, prune_by_importance
from distill.resume import RunInputs, finished, refuse_unless_resumed, work_folder
from distill.run import DistillConfig
from distill.stage import Start, distillation_trainer, load_splits, save_model, summary
from distill.student import (
    check_hidden_states,
    copy_head,
    same_tokens,
    standalone_student,
    student_from_layers,
)
from distill.teacher import TeacherBundle
from distill.teacher_score import teacher_score
from qa.base.files import file_sha256
from qa.base.next_step import say_next
from qa.bundles.bundle import Bundle, copy_bundle, open_bundle
from qa.bundles.hf_import import open_model
from qa.bundles.shipped import TEACHER, shipped
from qa.models.model import QAModel
from qa.models.pretrained import find_encoder, load_encoder
from qa.models.standalone import STANDALONE_MODELS
from qa.text.features import Window, make_windows
from qa.text.settings import QASettings
from qa.text.tokenization import load_tokenizer

INSTEAD_OF_WIDTH = "--student-layers takes some of its layers whole"


def check_plan(config: DistillConfig) -> None:
    """Build the student of an untrained teacher and drop it: errors come before the teacher is fine-tuned."""
    encoder = config.teacher_config().model
    folder = find_encoder(encoder)
    teacher = QAModel(load_encoder(encoder, folder), config.teacher_head, config.activation)
    parent = given_student(config)
    settings = config.window_settings(parent.settings if parent else QASettings())
    teacher.check_windows(settings)
    if parent:
        student = QAModel.from_pretrained(parent.path)
        tokenizer = parent.path
    else:
        student, tokenizer = student_for(config, teacher, folder)
    if config.prunes:
        check_pruning(student, config, INSTEAD_OF_WIDTH)
    student.check_windows(settings)
    one_tokenizer = same_tokens(load_tokenizer(folder), load_tokenizer(tokenizer))
    check_hidden_states(teacher, student, one_tokenizer, config.hidden_weight)


def student_for(config: DistillConfig, teacher_model: QAModel, teacher_folder: Path) -> tuple[QAModel, Path]:
    """Return the untrained student, not yet pruned, and the folder of its tokenizer."""
    if config.student_encoder is None:
        n_layers = config.student_layers or len(teacher_model.encoder.layers)
        return student_from_layers(teacher_model, n_layers, config.student_head, config.seed), teacher_folder
    if config.student_encoder in STANDALONE_MODELS:
        tokenizer = load_tokenizer(teacher_folder)
        student = standalone_student(config.student_encoder, teacher_model, tokenizer, config.seed)
        return student, teacher_folder
    folder = find_encoder(config.student_encoder)
    encoder = load_encoder(config.student_encoder, folder)
    head = config.student_head or teacher_model.head_name
    student = QAModel(encoder, head, teacher_model.activation, config.seed)
    copy_head(teacher_model, student)
    return student, folder


def given_student(config: DistillConfig) -> Bundle | None:
    """Return the bundle that is trained further as the student, if one is given."""
    return open_model(config.student, format="pytorch") if config.student else None


def given_teacher(config: DistillConfig) -> Path | None:
    """Return the teacher of the options or the shipped one; None where a new one is fine-tuned."""
    return None if config.teacher_encoder else config.teacher or shipped(TEACHER, "--teacher")


def student_start(
    config: DistillConfig, teacher: Bundle, parent: Bundle | None
) -> tuple[Start, QAModel | None]:
    """Return `parent`, or a new student and the teacher's model, which it was made from.

    OptionError where none can be made.
    """
    teacher_model = None
    if parent is not None:
        model = QAModel.from_pretrained(parent.path)
        start = Start(model, parent.path, config.window_settings(parent.settings), parent, parent.sha256)
    else:
        teacher_model = QAModel.from_pretrained(teacher.path)
        model, tokenizer = student_for(config, teacher_model, teacher.path)
        is_encoder = config.student_encoder is not None and config.student_encoder not in STANDALONE_MODELS
        sha256 = file_sha256(tokenizer / "model.safetensors") if is_encoder else None
        start = Start(model, tokenizer, config.window_settings(teacher.settings), None, sha256)
    model.check_windows(start.settings)
    if config.prunes:
        check_pruning(model, config, INSTEAD_OF_WIDTH)
    return start, teacher_model


def prepare(
    config: DistillConfig, start: Start, teacher_model: QAModel | None, windows: Sequence[Window]
) -> dict[str, Any]:
    """Prune the student where the options say so; return what the manifest records of its making."""
    if config.prunes:
        assert teacher_model is not None
        pruned = prune_by_importance(
            start.model,
            teacher_model,
            sample_labelled(windows, config.importance_windows, config.seed),
            config,
            work=work_folder(config.out / "student"),
        )
        return {"width": pruned}
    if start.parent is None and start.sha256 is not None:
        return {"encoder": {"name": config.student_encoder, "sha256": start.sha256}}
    return {}


def run(config: DistillConfig) -> Bundle:
    """Make teacher and student, print a line about each and return the student's bundle."""
    out = config.out / "student"
    refuse_unless_resumed(config.out, config.resume)
    if out.exists():
        bundle = finished(out, RunInputs.of(config, teacher=given_teacher(config), student=config.student))
        print(summary(bundle))
        say_next("export.tflite", "--model", out, "--quantize", "int8")
        return bundle
    config.check_cache()
    path = given_teacher(config)
    given = open_model(path, format="pytorch") if path else None
    parent = given_student(config)
    splits = load_splits(config.data, config.eval_data, parent or given, unlabelled=given is not None)
    if given is None:
        check_plan(config)
    teacher = given or finetune(config.teacher_config())
    copied = None if config.teacher_encoder or config.teacher else config.out / "teacher"
    if copied and copied.exists():
        copy_bundle(teacher.path, copied)  # another model there is said before minutes of work
    start, teacher_model = student_start(config, teacher, parent)
    tokenizer = load_tokenizer(start.tokenizer)
    reader = TeacherBundle(teacher, tokenizer, splits.train, teacher_model)
    reader.check_windows(start.settings)
    reader.check_hidden_states(start.model, config.hidden_weight)
    windows = make_windows(splits.train, tokenizer, start.settings, progress=True)
    facts = prepare(config, start, teacher_model, windows)
    trainer = distillation_trainer(
        start.model,
        reader,
        windows,
        splits.train_file,
        options=config.student_options(),
        weights=config.weights(),
        cache=config.cache,
        work=work_folder(out),
        name="student",
        depends_on={"student": start.sha256},
    )
    main_process = trainer.accelerator.is_main_process
    if main_process:
        if copied:
            teacher = copy_bundle(teacher.path, copied)  # later stages and tables find it in the run folder
        print(summary(teacher), flush=True)
        score = teacher_score(teacher, splits)
        if score:
            print(score, flush=True)
    trainer.train(config.resume)
    if main_process:
        if start.parent:
            facts["recovered_against"] = teacher.as_teacher(start.parent)
        save_model(
            start.model,
            out,
            splits,
            stage="distill",
            config=config,
            tokenizer=start.tokenizer,
            parent=start.parent or teacher,
            settings=start.settings,
            training_precision=trainer.options.precision,
            **facts,
        )
        trainer.finish()
    trainer.wait_for_everyone()
    bundle = open_bundle(out)
    if main_process:
        print(summary(bundle))
        say_next("export.tflite", "--model", out, "--quantize", "int8")
    return bundle
