"""Steps of `python -m distill.finetune`."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from distill.adapter import load_adapter, untrained
from distill.finetune import FinetuneConfig
from distill.resume import RunInputs, finished, refuse_unless_resumed, work_folder
from distill.stage import Start, disable_attention_dropout, disable_dropout, load_splits, save_model
from distill.student import standalone_student, student_from_layers
from distill.training.objectives import supervised
from distill.training.trainer import Trainer
from qa.base.cli import check_option
from qa.base.files import file_sha256
from qa.bundles.bundle import MANIFEST, Bundle, open_adapter, open_bundle
from qa.bundles.hf_import import open_model
from qa.bundles.manifest import FileReference
from qa.data.origins import MINILM
from qa.models.heads import DEFAULT_HEAD
from qa.models.model import QAModel
from qa.models.pretrained import checkpoint_folder, find_encoder, head_labels, load_encoder
from qa.text.features import make_windows
from qa.text.settings import QASettings
from qa.text.tokenization import load_tokenizer


def starting_point(config: FinetuneConfig) -> Start:
    """Return the model to start from, with windows that it has positions for.

    OptionError, BundleError or DownloadError without one.
    """
    start = adapter_start(config) if config.adapter else bundle_start(config) or encoder_start(config)
    model = start.model
    if config.layers is not None:
        n_layers = len(model.encoder.layers)
        check_option(
            config.layers <= n_layers, "--layers", config.layers, f"at most the {n_layers} of --model"
        )
        model = student_from_layers(model, config.layers, seed=config.seed)
    disable_attention_dropout(model)
    if not config.dropout:
        disable_dropout(model)
    if config.head is not None and config.standalone:
        model = standalone_student(config.head, model, load_tokenizer(start.tokenizer), config.seed)
    model.check_windows(start.settings)
    return replace(start, model=model)


def encoder_start(config: FinetuneConfig) -> Start:
    """Return an encoder under a fresh head."""
    folder = find_encoder(config.model)
    head = DEFAULT_HEAD if config.head is None or config.standalone else config.head
    model = QAModel(load_encoder(config.model, folder), head, config.activation, config.seed)
    encoder = FileReference(name=config.model, sha256=file_sha256(folder / "model.safetensors"))
    return Start(model, folder, config.window_settings(QASettings()), None, encoder.sha256, encoder)


def bundle_start(config: FinetuneConfig) -> Start | None:
    """Return a model that answers already, with a fresh head if one is named; None for an encoder."""
    parent = open_parent(config.model)
    if parent is None:
        return None
    model = QAModel.from_pretrained(parent.path)
    if config.head is not None and not config.standalone:
        model = QAModel(model.encoder, config.head, config.activation, config.seed)
    return Start(model, parent.path, config.window_settings(parent.settings), parent, parent.sha256)


def adapter_start(config: FinetuneConfig) -> Start:
    """Return an encoder and the adapter that training goes on with."""
    assert config.adapter is not None
    parent = open_adapter(config.adapter)
    adapter = load_adapter(parent)
    rank = next(len(tensor) for name, tensor in adapter.items() if name.endswith(".down"))
    check_option(config.lora_rank == rank, "--lora-rank", config.lora_rank, f"{rank}, the rank of --adapter")
    model = untrained(parent, config.model, "--model")
    settings = config.window_settings(parent.settings)
    return Start(model, parent.path, settings, parent, parent.sha256, parent.manifest.encoder, adapter)


def open_parent(name: str) -> Bundle | None:
    """Open the bundle to train on, or that of a checkpoint with a head; return None for an encoder."""
    if (Path(name) / MANIFEST).is_file():
        return open_bundle(Path(name), format="pytorch")
    if name == MINILM or head_labels(checkpoint_folder(name)) is None:
        return None
    return open_model(name)


def finetune(config: FinetuneConfig) -> Bundle:
    """Fine-tune and save, or return the bundle that an interrupted run has finished."""
    refuse_unless_resumed(config.out, config.resume)
    if config.out.exists():
        return finished(config.out, RunInputs.of(config, model=config.model, adapter=config.adapter))
    start = starting_point(config)
    splits = load_splits(config.data, config.eval_data, start.parent)
    windows = make_windows(splits.train, load_tokenizer(start.tokenizer), start.settings, progress=True)
    work = work_folder(config.out)
    name = config.out.name
    depends_on = {
        "start": start.sha256,
        "data": file_sha256(splits.train_file),
        "dropout": config.dropout,
    }
    trainer = Trainer(
        start.model, windows, supervised, config.options(), work, name, depends_on, adapter=start.adapter
    )
    trainer.train(config.resume)
    if trainer.accelerator.is_main_process:
        facts: dict[str, Any] = {}
        if start.encoder is not None:
            facts["encoder"] = msgspec.to_builtins(start.encoder)
        save_model(
            start.model,
            config.out,
            splits,
            stage="finetune",
            config=config,
            tokenizer=start.tokenizer,
            parent=start.parent,
            settings=start.settings,
            adapter=trainer.adapter if start.encoder else None,
            training_precision=trainer.options.precision,
            **facts,
        )
        trainer.finish()
    trainer.wait_for_everyone()
    return open_bundle(config.out, format="pytorch")
