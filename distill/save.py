"""Save a model as a bundle: with a threshold tuned for it, and scores."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec
from torch import Tensor

from qa.bundles.bundle import SETTINGS, Bundle, new_bundle
from qa.bundles.hf_import import say_that_it_always_answers
from qa.bundles.manifest import StageRecord
from qa.bundles.trained_on import TrainedOn
from qa.evaluation.scores import EvalData, scores_of
from qa.evaluation.threshold import copy_held_out, read_held_out, too_few, tune
from qa.models.model import QAModel
from qa.models.pretrained import copy_tokenizer
from qa.runtime.runtimes import load_runtime
from qa.text.settings import QASettings


def save_bundle(
    model: QAModel,
    out: Path,
    record: StageRecord,
    *,
    tokenizer: Path,
    settings: QASettings,
    trained_on: TrainedOn,
    add_files: Callable[[Path], None],
    columns: Mapping[str, Tensor] | None = None,
    eval_data: EvalData | None = None,
) -> Bundle:
    """Save the model as the bundle `out`, with what the stage records.

    `tokenizer` is the folder of the tokenizer. `add_files` writes held-out questions, if there are any, and
    other files into the folder. `columns` are factors of matrices whose integers are to be kept
    (qa.models.storage). The model is scored on `eval_data`. Its settings are tuned unless the record has a
    tuning.
    """
    with new_bundle(out, record) as draft:
        model.save_pretrained(draft.path, record.precision, columns)
        copy_tokenizer(tokenizer, draft.path, settings.max_length, model.encoder.inputs)
        trained_on.write(draft.path)
        add_files(draft.path)
        untuned = draft.model(settings)
        runtime = load_runtime(untuned)
        if record.tuning is None:
            settings, tuning = tune(runtime, untuned.tokenizer, settings, read_held_out(draft.path))
            draft.record(tuning=tuning)
        settings.save(draft.path / SETTINGS)
        if eval_data is not None:
            draft.record(scores=scores_of(runtime, draft, settings, eval_data))
    say_that_it_always_answers(settings, draft.bundle.manifest)
    return draft.bundle


def derive(
    model: QAModel,
    out: Path,
    parent: Bundle,
    record: StageRecord,
    columns: Mapping[str, Tensor] | None = None,
    eval_data: EvalData | None = None,
    averaged: Sequence[Bundle] = (),
) -> Bundle:
    """Save a model made of `parent` without training: with its tokenizer and held-out questions.

    Its ancestors are those of the record, or the parent's. `averaged` are the models it is the mean of, which
    is tuned on what the parent holds out, if that is enough.
    """
    tuning = parent.lasting_tuning
    if averaged:
        tuning = parent.inherited_tuning if too_few(read_held_out(parent.path)) else None
    return save_bundle(
        model,
        out,
        msgspec.structs.replace(
            record,
            parent=parent.reference(),
            ancestors=record.ancestors or parent.lineage(),
            tuning=tuning,
        ),
        tokenizer=parent.path,
        settings=parent.settings,
        trained_on=TrainedOn.read(parent.path).with_bundles(*averaged),
        add_files=partial(copy_held_out, parent.path),
        columns=columns,
        eval_data=eval_data,
    )
