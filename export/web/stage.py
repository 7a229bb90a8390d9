"""Options and steps of `python -m export.web`."""

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from export.android.package import read_package
from qa.base.errors import OptionError
from qa.base.files import file_sha256
from qa.bundles.bundle import open_bundle

FOLDER = Path(__file__).parent
PAGE = FOLDER / "page"
NPM = FOLDER / "node_modules" / "@litertjs"
MODEL = "model.tflite"
CARD = "model.md"
HOME = "./"
PUBLISHED = "published.js"
# The build with threads is left out: on one machine it computed int8 models wrongly.
BUILDS = ("litert_wasm_internal", "litert_wasm_compat_internal")


@dataclass(frozen=True)
class WebConfig:
    """Publish a page that answers in the browser."""

    model: Path
    """TFLite bundle that the page opens by itself."""
    out: Path
    """Folder to create. An earlier page there is replaced, any other folder refused."""


def sources(model: Path, card: Path) -> dict[str, Path]:
    """Return the files of the page by their published names."""
    files = {path.name: path for path in sorted(PAGE.iterdir())}
    files |= {
        "litert/index.js": NPM / "core" / "dist" / "index.js",
        "litert/wasm-utils.js": NPM / "wasm-utils" / "dist" / "index.js",
    }
    for build in BUILDS:
        for suffix in ("js", "wasm"):
            files[f"litert/wasm/{build}.{suffix}"] = NPM / "core" / "wasm" / f"{build}.{suffix}"
    return {**files, MODEL: model, **({CARD: card} if card.exists() else {})}


def list_files(files: dict[str, Path]) -> str:
    """Return the script that tells the service worker what there is: its version, small and large files."""
    hashes = {name: file_sha256(path) for name, path in sorted(files.items())}
    version = hashlib.sha256(json.dumps(hashes).encode()).hexdigest()[:16]
    large = [name for name in files if name == MODEL or name.startswith("litert/wasm/")]
    small = [HOME, *(name for name in files if name not in (*large, "index.html", "service-worker.js"))]
    listed = {"version": version, "small": small, "large": large}
    return f"self.PUBLISHED = {json.dumps(listed, indent=1)};\n"


def main(config: WebConfig) -> Path:
    """Write the folder and print how to look at it.

    Raises OptionError when LiteRT.js is not installed or the folder is another one's.
    """
    bundle = open_bundle(config.model, format="tflite")
    if any(signature.get("any_length") for signature in read_package(bundle.weights).info["signatures"]):
        raise OptionError(
            f"--model {config.model}: takes windows of any length, and LiteRT.js cannot resize; "
            "export it with --lengths 128 192 256 384"
        )
    files = sources(bundle.weights, bundle.path / "README.md")
    if not all(path.exists() for path in files.values()):
        raise OptionError(f"LiteRT.js is not installed; run npm ci --ignore-scripts in {FOLDER}")
    if config.out.exists() and not (config.out / PUBLISHED).exists():
        raise OptionError(f"--out {config.out}: exists and is not a published page; give another folder")
    if config.out.exists():
        shutil.rmtree(config.out)
    for name, path in files.items():
        target = config.out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    (config.out / PUBLISHED).write_text(list_files(files), encoding="utf-8")
    size = sum(path.stat().st_size for path in files.values())
    print(f"{config.out}: {len(files) + 1} files, {size / 1e6:.1f} MB")
    print("serve it from any static host over https, or on this machine")
    print(f"next: python -m http.server --bind 127.0.0.1 --directory {config.out} 8000")
    return config.out
