"""What a comparison compares: bundles, and what other tools made of one, with the columns that are their own."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.command_line import note
from benchmarks.rows import Row
from benchmarks.timing.workers import Servable, Server
from qa.bundle import MANIFEST, Bundle, open_bundle
from qa.checkpoints import open_model
from qa.cli import one_line
from qa.errors import BundleError, OptionError

DEMO = Path("runs/demo")


@dataclass
class Subject:
    """One bundle of a comparison with all that is known of it so far, by the names of the row's columns.

    Of a peer it is the bundle that the other tool started from; `server` has what is measured.
    """

    bundle: Bundle
    facts: Row
    error: str | None = None
    server: Servable | None = None

    @property
    def sha256(self) -> str:
        """Hash of what is measured."""
        return str(self.facts["bundle_sha256"])

    @property
    def served(self) -> Servable:
        """What a measuring process loads."""
        return self.server or Server("benchmarks.timing.bundle_adapter", self.bundle.path)


def bundle_columns(bundle: Bundle) -> Row:
    """The columns that are a bundle's own, but for its name in a table."""
    parameters = bundle.manifest["parameters"]
    return {
        "bundle_sha256": bundle.sha256, "parent_sha256": (bundle.manifest.get("parent") or {}).get("sha256"),
        "stage": bundle.stage, "precision": bundle.precision,
        "params": parameters["total"], "params_without_embeddings": parameters["without_embeddings"],
        "size_bytes": bundle.weights.stat().st_size, "null_threshold": bundle.settings.null_threshold,
    }  # fmt: skip


def sha256_of(*facts: object) -> str:
    """One hash that stands for what is measured where a bundle's own hash does not say it all."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def find_bundles(named: Sequence[Path], also: Sequence[Path] = ()) -> list[Bundle]:
    """Open the bundles or checkpoints named, or all of the demo, and `also` others. A named one that is none raises BundleError.

    Each is taken once.
    """
    found = [open_model(path) for path in (*also, *named)]
    for path in () if named else sorted(DEMO.glob(f"*/{MANIFEST}"), key=lambda path: path.stat().st_mtime_ns):
        try:
            found.append(open_bundle(path.parent))
        except BundleError as error:
            note(f"skipped: {one_line(error)}")
    if not found:
        raise BundleError(f"{DEMO}: holds no finished bundle to compare; run make demo, or name bundles")
    return list({bundle.sha256: bundle for bundle in reversed(found)}.values())[::-1]


def display_names(paths: Sequence[Path]) -> list[str]:
    """Folder names, each with as many of its parents as it takes to tell it from the others."""
    parts = [path.resolve().parts for path in paths]
    names = [own[-1] for own in parts]
    for depth in range(2, max((len(own) for own in parts), default=0) + 1):
        names = ["/".join(own[-depth:]) if names.count(name) > 1 else name for own, name in zip(parts, names, strict=True)]
    return names


def find_subjects(named: Sequence[Path], also: Sequence[Path], command: str) -> list[Subject]:
    """The bundles of `find_bundles` with what is known of each; `command` is what repeats the comparison."""
    bundles = find_bundles(named, also)
    for bundle in bundles:
        try:
            str(bundle.path.resolve()).encode()
        except UnicodeEncodeError:
            raise BundleError(f"{str(bundle.path)!r}: this name is no UTF-8, as rows have to be; rename the folder") from None
    shared = {"command": command, "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
    subjects = []
    for bundle, name in zip(bundles, display_names([bundle.path for bundle in bundles]), strict=True):
        subjects.append(Subject(bundle, {"model": name} | bundle_columns(bundle) | shared))
    return subjects


def choose_baseline(subjects: Sequence[Subject], named: Path | None) -> Subject | None:
    """The subject of --baseline, else the only teacher, else None. OptionError when there are several teachers."""
    if named is not None:
        wanted = named.resolve()
        same = [s for s in subjects if s.bundle.path.resolve() == wanted]
        return same[0] if same else next(s for s in subjects if s.bundle.sha256 == open_model(named).sha256)
    teachers = [s for s in subjects if s.bundle.is_teacher]
    if len(teachers) > 1:
        names = ", ".join(s.facts["model"] for s in teachers)
        raise OptionError(f"several teachers to compare with ({names}); choose one with --baseline BUNDLE")
    return teachers[0] if teachers else None


def n_ancestors(subject: Subject, subjects: Sequence[Subject]) -> int:
    """How many of the subjects this one was made from, directly or not."""
    parent = subject.facts.get("parent_sha256")
    found = [other for other in subjects if other.sha256 == parent]
    return 1 + n_ancestors(found[0], subjects) if found else 0
