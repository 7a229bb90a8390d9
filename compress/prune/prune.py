"""Prune a model and let it recover: what `python -m compress.prune` does."""

from pkgutil import resolve_name
from typing import Any

from compress.options import METHODS, PruneOptions
from compress.prune.method import PruningMethod, share_of_zeros
from compress.recovery import Recovery, open_making
from distill.options import same_named
from qa.bundles.bundle import Bundle
from qa.bundles.next_export import say_next_export


def prune(options: PruneOptions) -> Bundle:
    """Open the parent, prune, recover, save, and print what it gained."""
    chosen = METHODS[options.method]
    making = open_making("prune", "compress.prune", options, chosen.suffix)
    if making.done:
        _say_next(options, making.done)
        return making.done
    steps = resolve_name(chosen.steps) if isinstance(chosen.steps, str) else chosen.steps
    recovery = Recovery(options, making)
    method: PruningMethod[Any] = steps(options, recovery.parent.settings)
    model = recovery.model
    method.check(model)
    pruned = method.prune(model, recovery.before, recovery.windows, making.work, options.seed)
    flags = same_named(chosen.flags, options) if chosen.flags else {}
    depends_on = {"method": options.method, "pruning": flags}
    trainer = recovery.train("recovery", depends_on, method.after_step(model))
    pruning = {"method": options.method, **pruned, "zeros": share_of_zeros(model)}
    bundle = recovery.save(trainer, pruning=pruning)
    print(method.report(recovery.before, model))
    _say_next(options, bundle)
    return bundle


def _say_next(options: PruneOptions, bundle: Bundle) -> None:
    say_next_export(bundle, options.target_quantize, options.target_embeddings, options.eval_data)
