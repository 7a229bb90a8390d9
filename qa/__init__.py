"""Extractive question answering: what more than one stage of PocketQA must know, and `load`, the way in from
Python."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qa.reader import Reader


def load(
    name_or_path: str | os.PathLike[str] | None = None,
    *,
    threads: int | None = None,
    isolated: bool = False,
    null_threshold: float | None = None,
) -> "Reader":
    """Open a bundle of any runtime and precision, or a transformers checkpoint by folder or hub name, to
    answer questions with; without a name the student in int8 that comes with the project.

        model = qa.load()
        model.answer("Who wrote it?", passage).text

    `threads` defaults to all cores. `null_threshold` stands for the model's own: the higher, the more
    questions are answered. Python threads may share what is loaded. `isolated` computes in a process of its
    own, for a file you do not trust: one that crashes its runtime then raises BundleError. So does a bundle
    that is missing or damaged; ProbeError is raised when the runtime here computes it wrongly, DownloadError
    when the hub cannot be reached, OptionError when an argument cannot work.
    """
    from qa.base.cli import check_option
    from qa.bundles.hf_import import open_model  # here, so that importing qa loads nothing
    from qa.bundles.shipped import ASKED, shipped
    from qa.reader import Reader

    name_or_path = shipped(ASKED, "name_or_path") if name_or_path is None else name_or_path
    check_option(
        isinstance(name_or_path, str | os.PathLike),
        "name_or_path",
        repr(name_or_path),
        "a path or a hub name",
    )
    return Reader(open_model(Path(name_or_path)), threads, isolated=isolated, null_threshold=null_threshold)
