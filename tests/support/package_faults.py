"""Packaged files with faults: mutated JSON, vocabularies and zips, and what readers say of them."""

import copy
import gzip
import hashlib
import json
import random
import struct
import subprocess
import zipfile

from places import GOLDEN

from export.android.core_process import compiled_core
from export.android.package import MEMBERS, read_package
from qa.base.errors import BundleError
from qa.runtime.probe import write_probe

VERDICTS = GOLDEN / "android/package_verdicts.json.gz"
MODEL = b"\0\0\0\0TFL3" + bytes(range(100))
SEAL = {"bytes": len(MODEL), "sha256": hashlib.sha256(MODEL).hexdigest()}
RECORDED = {name: (GOLDEN / "android/package" / name).read_bytes() for name in MEMBERS}
RECORDED["qa.json"] = json.dumps(json.loads(RECORDED["qa.json"]) | {"model": SEAL}).encode()
ODD = [None, True, False, 0, -1, 1, 2**31, 2**53, 1e300, -0.0, 0.5, "", "x", "0", [], {}, [1], [[]], "\ud800"]
ODD += ["é" * 300, "a\nb", "\u202e", float("inf"), float("nan"), -5, 384, 385, 30522, 1e39, "int8", "fp32"]


def with_value(member, value):
    """The recorded members, one of them with another JSON value."""
    return RECORDED | {member: json.dumps(value).encode()}


def packaged(path, members, method=zipfile.ZIP_STORED):
    """Write a file of MODEL and members."""
    path.write_bytes(MODEL)
    with zipfile.ZipFile(path, "a", method, compresslevel=1) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def rewritten(source, out, changes):
    """Write a packaged file with other members; None leaves a member out."""
    with zipfile.ZipFile(source) as archive:
        members = {name: archive.read(name) for name in archive.namelist()} | changes
    out.write_bytes(source.read_bytes()[: read_package(source).info["model"]["bytes"]])
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            if content is not None:
                archive.writestr(name, content)
    return out


def with_info(source, out, **values):
    """Write a packaged file with other values in its qa.json."""
    return rewritten(source, out, {"qa.json": json.dumps(read_package(source).info | values)})


def with_settings(source, out, changes, drop=()):
    """Write a packaged file with other settings, without those in `drop`."""
    settings = read_package(source).info["settings"]
    kept = {key: value for key, value in settings.items() if key not in drop}
    return with_info(source, out, settings=kept | changes)


def faulty_copies(source, folder):
    """Write copies of a packaged file with several signatures that every reader refuses; return their paths."""
    whole = source.read_bytes()
    package = read_package(source)
    size = package.info["model"]["bytes"]

    def flipped(at):
        return whole[:at] + bytes([whole[at] ^ 0x40]) + whole[at + 1 :]

    contents = {
        "note": b"This is a note.\n" * 20,
        "empty": b"",
        "half": whole[: len(whole) // 2],
        "cut": whole[:-2000],
        "no-directory": whole[:-30],
        "bare": whole[:size],
        "weight": flipped(200_000),
        "zip": flipped(size + 200),
        "vocabulary": flipped((size + len(whole)) // 2),
    }
    members = {
        **{f"no-{name}": {name: None} for name in ("vocab.txt", "characters.json", "probe.json")},
        "unprobed": {"probe.json": write_probe(package.probe.windows[:1])},
        "short": {"vocab.txt": "[PAD]\n[UNK]\n"},
        "format": {"qa.json": json.dumps(package.info | {"format": 1}), "characters.json": None},
        "settings": {"qa.json": json.dumps(package.info | {"settings": {"n_best": "x"}})},
    }
    for name, content in contents.items():
        (folder / f"faulty-{name}.tflite").write_bytes(content)
    for name, changes in members.items():
        rewritten(source, folder / f"faulty-{name}.tflite", changes)
    return sorted(folder.glob("faulty-*.tflite"))


def changed(value, path, new=None, *, remove=False):
    """A copy of a JSON value with the place at `path` replaced or removed."""
    value = copy.deepcopy(value)
    place = value
    for key in path[:-1]:
        place = place[key]
    if remove:
        place.pop(path[-1], None)
    else:
        place[path[-1]] = new
    return value


def is_accepted(path):
    """Return whether Python reads a file; any other error than BundleError is a fault."""
    try:
        read_package(path)
    except BundleError:
        return False
    return True


def places(value, path=()):
    """Return all places of a JSON value; only the first six items of long lists."""
    if path:
        yield path
    items = (
        value.items() if isinstance(value, dict) else enumerate(value[:6]) if isinstance(value, list) else ()
    )
    for key, item in items:
        yield from places(item, (*path, key))


def mutated(rng, value):
    """A JSON value with one or two odd changes, and the places of them."""
    at = []
    for _ in range(rng.choice([1, 1, 1, 2])):
        path = rng.choice(list(places(value)))
        place = value
        for key in path[:-1]:
            place = place[key]
        old = place[path[-1]]
        action = rng.random()
        if action < 0.3 and isinstance(place, list):
            place.insert(path[-1], copy.deepcopy(old))
            new = old
        elif action < 0.2:
            value = changed(value, path, remove=True)
            new = "removed"
        else:
            number = isinstance(old, int | float) and not isinstance(old, bool)
            new = old + rng.choice([-1, 1, 0.5, 1000, -1000]) if action < 0.5 and number else rng.choice(ODD)
            value = changed(value, path, copy.deepcopy(new))
        at.append(f"{path}: {ascii(new)[:40]}")
        if not list(places(value)):
            break
    return value, "; ".join(at)


def mutated_vocabulary(rng):
    """The vocabulary with another line, and what was done."""
    lines = RECORDED["vocab.txt"].decode().split("\n")
    i = rng.randrange(200, len(lines) - 1)
    what = rng.choice(
        ["double", "drop", "carriage return", "empty", "no last line end", "order", "space", "more"]
    )
    match what:
        case "double":
            lines[i] = lines[i - 1]
        case "drop":
            del lines[rng.choice([50, i])]
        case "carriage return":
            lines[i] += "\r"
        case "empty":
            lines[i] = ""
        case "no last line end":
            lines.pop()
        case "order":
            lines[101], lines[102] = lines[102], lines[101]
        case "space":
            lines[i] = " " + lines[i]
        case "more":
            lines.append("")
    return "\n".join(lines).encode(), what


def damaged(rng, data, what):
    """The bytes of a file with a fault, and where it is in the zip's headers."""
    data = bytearray(data)
    start = struct.unpack_from("<I", data, len(data) - 6)[0]
    match what:
        case "model":
            data[rng.randrange(len(MODEL))] ^= 1 << rng.randrange(8)
        case "zip":
            data[rng.randrange(len(MODEL), len(data))] ^= 1 << rng.randrange(8)
        case "comment":
            data[-2:] = struct.pack("<H", 5)
            data += b"hello"
        case "cut":
            del data[-rng.randint(1, 3000) :]
        case "more":
            data += bytes(rng.randint(1, 100))
        case "before":
            data[:0] = b"xx"
        case "headers":
            local = len(MODEL) + rng.randrange(37)  # with the name qa.json
            at, where = rng.choice(
                [(start + rng.randrange(len(data) - start), "directory"), (local, "local")]
            )
            data[at] ^= 1 << rng.randrange(8)
            what += f" {where} byte {at - (start if where == 'directory' else len(MODEL))}"
    return bytes(data), what


def mutated_files(folder, n=300, seed=3):
    """Write files with faults; return {path: what was done}.

    What a reader says of them depends on no version of zlib: each file has random numbers of its own, and
    the content of a member is damaged only where it is stored.
    """
    files = {}
    for number in range(n):
        rng = random.Random(f"{seed} {number}")
        path = folder / f"{number}.tflite"
        method = rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
        member = rng.choice(["qa.json"] * 5 + ["probe.json"] * 2 + ["characters.json", "vocab.txt", "", ""])
        if member == "":
            what = rng.choice(["model", "zip", "comment", "cut", "more", "before", *["headers"] * 6])
            packaged(path, RECORDED, zipfile.ZIP_STORED if what == "zip" else method)
            data, what = damaged(rng, path.read_bytes(), what)
            path.write_bytes(data)
        elif member == "vocab.txt":
            content, what = mutated_vocabulary(rng)
            packaged(path, RECORDED | {member: content}, method)
        else:
            value, what = mutated(rng, json.loads(RECORDED[member]))
            packaged(path, with_value(member, value), method)
        files[path] = f"{member} {what}"
    return files


def recorded_verdicts(files):
    """Return whether the app's core opened each of the mutated files when that was recorded."""
    rows = json.loads(gzip.decompress(VERDICTS.read_bytes()))
    assert [what for what, _ in rows] == list(files.values()), (
        "other files than those recorded; run tests/golden/record_package_verdicts.py"
    )
    return {path: opens for path, (_, opens) in zip(files, rows, strict=True)}


def differing(files, verdicts):
    """Return the mutated files of which a reader says something else than the core did."""
    return [
        f"{files[path]}: recorded {opens}, now {verdicts[path]}"
        for path, opens in recorded_verdicts(files).items()
        if opens != (verdicts[path] == "ok")
    ]


def core_verdicts(files):
    """Return the verdicts of the app's core."""
    checker = ["java", "-Xmx64m", "-cp", ".", "org.pocketqa.tools.PackageCheck"]
    return verdicts_of(checker, files, cwd=compiled_core().name)


def verdicts_of(command, files, **options):
    """Return a checker's verdict on each file: "ok", or why not. It reads paths from stdin."""
    done = subprocess.run(
        command, input="\n".join(map(str, files)), capture_output=True, text=True, check=True, **options
    )
    lines = done.stdout.splitlines()
    assert len(lines) == len(files), done.stderr[:500]
    return dict(zip(files, lines, strict=True))
