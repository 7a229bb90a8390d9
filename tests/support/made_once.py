"""Bundles of tiny random models and their exports, each made once. Fixtures of tests/conftest.py return these.

This module imports torch and the converter, which tests of text do without.
"""

import hashlib
from contextlib import contextmanager
from functools import cache

import pytest
from comparisons import UNTRAINED_SPANS
from places import alone
from tiny_models import WRITE_TOKENIZER, tiny_model

from distill.student import standalone_student
from export import exporter, parity
from export.onnx import exporter as onnx
from export.options import OnnxOptions, TFLiteOptions
from export.tflite import convert
from export.tflite import exporter as tflite
from qa.base.files import write_whole
from qa.bundles.bundle import SETTINGS, new_bundle, open_bundle
from qa.bundles.manifest import StageRecord
from qa.models import pretrained
from qa.models.model import QAModel
from qa.models.pretrained import copy_tokenizer, embedded_folder
from qa.text.settings import QASettings
from qa.text.tokenization import load_tokenizer

WHOLE_SIZES = {"qanet": {"width": 32, "n_heads": 4, "n_blocks": 1}, "bidaf": {"width": 24}}


def save_bundle(model, path, write_tokenizer=None):
    """Save a model for windows of at most 128 tokens, with MiniLM's tokenizer or the one written."""
    parameters = model.count_parameters()
    record = StageRecord(format="pytorch", precision="fp32", stage="distill", parameters=parameters)
    with new_bundle(path, record) as draft:
        model.save_pretrained(draft.path)
        settings = QASettings(max_length=128, doc_stride=48, max_question_length=32)
        settings.save(draft.path / SETTINGS)
        if write_tokenizer is not None:
            write_tokenizer(draft.path)
        tokenizer = draft.path if write_tokenizer else embedded_folder()
        copy_tokenizer(tokenizer, draft.path, settings.max_length, model.encoder.inputs)
    return draft.bundle


def shared_bundle(folder, name, make):
    """Return the path of the bundle `name` in `folder`; the first process that asks makes it by `make(path)`.

    A bundle is moved to its path when it is whole, so one that exists is finished, also after a kill.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    with alone(folder.with_name(f"{folder.name}.lock")):
        if not path.exists():
            make(path)
    return path


def bundle_maker(folder):
    """A function that makes (once, in `folder`) the bundle of a tiny random model, and returns its path."""

    @cache
    def make(encoder, head, pruned, seed):
        name = "-".join(["tiny", encoder, head, *(["pruned"] if pruned else []), str(seed)])
        write_tokenizer = WRITE_TOKENIZER.get(encoder)
        return shared_bundle(
            folder / name,
            name,
            lambda path: save_bundle(tiny_model(encoder, head, pruned, seed), path, write_tokenizer),
        )

    return lambda encoder="bert", head="4l-gelu-skip", pruned=False, seed=0: make(encoder, head, pruned, seed)


def whole_maker(teacher):
    """A function that makes a fresh small whole model, by name, with the words of a teacher."""
    model = QAModel.from_pretrained(teacher)
    tokenizer = load_tokenizer(embedded_folder())
    return lambda name: standalone_student(name, model, tokenizer, 0, **WHOLE_SIZES[name]).eval()


@contextmanager
def work_kept(folder):
    """Let the converter to TFLite and other slow functions remember what they have computed.

    A conversion takes seconds, and several precisions start from the same file in fp32; `folder` shares the
    files between processes. The windows of the shipped dev questions and the hash of MiniLM's 90 MB are
    remembered in this process.
    """
    folder.mkdir(exist_ok=True)
    convert_now = convert.convert
    make_windows_now = parity.make_windows
    windows = {}

    def convert_once(model, signatures):
        key = hashlib.sha256(f"{model.config()} {signatures}".encode())
        for name, tensor in model.state_dict().items():
            key.update(name.encode() + tensor.numpy().tobytes())
        file = folder / f"{key.hexdigest()}.tflite"
        with alone(file.with_suffix(".lock")):
            if not file.exists():
                write_whole(file, convert_now(model, signatures))
        return file.read_bytes()

    def make_windows_once(examples, tokenizer, settings):
        if len(examples) <= 100:
            return make_windows_now(examples, tokenizer, settings)
        key = tuple(examples), tokenizer.to_str(), settings
        if key not in windows:
            windows[key] = make_windows_now(examples, tokenizer, settings)
        return list(windows[key])  # real_windows sorts it

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(convert, "convert", convert_once)
        patch.setattr(parity, "make_windows", make_windows_once)
        patch.setattr(pretrained, "file_sha256", cache(pretrained.file_sha256))
        # Threads only wait for each other on models this small.
        patch.setattr(exporter, "available_cores", lambda: 1)
        yield convert_once


def export_maker(make_bundle, folder):
    """A function that exports a tiny model, by the arguments of make_bundle, once: (parent, export).

    The exports of all processes are in `folder`.
    """

    @cache
    def export(kind, quantize, lengths, parent):
        def make(path):
            options = {"model": parent, "out": path, "quantize": quantize}
            options["min_equal_spans"] = UNTRAINED_SPANS.get(quantize)
            if kind == "onnx":
                onnx.export(OnnxOptions(**options))
            else:
                tflite.export(TFLiteOptions(**options, lengths=lengths))

        key = "-".join([kind, quantize, *map(str, lengths or ["any"]), parent.name])
        return open_bundle(parent), open_bundle(shared_bundle(folder / key, f"tiny-{kind}", make))

    return lambda kind, quantize="fp32", lengths=None, **model: export(
        kind, quantize, lengths, make_bundle(**model)
    )
