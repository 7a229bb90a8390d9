"""One model of the football experiment: where its training starts, how long its windows are, and the training itself."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks.zoo_train import take_bundle
from distill.objectives import supervised
from distill.stage import Material, fresh_model, leave_out_attention_dropout, save_model
from distill.student import same_tokens
from distill.training import Trainer, TrainingOptions
from qa.bundle import Bundle
from qa.cli import check_option
from qa.errors import OptionError
from qa.features import Window
from qa.models.model import QAModel
from qa.models.pretrained import load_encoder
from qa.settings import QASettings
from qa.tokenization import load_tokenizer

SQUAD, FOOTBALL, SQUAD_FOOTBALL = "squad", "football", "squad-football"
# In the order they are trained and shown; the first is not trained here.
STARTS = {SQUAD: "SQuAD", FOOTBALL: "football", SQUAD_FOOTBALL: "SQuAD, then football"}


@dataclass(frozen=True)
class Training:
    """What all models that are trained here share."""

    squad_sha256: str
    encoder: str
    encoder_sha256: str
    layers: int | None
    data: dict[str, str]
    train_questions: int | None
    epochs: float
    learning_rate: float
    batch_size: int
    seed: int

    def options(self) -> TrainingOptions:
        """For the training loop."""
        return TrainingOptions(self.learning_rate, self.batch_size, self.epochs, seed=self.seed)


@dataclass(frozen=True)
class Model:
    """One model of the experiment, before it is trained."""

    start: str
    max_length: int
    training: Training

    @property
    def name(self) -> str:
        """Name of its bundle and in rows."""
        return f"{self.start}-{self.max_length}"

    def settings(self, squad: Bundle) -> QASettings:
        """The SQuAD model's settings with this model's length; the threshold is only the SQuAD model's own."""
        own = squad.settings.null_threshold if self.start == SQUAD else None
        return replace(squad.settings, max_length=self.max_length, null_threshold=own)

    def take(self, folder: Path, squad: Bundle) -> Bundle | None:
        """The SQuAD model with this length, or the bundle of an earlier run, or None. BundleError when it is another's."""
        if self.start == SQUAD:
            return replace(squad, settings=self.settings(squad))
        return take_bundle(folder / self.name, self)


@dataclass(frozen=True)
class Sources:
    """What the models are made of: the SQuAD model, and the pre-trained encoder under it."""

    squad: Bundle
    encoder: str
    encoder_folder: Path
    layers: int | None
    seed: int

    def model(self, start: str) -> QAModel:
        """An untrained model: the SQuAD model, or the encoder's layers under a fresh head of the same kind."""
        given = QAModel.from_pretrained(self.squad.path)
        if start == SQUAD_FOOTBALL:
            leave_out_attention_dropout(given)
            return given
        return fresh_model(self.encoder, self.encoder_folder, given.head_name, given.activation, self.seed, self.layers)

    def check(self, lengths: Sequence[int]) -> None:
        """OptionError unless the encoder has the SQuAD model's shape and tokens, and positions for windows of these lengths."""
        given = QAModel.from_pretrained(self.squad.path)
        n_layers = len(load_encoder(self.encoder, self.encoder_folder).layers)
        check_option((self.layers or 1) <= n_layers, "--layers", self.layers, f"at most the encoder's {n_layers}")
        if given.encoder.architecture.output is not None:
            raise OptionError(f"--squad {self.squad.path}: {given.head_name} is a whole model without a pre-trained encoder")
        ours, theirs = _shape(self.model(FOOTBALL)), _shape(given)
        for what, value in theirs.items():
            if value != ours[what]:
                raise OptionError(
                    f"--squad {self.squad.path}: {what} {value}, but {ours[what]} of --encoder {self.encoder}"
                    f"{f' --layers {self.layers}' if self.layers else ''}; choose the bundle's own encoder and layers"
                )
        if not same_tokens(self.squad.tokenizer(), load_tokenizer(self.encoder_folder)):
            raise OptionError(f"--squad {self.squad.path}: its tokenizer differs from that of --encoder {self.encoder}")
        for length in lengths:
            replace(self.squad.settings, max_length=length)  # refuses one that leaves no room beside the question
        longest = given.encoder.max_length
        check_option(max(lengths) <= longest, "--lengths", max(lengths), f"at most {longest}, the encoder's positions")


def _shape(model: QAModel) -> dict[str, object]:
    config = model.config()
    return {
        "encoder type": config["encoder"]["model_type"],
        "layers": len(model.encoder.layers),
        "width": model.encoder.hidden_size,
        "heads in each layer": config["heads_per_layer"],
        "neurons in each layer": config["neurons_per_layer"],
    }


def train(model: Model, sources: Sources, folder: Path, material: Material, windows: Sequence[Window]) -> Bundle:
    """Train one model and save it as a bundle with its threshold, going on from its checkpoint where a run was stopped."""
    fresh, training = sources.model(model.start), model.training
    work, facts = folder / "training" / model.name, {"football": asdict(model)}
    trainer = Trainer(fresh, windows, supervised, training.options(), work, model.name, facts)
    trainer.train(resume=True)
    first = model.start == SQUAD_FOOTBALL
    bundle = save_model(
        fresh, folder / model.name, replace(material, eval=[], eval_file=None), stage="finetune", config=model,
        tokenizer=sources.squad.path if first else sources.encoder_folder, parent=sources.squad if first else None,
        settings=model.settings(sources.squad),
    )  # fmt: skip
    trainer.finish()
    return bundle
