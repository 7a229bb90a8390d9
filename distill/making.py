"""One bundle that training makes: from refusing an existing --out to removing the checkpoint."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import torch
from safetensors.torch import save
from torch import Tensor

from distill.data import DataSplits
from distill.options import StageOptions
from distill.run_inputs import check_inputs
from distill.save import save_bundle
from distill.training.checkpoint import CHECKPOINT
from distill.training.options import BASE_WIDTH, HIGH_RATE
from distill.training.trainer import Trainer
from qa.base.errors import BundleError, OptionError
from qa.base.files import check_new_folder, file_sha256, write_whole
from qa.base.journal import lock
from qa.base.next_step import say_next
from qa.bundles.bundle import Bundle, open_bundle
from qa.bundles.manifest import Made, StageRecord, Tuning, recorded_options
from qa.bundles.overlap import overlap_line
from qa.bundles.trained_on import TrainedOn
from qa.data.datasets import resolve
from qa.evaluation.threshold import all_answered, save_held_out, too_few
from qa.formats.registry import ADAPTER
from qa.models.model import QAModel, read_config
from qa.text.settings import QASettings


@dataclass(frozen=True)
class Start:
    """A model before it is trained."""

    model: QAModel
    tokenizer: Path
    """Folder of its tokenizer."""
    settings: QASettings
    """Settings of its windows."""
    parent: Bundle | None
    """The bundle that is trained further, if any."""
    sha256: str | None
    """Hash of the parent, or of the encoder's files; None for a student made from its teacher."""
    made: Made = field(default_factory=Made)
    """Record of what was done to it so far."""
    adapter: Mapping[str, Tensor] | None = None
    """Values that LoRA starts from."""
    teacher: Bundle | None = None
    """The bundle whose answers it learns, if any."""
    trained_on: TrainedOn | None = None
    """Record of its encoder's training, where that is of a model that answered already."""


@dataclass(frozen=True)
class Making:
    """A bundle in the making: its place, and what an interrupted run has finished."""

    out: Path
    options: StageOptions
    stage: str
    done: Bundle | None
    """The bundle, where a run of the same inputs had finished it."""

    @classmethod
    def open(
        cls,
        stage: str,
        options: StageOptions,
        out: Path,
        *,
        folder: Path | None = None,
        **models: Path | str | None,
    ) -> "Making":
        """Begin, or continue with --resume. `models` are the bundles that the options name, by option.

        BundleError when `folder`, by default `out`, or a checkpoint exists and the run is not resumed, or was
        made of other inputs. OptionError where another process has not yet finished the checkpoint's run, for
        the name of the folder of checkpoints, and where nothing can be written.
        """
        folder = folder or out
        if folder == work_folder(folder).parent:
            raise OptionError(f"--out {folder}: checkpoints are in folders of that name; choose another")
        refuse_unless_resumed(folder, options.resume)
        if not out.exists():
            check_new_folder(folder, "--out")
            return cls(out, options, stage, None)
        bundle = open_bundle(out, format="pytorch")
        check_inputs(bundle, options, models)
        checkpoint = work_folder(out) / CHECKPOINT
        checkpoint.unlink(missing_ok=True)  # of a run that was killed once the bundle was there
        say_if_not_scored(bundle, options.eval_data)
        return cls(out, options, stage, bundle)

    @property
    def work(self) -> Path:
        """Folder of the checkpoint and the curves."""
        return work_folder(self.out)

    def save(self, start: Start, splits: DataSplits, made: Made, trainer: Trainer | None) -> Bundle:
        """Save the trained model of `start`, remove the checkpoint, and return the bundle.

        The first process saves; the others wait for it. What LoRA trained on an encoder is also stored alone.
        """
        if trainer is None or trainer.accelerator.is_main_process:
            precision = trainer.options.precision if trainer else None
            self._write(start, splits, msgspec.structs.replace(made, training_precision=precision), trainer)
            if trainer:
                trainer.finish()
        if trainer:
            trainer.wait_for_everyone()
        return open_bundle(self.out, format="pytorch")

    def _write(self, start: Start, splits: DataSplits, made: Made, trainer: Trainer | None) -> None:
        adapter = trainer.adapter if trainer and made.encoder else {}

        def add_files(folder: Path) -> None:
            save_held_out(splits.held_out, folder)
            if adapter:
                tensors = {name: tensor.cpu().contiguous() for name, tensor in adapter.items()}
                write_whole(folder / ADAPTER, save(tensors, {"format": "pt"}))

        trained_on = TrainedOn.of(splits.train).with_bundles(start.parent, start.teacher)
        if start.trained_on is not None:
            trained_on |= start.trained_on
        made = msgspec.structs.replace(made, training_data=splits.train_data)
        settings, tuning = keep_threshold(start.settings, start.parent, splits)
        record = StageRecord(
            **msgspec.structs.asdict(made),
            format="pytorch",
            precision="fp32",
            stage=self.stage,
            config=recorded_options(self.options),
            parent=start.parent.reference() if start.parent else None,
            ancestors=start.parent.lineage() if start.parent else [],
            parameters=start.model.count_parameters(),
            tuning=tuning,
        )
        save_bundle(
            start.model,
            self.out,
            record,
            tokenizer=start.tokenizer,
            settings=settings,
            trained_on=trained_on,
            add_files=add_files,
            eval_data=splits.eval,
        )


def keep_threshold(
    settings: QASettings, parent: Bundle | None, splits: DataSplits
) -> tuple[QASettings, Tuning | None]:
    """Return settings with the parent's threshold where too few are held out for one; say so on stderr.

    Return, too, on which files that threshold was tuned; None where it was on questions held out.
    """
    had_threshold = parent is not None and parent.settings.null_threshold is not None
    held_out = splits.held_out
    if not held_out and (all_answered(splits.train) or not had_threshold):
        if had_threshold and settings.null_threshold is None:
            print(
                "no-answer threshold: none, as no questions were held out to tune it on; tune one with "
                "python -m export.tune",
                file=sys.stderr,
            )
        return settings, parent.inherited_tuning if parent and settings.null_threshold is not None else None
    why_not = too_few(held_out)
    if not why_not:
        return settings, None
    if parent is None or not had_threshold:
        check = "it was tuned on these all the same, so check it with python -m qa.evaluate"
        print(f"held out: {why_not}; {check}", file=sys.stderr)
        return settings, None
    inherited = parent.settings
    stays = f"that of {parent.path} stays: {inherited.null_threshold:.4g}"
    print(f"held out: {why_not}; {stays}", file=sys.stderr)
    settings = replace(
        settings,
        null_threshold=inherited.null_threshold,
        strict_threshold=inherited.strict_threshold,
        calibration=inherited.calibration,
    )
    return settings, parent.inherited_tuning


def refuse_unless_resumed(out: Path, resume: bool) -> None:
    """Raise BundleError when `out` or a checkpoint of it exists and the run is not resumed.

    OptionError where another process has not yet finished the checkpoint's run.
    """
    if out.is_symlink() and not out.exists():
        raise BundleError(f"{out}: is a broken link; remove it, or choose another --out")
    # Only the first process looks: by the time the others do, it may have made the folder itself.
    if resume or not is_first_process():
        return
    if out.exists():
        raise BundleError(
            f"{out}: exists already; choose another --out, remove it, or continue with --resume"
        )
    checkpoint = work_folder(out) / CHECKPOINT
    if checkpoint.is_file():
        os.close(lock(checkpoint.parent))
        raise BundleError(
            f"{checkpoint}: left by a stopped run; continue that run with --resume, or remove it to "
            "begin again"
        )


def work_folder(out: Path) -> Path:
    """Return the folder of the checkpoint and the curves of the bundle `out`."""
    return out.parent / "training" / out.name


def say_if_not_scored(bundle: Bundle, eval_data: str | None) -> None:
    """Say on stderr that a finished bundle has no score on the data that it is given now."""
    if eval_data is None or not is_first_process():
        return
    scores = bundle.manifest.scores
    if scores is None or scores.data.sha256 != file_sha256(resolve(eval_data, "dev")):
        print(f"--eval-data {eval_data}: the run had finished, so nothing is scored", file=sys.stderr)
        say_next("evaluate", "--data", eval_data, "--model", bundle.path)


def is_first_process() -> bool:
    """Return True in torchrun's first process and in a process on its own, before anything is set up."""
    return os.environ.get("RANK", "0") == "0"


def summary(bundle: Bundle) -> str:
    """Return one line about a finished bundle: parameters, and scores where it has some."""
    line = f"{bundle.path}: {bundle.manifest.parameters}"
    if scores := bundle.manifest.scores:
        on = f"{scores.total} questions of {scores.data.name}"
        line += f", EM {scores.exact:.2f}, F1 {scores.f1:.2f} on {on}"
        line = "; ".join(filter(None, [line, overlap_line(scores.train_overlap or 0)]))
    return line


def usual_rate(bundle: Bundle) -> tuple[str, ...]:
    """Return the flag for a rate that suits a wide encoder; none where the default suits."""
    with torch.device("meta"):
        width = QAModel.from_config(read_config(bundle.path)).encoder.hidden_size
    return ("--learning-rate", f"{HIGH_RATE:g}") if width >= BASE_WIDTH else ()
