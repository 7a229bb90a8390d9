"""Silence libraries, so that stderr of a command holds only its own progress and errors."""

import contextlib
import logging
import os
import sys
import warnings
from collections.abc import Iterator

# torchao reports every CUDA kernel that it cannot load on a CPU; torch reports the enums of torchao.
NOISY_IMPORTS = ("torchao", "torch.utils._pytree")


@contextlib.contextmanager
def quiet_logs(*names: str) -> Iterator[None]:
    """Silence these loggers except for errors, and restore their levels afterwards."""
    before = {name: logging.getLogger(name).level for name in names}
    try:
        for name in before:
            logging.getLogger(name).setLevel(logging.ERROR)
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


def quiet_libraries() -> None:
    """Silence libraries in the whole process; only commands call this.

    Changes environment variables, log levels and warning filters. Variables that the user has set stay.
    """
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    loggers = [*NOISY_IMPORTS, "torch.onnx", "root"]
    if "TRANSFORMERS_VERBOSITY" not in os.environ:
        os.environ["TRANSFORMERS_VERBOSITY"] = "error"
        loggers.append("transformers")
    for name in loggers:
        logging.getLogger(name).setLevel(logging.ERROR)
    for category in (DeprecationWarning, FutureWarning):
        warnings.filterwarnings("ignore", category=category)
    if "transformers" in sys.modules:  # it has already read its variables
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
