"""Save a model made of a bundle without training: same tokenizer and held-out questions, its own no-answer
threshold."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from qa.bundles.bundle import SETTINGS, Bundle, new_bundle
from qa.bundles.hf_import import say_that_it_always_answers
from qa.evaluation.scores import EvalData, scores_of
from qa.evaluation.threshold import copy_held_out, tune_for_bundle
from qa.models.model import QAModel
from qa.models.pretrained import copy_tokenizer
from qa.runtime.runtimes import load_runtime


def derive(
    model: QAModel,
    out: Path,
    parent: Bundle,
    facts: dict[str, Any],
    columns: Mapping[str, Tensor] | None = None,
    eval_data: EvalData | None = None,
) -> Bundle:
    """Save the model as the bundle `out`; `facts` for the manifest hold at least precision and stage.

    `columns` are factors of matrices whose integers are to be kept (qa.models.storage). It is scored on
    `eval_data`.
    """
    facts = {"kind": "pytorch", "parent": parent.reference(), "ancestors": parent.lineage(), **facts}
    with new_bundle(out, facts) as draft:
        model.save_pretrained(draft.path, facts["precision"], columns)
        copy_tokenizer(parent.path, draft.path, parent.settings.max_length, model.encoder.architecture.inputs)
        copy_held_out(parent.path, draft.path)
        runtime = load_runtime(draft.model(parent.settings))
        settings, tuning = tune_for_bundle(runtime, parent.tokenizer, parent.settings, draft.path)
        say_that_it_always_answers(settings, parent.manifest)
        draft.record(tuning=tuning)
        settings.save(draft.path / SETTINGS)
        if eval_data is not None:
            draft.record(scores=scores_of(runtime, draft.model(settings), eval_data))
    return draft.bundle
