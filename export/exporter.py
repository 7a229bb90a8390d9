"""What both exporters share: find the parent, write file, probe and settings, check, seal."""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import arg

from compress.product_quantization import token_counts
from export.embeddings import check_form, store_words
from export.parity import check_parity, limits_of, probe_tolerance, probe_windows, real_windows, window_logits
from qa.base.cli import check_option
from qa.base.errors import BundleError
from qa.bundles.bundle import (
    MANIFEST,
    PROBE,
    SETTINGS,
    Bundle,
    ModelFolder,
    new_bundle,
    read_manifest,
    refuse_existing,
)
from qa.bundles.hf_import import open_model, output_beside
from qa.bundles.shipped import STUDENT, shipped
from qa.evaluation.scores import load_eval, scores_of
from qa.evaluation.threshold import tune_for_bundle
from qa.formats.precision import INTEGER_BITS, OF_FLAG, TABLE_FORMS
from qa.models.model import QAModel
from qa.models.pretrained import copy_tokenizer
from qa.runtime.probe import ProbeWindow, write_probe
from qa.runtime.runtimes import Runtime, TorchRuntime, available_cores, load_runtime, probe_difference
from qa.text.settings import QASettings

DEMO = Path("runs/demo")

NOT_IN_ONNX = ", ".join(flag for flag, precision in OF_FLAG.items() if "onnx" not in precision.meaning)
QUANTIZE_HELP = f"""Precision of the file:
{"; ".join(f"{flag}, {p.in_words}" for flag, p in OF_FLAG.items())}.
Not in ONNX:
{NOT_IN_ONNX}."""
EMBEDDINGS_HELP = f"""How {" and ".join(INTEGER_BITS)} store the word embeddings:
{", ".join(TABLE_FORMS)} (product quantization:
a byte for so many values). By default as the weights, or as the model's own table is compressed."""

# Writes the model file into the draft folder and returns what the manifest should say of its structure.
WriteFile = Callable[[QAModel, Bundle, Path, str], dict[str, Any]]
# Adds to the model file of a draft what goes into it once the settings are known.
Finish = Callable[[Bundle, Path, QASettings], None]
# The other kernels, beside those that are its default, by which a runtime may compute a model on another
# machine.
OtherKernels = Callable[[ModelFolder, int], Sequence[Runtime]]
# From the settings to the sizes of the probe's windows, in tokens.
ProbeSizes = Callable[[QASettings], Sequence[int]]


@dataclass(frozen=True)
class ExportConfig:
    """Export a PyTorch bundle."""

    model: Path | None = None
    """PyTorch bundle to export, or a transformers checkpoint (folder or hub name); without it the demo's
    newest student, and before there is one the student that comes with the project."""
    out: Path | None = None
    """Bundle to create; by default beside the model, of a shipped one in runs, named after runtime and
    precision."""
    quantize: Annotated[str, arg(help=QUANTIZE_HELP)] = "none"
    embeddings: Annotated[str | None, arg(help=EMBEDDINGS_HELP)] = None
    null_threshold: float | None = None
    """The file says that there is no answer where null score - best score exceeds this, as `qa.evaluate`
    finds it for your own questions (best_f1_thresh); by default it is searched on training questions that
    were held out."""
    eval_data: str | None = None
    """Questions to score the file on, for its card: embedded, squad, squad_v2, or a SQuAD JSON file."""

    def __post_init__(self) -> None:
        check_option(self.quantize in OF_FLAG, "--quantize", self.quantize, f"one of {', '.join(OF_FLAG)}")
        check_form(self.embeddings, self.precision)
        number = self.null_threshold is None or math.isfinite(self.null_threshold)
        check_option(number, "--null-threshold", self.null_threshold, "a finite number")

    @property
    def precision(self) -> str:
        """The precision's name in manifests and rows."""
        return OF_FLAG[self.quantize].name


def newest_student(folder: Path = DEMO) -> Path:
    """The student, pruned or trained for a precision or neither, that was finished last in a run folder; else
    the shipped one."""
    students = []
    for manifest in folder.glob(f"*/{MANIFEST}"):
        try:
            is_student = read_manifest(manifest.parent).is_student
        except BundleError:
            continue
        if is_student:
            students.append((manifest.stat().st_mtime_ns, manifest.parent))
    return max(students)[1] if students else shipped(STUDENT)


def export_bundle(
    config: ExportConfig,
    kind: str,
    write_file: WriteFile,
    probe_sizes: ProbeSizes,
    finish: Finish = lambda parent, draft, settings: None,
    other_kernels: OtherKernels = lambda model, threads: (),
) -> Bundle:
    """Export one PyTorch bundle to `kind` ("onnx" or "tflite"), check it against PyTorch on real windows, and
    seal it.

    A no-answer threshold is searched again with the exported model's own logits, on the questions the parent
    holds out, and `finish` then completes a model file that carries its settings.
    """
    source = config.model or newest_student()
    if config.model is None:
        print(f"exporting {source}", file=sys.stderr)
    out = config.out or output_beside(
        source, "-".join([kind, config.precision, *filter(None, [config.embeddings])])
    )
    refuse_existing(out)
    eval_data = load_eval(config.eval_data)
    parent = open_model(source, kind="pytorch")
    threads = available_cores()
    reference = load_runtime(parent, threads)
    assert isinstance(reference, TorchRuntime)
    facts = {
        "kind": kind,
        "precision": config.precision,
        "stage": "export",
        "config": {**asdict(config), "model": str(source), "out": str(out)},
        "parent": parent.reference(),
        "ancestors": parent.lineage(),
        "parameters": parent.manifest.parameters,
    }
    with new_bundle(out, facts) as draft:
        copy_tokenizer(parent.path, draft.path, parent.settings.max_length)
        model = reference.model
        words = reference.model.encoder.words
        counts = partial(token_counts, parent, words.num_embeddings)
        form = store_words(model, config.precision, config.embeddings, counts)
        if form is not None:
            draft.record(embeddings=form)
        # A runtime is to compute what PyTorch computes with the table as it is stored; parity is with the
        # parent's own table.
        probed = probe_windows(parent, probe_sizes(parent.settings))
        recorded = [
            ProbeWindow(w.input_ids, w.context_begin, *window_logits(reference, w, 0)) for w in probed
        ]
        draft.record(structure=write_file(model, parent, draft.path, config.precision))
        model.encoder.set_words(words)
        exported = load_runtime(draft.model(parent.settings), threads, probe=False)
        windows = [*real_windows(parent), *probed]  # what is recorded is what the file was seen to compute
        limits = limits_of(config.precision, form)
        report = check_parity(reference, exported, windows, parent.settings, name=out.name, limits=limits)
        kernels = [exported, *other_kernels(draft.model(parent.settings), threads)]
        tolerance = probe_tolerance(
            config.precision, max(probe_difference(runtime, recorded) for runtime in kernels)
        )
        (draft.path / PROBE).write_text(
            write_probe(recorded, {config.precision: tolerance}), encoding="utf-8"
        )
        draft.record(parity=asdict(report))
        print(report)
        if config.null_threshold is None:
            settings = tune_for_bundle(exported, parent.tokenizer, parent.settings, parent.path)
        else:
            settings = replace(parent.settings, null_threshold=config.null_threshold)
        settings.save(draft.path / SETTINGS)
        if eval_data is not None:
            draft.record(scores=scores_of(exported, draft.model(settings), eval_data))
        finish(parent, draft.path, settings)
    bundle = draft.bundle
    structure = bundle.manifest.structure
    assert structure is not None
    n_operators = sum(structure.operators.values())
    share = structure.quantized_share_of_bytes
    size_mb = bundle.weights.stat().st_size / 1e6
    print(
        f"{bundle.weights}: {size_mb:.1f} MB, {n_operators} operators, {share:.1%} of the constants' bytes "
        "are int8 or int4"
    )
    return bundle
