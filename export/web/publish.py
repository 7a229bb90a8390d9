"""Publish the page that answers in the browser: what `python -m export.web` does."""

import base64
import hashlib
import json
import shlex
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from export.options import WebOptions, window_lengths
from qa.base.errors import OptionError
from qa.base.files import file_sha256
from qa.bundles.bundle import open_bundle
from qa.runtime.package import read_package

FOLDER = Path(__file__).parent
PAGE = FOLDER / "page"
NPM = FOLDER / "node_modules"
MODEL = "model.tflite"
CARD = "model.txt"  # some hosts turn .md into a page of theirs
HOME = "./"
PUBLISHED = "published.js"
UNLISTED = ("index.html", "service-worker.js")  # the first is "./", the browser itself keeps the second
# The build with threads is left out: on one machine it computed int8 models wrongly.
BUILDS = ("litert_wasm_internal", "litert_wasm_compat_internal")
PDF_SCRIPTS = ("pdf.min.mjs", "pdf.worker.min.mjs")
WHEN_NEEDED = (MODEL, "litert/wasm/", "pdfjs/")  # the service worker keeps these once they were loaded


def sources(model: Path, card: Path) -> dict[str, Path]:
    """Return the files of the page by their published names."""
    files = {path.name: path for path in sorted(PAGE.iterdir())}
    litert = NPM / "@litertjs"
    pdfjs = NPM / "pdfjs-dist"
    files |= {
        "litert/index.js": litert / "core" / "dist" / "index.js",
        "litert/wasm-utils.js": litert / "wasm-utils" / "dist" / "index.js",
    }
    for build in BUILDS:
        for suffix in ("js", "wasm"):
            files[f"litert/wasm/{build}.{suffix}"] = litert / "core" / "wasm" / f"{build}.{suffix}"
    for script in PDF_SCRIPTS:
        files[f"pdfjs/{script}"] = pdfjs / "legacy" / "build" / script
    files |= {f"pdfjs/cmaps/{path.name}": path for path in sorted((pdfjs / "cmaps").glob("*"))}
    return {**files, MODEL: model, **({CARD: card} if card.exists() else {})}


def version_of(files: dict[str, Path]) -> str:
    """Return the version of a page: a hash of the names and contents of its files."""
    hashes = {name: file_sha256(path) for name, path in sorted(files.items())}
    return hashlib.sha256(json.dumps(hashes).encode()).hexdigest()[:16]


def list_files(files: dict[str, Path]) -> str:
    """Return the script that tells the service worker its version, and small and large files with hashes."""
    hashes = {HOME: integrity(files["index.html"])}
    hashes |= {name: integrity(path) for name, path in files.items() if name not in UNLISTED}
    large = {name: value for name, value in hashes.items() if name.startswith(WHEN_NEEDED)}
    small = {name: value for name, value in hashes.items() if name not in large}
    listed = {"version": version_of(files), "small": small, "large": large}
    return f"self.PUBLISHED = {json.dumps(listed, indent=1)};\n"


def integrity(path: Path) -> str:
    """Return the hash of a file as browsers check it (Subresource Integrity)."""
    return f"sha256-{base64.b64encode(bytes.fromhex(file_sha256(path))).decode()}"


def check_as_published(out: Path) -> None:
    """Raise OptionError unless a folder holds a page as it was published, and nothing else."""
    if not (out / PUBLISHED).is_file():
        raise OptionError(f"--out {out}: exists and is not a published page; give another folder")
    script = (out / PUBLISHED).read_text(encoding="utf-8")
    paths = [path for path in out.rglob("*") if path.is_symlink() or not path.is_dir()]
    files = {path.relative_to(out).as_posix(): path for path in paths if path != out / PUBLISHED}
    added = [name for name in files if json.dumps(name) not in script and name not in UNLISTED]
    if added:
        raise OptionError(
            f"--out {out}: {min(added)} is not part of the page; move it, or give another folder"
        )
    if version_of(files) not in script:
        raise OptionError(
            f"--out {out}: was changed since it was published; remove it, or give another folder"
        )


def publish(options: WebOptions) -> Path:
    """Write the folder and print how to look at it.

    Raises OptionError when npm's packages are missing, or when the folder holds more than a published page.
    """
    out = options.out
    bundle = open_bundle(options.model, format="tflite")
    package = read_package(bundle.weights)
    if any(signature.get("any_length") for signature in package.info["signatures"]):
        raise OptionError(
            f"--model {options.model}: takes windows of any length, and LiteRT.js cannot resize; "
            f"export it with --lengths {' '.join(map(str, window_lengths(None, package.settings)))}"
        )
    files = sources(bundle.weights, bundle.path / "README.md")
    missing = [path for path in files.values() if not path.exists()]
    if missing:
        raise OptionError(f"{missing[0]} is missing; run npm ci --ignore-scripts in {FOLDER}")
    if out.exists():
        check_as_published(out)
    folder = out.resolve()  # a link to it stays
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as work:
        draft = Path(work, "page")
        for name, path in files.items():
            target = draft / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        (draft / PUBLISHED).write_text(list_files(files), encoding="utf-8")
        before = Path(work, "before")
        if folder.exists():
            folder.rename(before)
        try:
            draft.rename(folder)
        except BaseException:
            if before.exists():
                before.rename(folder)
            raise
    size = sum(path.stat().st_size for path in files.values())
    print(f"{out}: {len(files) + 1} files, {size / 1e6:.1f} MB")
    print("serve it from any static host over https, or on this machine")
    command = (sys.orig_argv[0], "-m", "http.server", "--bind", "127.0.0.1", "--directory", str(out), "8000")
    print(f"next: {shlex.join(command)}")
    return out
