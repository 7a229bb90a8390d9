"""Models that come with the project, in the folder models/ of its checkout: the defaults of commands."""

from pathlib import Path

from qa.base.errors import OptionError

FOLDER = Path(__file__).resolve().parents[2] / "models"
# PyTorch: to distil from, to export
TEACHER = "teacher"
STUDENT = "student"
ASKED = "student-tflite-int8"


def shipped(name: str, flag: str = "--model") -> Path:
    """Return the folder of a shipped model.

    OptionError, which names `flag`, when the project was installed without its checkout.
    """
    path = FOLDER / name
    if not (path / "manifest.json").is_file():
        raise OptionError(
            f"{flag} must be given: {path} does not exist; the project's own models are in its checkout"
        )
    return path


def is_shipped(path: Path) -> bool:
    """Return True for the path of a shipped model; nothing is written beside it."""
    return path.resolve().parent == FOLDER
