"""Sorting of results into groups and entries."""

from collections.abc import Sequence

from benchmarks.results.rows import CPU, PHONE, AnyResult, TrainingSpeed
from benchmarks.show.groups import Entry, Group, Measured
from qa.formats.precision import PRECISIONS


def collect(results: Sequence[AnyResult], order: Sequence[str] = ()) -> list[Group]:
    """Sort results into groups and entries: this machine, other targets, phones.

    Speeds of training are left out. Entries stand in families: a PyTorch bundle, its exports, and what other
    toolchains made of it. The baseline's family comes first and each behind that of its parent. Otherwise the
    bundle hashes in `order` decide, then the first appearance. A failure before a target named its
    machine is left out once a later run of the same file, or of that name, there has succeeded.
    """
    groups: dict[object, Group] = {}
    for i, result in enumerate(results):
        if isinstance(result, TrainingSpeed):
            continue
        place = _place(result)
        if result.machine.name == result.target and any(
            later.machine.name != later.target
            and _place(later) == place
            and (later.subject == result.subject or later.model == result.model)
            for later in results[i + 1 :]
        ):
            continue
        group = groups.setdefault((place, result.machine), Group(result.target, str(result.machine)))
        group.results.append(result)
        if result.data is not None and isinstance(result, Measured):
            _add(group, result)
    collected = sorted(groups.values(), key=lambda group: (group.on_phone, group.target != CPU))
    for group in collected:
        group.collected = collected
        _sort(group, order)
    return collected


def _place(result: AnyResult) -> tuple[str, str | None]:
    """Return the target and the hash of the data."""
    return result.target, result.data.sha256 if result.data is not None else None


def _add(group: Group, result: Measured) -> None:
    """Add a result to the entry of its file, else to that of its name, else to a new one.

    The file decides first: a model that shares its folder's name with another is named after its parent.
    """
    entries = group.entries
    of_file = next((e for e in entries if not e.is_changed_by(result)), None)
    entry = of_file or next((e for e in entries if e.model == result.model), None)
    if entry is None:
        entry = Entry(group)
        entries.append(entry)
    entry.add(result)
    entries[:] = [e for e in entries if e is entry or e.model != result.model]


def newest_order(results: Sequence[AnyResult]) -> list[str]:
    """Return the bundle hashes in the order of the newest comparison; logs of phones are no comparison."""
    return list(dict.fromkeys(r.bundle_sha256 for r in reversed(results) if r.target != PHONE))[::-1]


def _sort(group: Group, order: Sequence[str]) -> None:
    """Sort the families by ancestors and `order`; in each the bundle, exports by runtime, then toolchains."""
    parents = {e.newest.bundle_sha256: e.newest.parent_sha256 for e in group.entries if not e.is_toolchain}
    precisions = list(PRECISIONS)

    def place(entry: Entry) -> tuple[bool, int, int]:
        ancestors = set[str]()
        sha256 = entry.newest.parent_sha256
        while sha256 is not None and sha256 not in ancestors:
            ancestors.add(sha256)
            sha256 = parents.get(sha256)
        return not entry.is_baseline, len(ancestors), _rank(order, entry.newest.bundle_sha256)

    def family(entry: Entry) -> str:
        made_from = entry.newest.parent_sha256 if entry.is_toolchain or entry.is_export else None
        return made_from or entry.newest.bundle_sha256

    def place_in_family(entry: Entry) -> tuple[int, int, str, int]:
        position = families.index(family(entry))
        if not entry.is_export:
            return position, 2 if entry.is_toolchain else 0, "", 0
        runtime = entry.newest.runtime
        return position, 1, runtime.package if runtime else "", _rank(precisions, entry.newest.precision)

    entries = sorted(group.entries, key=place)
    families = list(dict.fromkeys(map(family, entries)))
    group.entries = sorted(entries, key=place_in_family)


def _rank(order: Sequence[str], name: str) -> int:
    """Return the place of a name in an order, behind all where it is not in it."""
    return order.index(name) if name in order else len(order)
