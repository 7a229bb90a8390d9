"""The models that come with the project, in the folder models/ of its checkout: what commands take where none
is named."""

from pathlib import Path

from qa.base.errors import OptionError
from qa.bundles.bundle import MANIFEST

FOLDER = Path(__file__).resolve().parents[2] / "models"
# PyTorch: to distil from, to export
TEACHER = "teacher"
STUDENT = "student"
ASKED = "student-tflite-int8"


def shipped(name: str, flag: str = "--model") -> Path:
    """Folder of a shipped model. OptionError where the project was installed without its checkout: `flag`
    names another."""
    path = FOLDER / name
    if not (path / MANIFEST).is_file():
        raise OptionError(
            f"{flag} must be given: {path} is not there; the project's own models are in its whole checkout"
        )
    return path


def is_shipped(path: Path) -> bool:
    """Whether a path is that of a shipped model: nothing is put beside one."""
    return path.resolve().parent == FOLDER
