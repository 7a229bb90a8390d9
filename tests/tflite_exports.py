"""Tiny TFLite exports that several test files share, and how to run one by hand."""

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from export.tflite import TFLiteConfig, main
from qa.bundle import open_bundle
from qa.models.model import QAModel

LENGTHS = (96, 128)
MODELS = {"bert": {}, "distilbert": {"encoder": "distilbert", "head": "linear"}, "pruned": {"pruned": True}}


@pytest.fixture(scope="session")
def exported_tflite(make_bundle, tmp_path_factory, converted_once):
    """A function: (parent, export) of a model of MODELS in a precision."""
    made = {}

    def export(name, flag="none"):
        if (name, flag) not in made:
            parent, out = make_bundle(**MODELS[name]), tmp_path_factory.mktemp("exports") / f"{name}-{flag}"
            made[name, flag] = open_bundle(parent), main(TFLiteConfig(model=parent, out=out, quantize=flag, lengths=LENGTHS))
        return made[name, flag]

    return export


@pytest.fixture(scope="session")
def bare_tflite(make_bundle, converted_once):
    """The tiny BERT's fp32 .tflite as the converter wrote it."""
    return converted_once(QAModel.from_pretrained(make_bundle()), LENGTHS)


def compute(model, length=96):
    """Logits of a bare or packaged .tflite, given as bytes, for fixed random inputs."""
    ids = np.random.default_rng(0).integers(1000, 30000, (1, length), np.int32)
    mask = np.ones_like(ids)
    mask[:, length // 2 :] = 0
    runner = Interpreter(model_content=model, num_threads=1).get_signature_runner(f"qa{length}")
    return runner(input_ids=ids, attention_mask=mask, token_type_ids=mask.copy())
