"""Opens bundles with optimum, in its own environment, and prints what each computes: see open_elsewhere.py,
which starts this."""

import json
import sys

import numpy as np
from optimum.onnxruntime import ORTModelForQuestionAnswering
from transformers import AutoTokenizer


def logits(model, inputs):
    output = model(**inputs)
    return [np.asarray(side[0]).tolist() for side in (output.start_logits, output.end_logits)]


def open_bundle(bundle, windows, question, passage):
    model = ORTModelForQuestionAnswering.from_pretrained(bundle, local_files_only=True)
    computed = []
    for window in windows:
        arrays = {name: np.array([values], np.int64) for name, values in window.items()}
        computed.append(logits(model, arrays | {"attention_mask": np.ones_like(arrays["input_ids"])}))
    inputs = AutoTokenizer.from_pretrained(bundle)(question, passage, return_tensors="np")
    given = {name: inputs[name][0].tolist() for name in ("input_ids", "token_type_ids")}
    return given | {"windows": computed, "logits": logits(model, dict(inputs))}


print(json.dumps([open_bundle(**task) for task in json.load(sys.stdin)]))
