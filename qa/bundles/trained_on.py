"""Passages that a model was trained on, to find the train-test overlap of its scores.

A bundle keeps hashes of them in trained_on.json.gz. They are those of its own training, and those of the
bundles it was made from. Those of its teachers count too: they pass on what they learnt.
"""

import gzip
import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Annotated

import msgspec

from qa.base.errors import BundleError, SquadFormatError
from qa.bundles.bundle import TRAINED_ON, Bundle
from qa.bundles.manifest import Ancestor, StageRecord
from qa.data.squad import Example, unpacked

HASH_BYTES = 5  # by chance, a passage is among the 19,000 of SQuAD once in 58 million times


class _Stored(msgspec.Struct, forbid_unknown_fields=True):
    whole: bool
    gaps: list[Annotated[int, msgspec.Meta(ge=0)]]
    """Sorted hashes, each less the one before: gzip packs those of SQuAD in 4.4 bytes each."""


class TrainedOn(msgspec.Struct, frozen=True):
    """Hashes of the passages that a model was trained on."""

    passages: frozenset[int] = frozenset()
    is_whole: bool = False
    """False where a model that it was made from, or a teacher, has no record."""

    @classmethod
    def of(cls, examples: Iterable[Example]) -> "TrainedOn":
        """Return the record of a training on these questions."""
        return cls(frozenset(map(passage_hash, {e.context for e in examples})), is_whole=True)

    @classmethod
    def read(cls, folder: Path) -> "TrainedOn":
        """Read the record of a bundle; an empty one that is not whole where there is none."""
        path = folder / TRAINED_ON
        if not path.is_file():
            return cls()
        try:
            stored = msgspec.json.decode(unpacked(path), type=_Stored)
        except (ValueError, SquadFormatError) as error:
            raise BundleError(f"{path}: not a record of training ({error}); make the bundle again") from None
        return cls(frozenset(accumulate(stored.gaps)), stored.whole)

    def __or__(self, other: "TrainedOn") -> "TrainedOn":
        return TrainedOn(self.passages | other.passages, self.is_whole and other.is_whole)

    def with_bundles(self, *bundles: Bundle | None) -> "TrainedOn":
        """Return the union with the records of bundles that a stage read."""
        record = self
        for bundle in filter(None, bundles):
            record |= TrainedOn.read(bundle.path)
        return record

    def write(self, folder: Path) -> None:
        """Write the record into the folder of a new bundle; no file where nothing is known."""
        if self.passages or self.is_whole:
            gaps = [after - before for before, after in pairwise([0, *sorted(self.passages)])]
            raw = msgspec.json.encode(_Stored(self.is_whole, gaps))
            (folder / TRAINED_ON).write_bytes(gzip.compress(raw, mtime=0))

    def overlap(self, examples: Sequence[Example]) -> float | None:
        """Return the share (0 to 1) of questions about passages trained on.

        None where there are none and the record is not whole.
        """
        contexts = {e.context for e in examples}
        common = {context for context in contexts if passage_hash(context) in self.passages}
        share = sum(e.context in common for e in examples) / len(examples)
        return share if share or self.is_whole else None


def passage_hash(context: str) -> int:
    """Return the hash of a passage's words, whatever their case, punctuation and white space."""
    words = re.findall(r"\w+", unicodedata.normalize("NFKC", context).casefold())
    return int.from_bytes(hashlib.blake2b(" ".join(words).encode(), digest_size=HASH_BYTES).digest())


def train_overlap(
    folder: Path, made: StageRecord, data_sha256: str, examples: Sequence[Example]
) -> float | None:
    """Return the share (0 to 1) of questions about passages that a model was trained on; None if unknown.

    `made` is what its manifest says. Bundles older than the record keep only hashes of their training files,
    so only an equal file is found.
    """
    record = TrainedOn.read(folder)
    if not record.is_whole and data_sha256 in _training_files([made, *made.ancestors]):
        return 1.0
    return record.overlap(examples)


def _training_files(stages: Iterable[StageRecord | Ancestor]) -> Iterator[str]:
    for stage in stages:
        if stage.training_data:
            yield stage.training_data.sha256
        if stage.teacher:
            yield from _training_files(stage.teacher.lineage)
