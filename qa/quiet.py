"""Keep the start-up chatter of libraries away, so that stderr holds our progress and errors only."""

import logging
import os
import warnings


def quiet_libraries() -> None:
    """Set the levels; must run before the libraries are imported, so the packages call it first of all."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    # torchao reports each CUDA kernel it cannot load on a CPU; torch reports torchao's enums.
    for name in ("torchao", "torch.utils._pytree", "torch.onnx", "transformers", "root"):
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    warnings.filterwarnings("ignore", category=FutureWarning)
