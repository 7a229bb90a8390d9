"""Keep the chatter of libraries away from a command, so that its stderr holds our progress and errors
only.
"""

import contextlib
import logging
import os
import sys
import warnings
from collections.abc import Iterator

# torchao reports each CUDA kernel it cannot load on a CPU; torch reports torchao's enums.
NOISY_IMPORTS = ("torchao", "torch.utils._pytree")


@contextlib.contextmanager
def quiet_import() -> Iterator[None]:
    """For the import of what imports torchao; levels are as before afterwards."""
    before = {name: logging.getLogger(name).level for name in NOISY_IMPORTS}
    try:
        for name in before:
            logging.getLogger(name).setLevel(logging.ERROR)
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


def quiet_libraries() -> None:
    """For commands alone, since it changes the process: environment, levels of loggers, warnings. A user's
    variables win."""
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
    if "transformers" in sys.modules:  # it has read its variables
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
