"""Fine-tune a model on questions with gold answers: what `python -m distill.finetune` does."""

from dataclasses import replace
from pathlib import Path

from safetensors.torch import load_file

from distill.adapter import untrained
from distill.data import load_splits, training_windows
from distill.making import Making, Start, is_first_process, summary, usual_rate
from distill.options import FinetuneOptions
from distill.run_inputs import encoder_reference
from distill.student import (
    disable_dropout,
    set_attention_dropout,
    standalone_student,
    student_from_layers,
)
from distill.training.objectives import supervised
from distill.training.trainer import Trainer
from qa.base.cli import check_exclusive, check_option
from qa.base.errors import OptionError
from qa.base.next_step import say_next
from qa.bundles.bundle import MANIFEST, Bundle, open_adapter
from qa.bundles.hf_import import open_model, output_beside
from qa.bundles.manifest import Made
from qa.bundles.next_export import can_be_pruned, say_next_export
from qa.bundles.trained_on import TrainedOn
from qa.data.origins import MINILM
from qa.formats.registry import ADAPTER
from qa.models.heads import DEFAULT_HEAD
from qa.models.model import QAModel
from qa.models.pretrained import checkpoint_folder, find_encoder, head_labels, load_encoder
from qa.text.settings import QASettings
from qa.text.tokenization import load_encoder_tokenizer


def finetune(options: FinetuneOptions) -> Bundle:
    """Fine-tune, print a line about the result and return its bundle."""
    making = Making.open("finetune", options, options.out, model=options.model, adapter=options.adapter)
    bundle = making.done or finetuned(options, making)
    if is_first_process():
        print(summary(bundle), flush=True)
        if can_be_pruned(bundle):
            out = output_beside(bundle.path, "distilled")
            eval_data = () if options.eval_data is None else ("--eval-data", options.eval_data)
            more = (*eval_data, *usual_rate(bundle))
            say_next("distill", "--teacher", bundle.path, "--data", options.data, *more, "--out", out)
        else:
            say_next_export(bundle, eval_data=options.eval_data)
    return bundle


def finetuned(options: FinetuneOptions, making: Making) -> Bundle:
    """Fine-tune and save."""
    start = starting_point(options)
    splits = load_splits(options.data, options.eval_data, start.parent)
    windows = training_windows(splits, load_encoder_tokenizer(start.tokenizer), start.settings)
    depends_on = {
        "start": start.sha256,
        "data": splits.train_data.sha256,
        "dropout": options.dropout,
        "head": options.head,
    }
    trainer = Trainer(
        start.model,
        windows,
        supervised,
        options.training(),
        making.work,
        options.out.name,
        depends_on,
        adapter=start.adapter,
    )
    trainer.train(options.resume)
    return making.save(start, splits, start.made, trainer)


def starting_point(options: FinetuneOptions) -> Start:
    """Return the model to start from, with windows that it has positions for.

    OptionError, BundleError or DownloadError without one.
    """
    start = adapter_start(options) if options.adapter else bundle_start(options) or encoder_start(options)
    model = start.model
    if options.layers is not None:
        n_layers = len(model.encoder.layers)
        if not n_layers:
            raise OptionError(f"--layers: {options.model} is a {model.head_name} model, without layers")
        check_option(
            options.layers <= n_layers, "--layers", options.layers, f"at most the {n_layers} of --model"
        )
        model = student_from_layers(model, options.layers, seed=options.seed)
    if options.head is not None and options.standalone:
        model = standalone_student(options.head, model, load_encoder_tokenizer(start.tokenizer), options.seed)
    # It needs (B, heads, T, T) arrays, which cost a quarter of the speed (docs/results/training.md). What it
    # is worth in F1 was not measured.
    set_attention_dropout(model, 0.0)
    if not options.dropout:
        disable_dropout(model)
    model.check_windows(start.settings)
    return replace(start, model=model)


def encoder_start(options: FinetuneOptions) -> Start:
    """Return the encoder of the options under a fresh head."""
    head = DEFAULT_HEAD if options.head is None or options.standalone else options.head
    settings = options.window_settings(QASettings())
    return fresh_start(options.model, head, options.activation, settings, options.seed)


def fresh_start(name: str, head: str, activation: str, settings: QASettings, seed: int) -> Start:
    """Return an encoder under a fresh head."""
    folder = find_encoder(name)
    model = QAModel(load_encoder(name, folder), head, activation, seed)
    encoder = encoder_reference(name, folder)
    before = TrainedOn.read(folder) if answers_already(name) else None  # a checkpoint has no record
    return Start(model, folder, settings, None, encoder.all_files, Made(encoder=encoder), trained_on=before)


def answers_already(name: str) -> bool:
    """Test if a bundle or checkpoint has a question-answering head."""
    if name == MINILM:
        return False
    return (Path(name) / MANIFEST).is_file() or head_labels(checkpoint_folder(name)) is not None


def bundle_start(options: FinetuneOptions) -> Start | None:
    """Return a model that answers already, with a fresh head if one is named; None for an encoder."""
    if not answers_already(options.model):
        return None
    parent = open_model(options.model, format="pytorch")
    check_exclusive(
        options.head is None and options.activation != FinetuneOptions.activation,
        "--activation",
        f"--model {options.model}, which keeps its head; give --head",
    )
    model = QAModel.from_pretrained(parent.path)
    settings = options.window_settings(parent.settings)
    if options.head is not None:
        parent = replace(parent, settings=settings)  # its thresholds suit its own head
        if not options.standalone:
            model = QAModel(model.encoder, options.head, options.activation, options.seed)
    return Start(model, parent.path, settings, parent, parent.sha256)


def adapter_start(options: FinetuneOptions) -> Start:
    """Return an encoder and the adapter that training goes on with."""
    assert options.adapter is not None
    parent = open_adapter(options.adapter)
    adapter = load_file(parent.path / ADAPTER)
    rank = next(len(tensor) for name, tensor in adapter.items() if name.endswith(".down"))
    check_option(
        options.lora_rank == rank, "--lora-rank", options.lora_rank, f"{rank}, the rank of --adapter"
    )
    model = untrained(parent, options.model, "--model")
    settings = options.window_settings(parent.settings)
    encoder = encoder_reference(options.model, find_encoder(options.model))
    return Start(model, parent.path, settings, parent, parent.sha256, Made(encoder=encoder), adapter)
