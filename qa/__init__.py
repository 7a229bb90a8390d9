"""Extractive question answering: the parts that several stages of PocketQA share, and `load` for Python."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qa.reader import Reader
    from qa.text.settings import Mode


def load(
    name_or_path: str | os.PathLike[str] | None = None,
    *,
    threads: int | None = None,
    isolated: bool = False,
    mode: "Mode | None" = None,
    null_threshold: float | None = None,
) -> "Reader":
    """Open a bundle, a phone's .tflite file or a transformers checkpoint (folder or hub name) to ask it.

    The default is the int8 student that comes with the project.

        model = qa.load()
        model.answer("Who wrote it?", passage).text

    `threads` defaults to 1: more help with long texts only. `mode` says when to decline: "answering"
    (never), "balanced" (as tuned, the default) or "strict" (unless it is quite sure). `null_threshold`
    replaces the no-answer threshold of the model: the higher it is, the more questions are answered. Python
    threads may share the reader. `isolated` computes in a separate process, for a file you do not trust: a
    file that crashes its runtime then raises BundleError.

    BundleError when the bundle is missing or damaged. ProbeError when the runtime computes it wrongly.
    DownloadError when the hub cannot be reached. OptionError when an argument cannot work.
    """
    from qa.base.cli import check_option, one_line
    from qa.base.errors import BundleError
    from qa.base.shipped import ASKED, shipped
    from qa.reader import Reader  # here, so that importing qa loads nothing
    from qa.runtime.package import open_file_or_model

    name_or_path = shipped(ASKED, "name_or_path") if name_or_path is None else name_or_path
    check_option(
        isinstance(name_or_path, str | os.PathLike),
        "name_or_path",
        repr(name_or_path),
        "a path or a hub name",
    )
    path = Path(name_or_path)
    try:
        bundle = open_file_or_model(path)
    except OSError as error:  # of a file that may not be read, or a name too long for one
        raise BundleError(one_line(error)) from None
    return Reader(bundle, threads, isolated=isolated, mode=mode, null_threshold=null_threshold)
