"""PocketQA in Python: load a model, and ask it about texts.

import pocketqa

model = pocketqa.load()
answer = model.answer("Who wrote it?", passage)
"""

from pathlib import Path
from typing import TYPE_CHECKING

import qa

# A folder without __init__.py has no file.
if not Path(qa.__file__ or qa.__path__[0]).is_relative_to(Path(__file__).parents[1] / "qa"):
    raise ImportError(f"{qa.__file__ or qa.__path__[0]} hides PocketQA's package of that name; rename it")

from qa import load
from qa.base.errors import PocketQAError

if TYPE_CHECKING:
    from qa.reader import Answer, Reader
    from qa.text.settings import Mode

    __version__: str
else:

    def __getattr__(name: str) -> object:
        """Import what takes long when it is used, so that importing pocketqa loads nothing."""
        if name in ("Answer", "Mode", "Reader"):
            import qa.reader

            return getattr(qa.reader, name)
        if name == "__version__":
            from importlib.metadata import version

            return version("pocketqa")
        raise AttributeError(f"module 'pocketqa' has no attribute {name!r}")


__all__ = ["Answer", "Mode", "PocketQAError", "Reader", "__version__", "load"]
