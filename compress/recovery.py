"""Steps of every stage that compresses a model and trains it against its teacher."""

import os

from compress.options import RecoveryFlags
from distill.resume import RunInputs, finished, refuse_unless_resumed
from distill.stage import summary
from qa.base.errors import OptionError
from qa.bundles.bundle import Bundle
from qa.bundles.hf_import import open_model


def finished_before(config: RecoveryFlags, stage: str) -> Bundle | None:
    """Return the bundle that an interrupted run had finished, and print it; None where there is work to do.

    OptionError when torchrun started several processes. BundleError when the result exists and the run is not
    resumed.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise OptionError(
            f"{stage} runs as one process, on one GPU where there is one; start it without torchrun"
        )
    refuse_unless_resumed(config.target, config.resume)
    if not config.target.exists():
        config.check_cache()
        return None
    bundle = finished(config.target, RunInputs.of(config, model=config.model, teacher=config.teacher))
    print(summary(bundle))
    return bundle


def open_with_teacher(config: RecoveryFlags) -> tuple[Bundle, Bundle]:
    """Open the model to compress, and the teacher that it recovers against."""
    parent = open_model(config.model, format="pytorch")
    teacher = open_model(config.teacher, format="pytorch") if config.teacher else parent
    return parent, teacher
