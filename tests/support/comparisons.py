"""Small data files, bundles under other names, and what runtimes compute, to compare."""

import json
import shutil
from dataclasses import replace

import msgspec
import numpy as np

from qa.bundles.bundle import MANIFEST, SETTINGS, new_bundle
from qa.bundles.manifest import StageRecord
from qa.data.squad import grouped, write_squad
from qa.evaluation.threshold import save_held_out
from qa.text.features import collate

# Shares of best spans for --min-equal-spans: a random model has near ties, which rounding changes.
UNTRAINED_SPANS = {"int8": 0.7, "int8-weights": 0.7, "int4": 0.3}


def question(qid, text, start):
    return {"id": qid, "question": "What or when?", "answers": [{"text": text, "answer_start": start}]}


def write_data(path, paragraphs):
    path.write_text(json.dumps({"version": "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]}))
    return path


def write_examples(path, examples):
    """Write a SQuAD file of examples; return its path."""
    write_squad(path, grouped(examples))
    return path


def record_of(bundle):
    """What the manifest of a copy of this bundle says, too."""
    manifest = bundle.manifest
    return StageRecord(
        format=manifest.format,
        precision=manifest.precision,
        stage=manifest.stage,
        parent=manifest.parent,
        parameters=manifest.parameters,
    )


def copied(bundle, out, model=None, held_out=(), normalizer=None, **settings):
    """Copy a bundle with other settings.

    With another model, held-out questions, and switches of the tokenizer's normalizer, if given.
    """
    with new_bundle(out, record_of(bundle)) as draft:
        for name in bundle.manifest.files:
            shutil.copy(bundle.path / name, draft.path)
        if model is not None:
            model.save_pretrained(draft.path)
        if normalizer is not None:
            tokenizer = json.loads((draft.path / "tokenizer.json").read_text(encoding="utf-8"))
            tokenizer["normalizer"] |= normalizer
            (draft.path / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
        save_held_out(held_out, draft.path)
        replace(bundle.settings, **settings).save(draft.path / SETTINGS)
    return draft.bundle


def rebundle(source, out, files=None, **manifest):
    """The same model under another name, with more files and other facts in its manifest."""
    old = json.loads((source / MANIFEST).read_text())
    kept = {key: old[key] for key in ("kind", "precision", "stage", "parent", "parameters") if key in old}
    with new_bundle(out, msgspec.convert(kept | manifest, StageRecord)) as draft:
        for name in old["files"]:
            shutil.copy(source / name, draft.path)
        for name, data in (files or {}).items():
            (draft.path / name).write_bytes(data)
    return out


def largest_difference(reference, runtime, windows, length=None):
    """Largest difference between two runtimes' logits of a batch; the second pads to `length` tokens."""
    inputs = collate(windows)
    mask = inputs["attention_mask"] == 1
    wanted, seen = reference(inputs), runtime(collate(windows, length))
    assert all(logits.shape == (len(windows), length or mask.shape[1]) for logits in seen)
    assert all(logits.dtype == np.float32 for logits in seen)
    return max(np.abs(a - b[:, : mask.shape[1]])[mask].max() for a, b in zip(wanted, seen, strict=True))
