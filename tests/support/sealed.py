"""Bundles of a few bytes, with any facts in their manifests."""

import msgspec

from qa.bundles.bundle import SETTINGS, new_bundle
from qa.bundles.manifest import StageRecord
from qa.formats.registry import FORMATS
from qa.text.settings import QASettings

FACTS = {
    "kind": "pytorch",
    "precision": "fp32",
    "stage": "finetune",
    "parameters": {"total": 7, "without_embeddings": 7},
}
RECORD = msgspec.convert(FACTS, StageRecord)


def seal(path, settings=None, weights=b"weights", files=None, **facts):
    """Write a bundle with these files, {name: text}, beside its settings and weights."""
    record = msgspec.convert(FACTS | facts, StageRecord)
    with new_bundle(path, record) as draft:
        (draft.path / FORMATS[record.format].weights).write_bytes(weights)
        (settings or QASettings()).save(draft.path / SETTINGS)
        for name, text in (files or {}).items():
            (draft.path / name).write_text(text, encoding="utf-8")
    return draft.bundle
