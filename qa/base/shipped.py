"""Models that come with the project: the defaults of commands.

A checkout has them in its folder models/. A wheel has only the one that is asked, in pocketqa/models/.
"""

from pathlib import Path

from qa.base.errors import OptionError

_PACKAGES = Path(__file__).resolve().parents[2]
_IN_WHEEL = _PACKAGES / "pocketqa" / "models"
FOLDER = _IN_WHEEL if _IN_WHEEL.is_dir() else _PACKAGES / "models"
# PyTorch: to distil from, to export
TEACHER = "teacher"
STUDENT = "student"
ASKED = "student-tflite-int8"


def shipped(name: str, flag: str = "--model") -> Path:
    """Return the folder of a shipped model.

    OptionError, which names `flag`, when the installation does not have it.
    """
    path = FOLDER / name
    if not (path / "manifest.json").is_file():
        raise OptionError(
            f"{flag} must be given: {path} does not exist; a wheel has {ASKED} only, a checkout all models"
        )
    return path


def is_shipped(path: Path) -> bool:
    """Return True for the path of a shipped model; nothing is written beside it."""
    return path.resolve().parent == FOLDER
