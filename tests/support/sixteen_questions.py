"""16 real questions that any model of the zoo must be able to learn, and how well one answers them."""

import torch

from distill.training.batches import model_inputs, to_tensors
from distill.training.objectives import supervised
from distill.training.options import TrainingOptions
from distill.training.trainer import Trainer
from qa.bundles.bundle import open_bundle
from qa.data.datasets import resolve
from qa.data.squad import read_squad
from qa.evaluation.predict import predict, score
from qa.text.features import make_windows


def sixteen_questions(path):
    """On four short passages, one window each, as the bundle at `path` cuts them: (examples, windows,
    settings)."""
    bundle = open_bundle(path)
    examples = [e for e in read_squad(resolve("embedded", "train")) if len(e.context) < 350][:16]
    windows = make_windows(examples, bundle.tokenizer, bundle.settings)
    assert len(windows) == 16 > len({e.context for e in examples})
    return examples, windows, bundle.settings


def learns(model, questions, work, learning_rate=5e-3, epochs=100):
    """Return whether training, in the folder `work`, takes a model from an F1 below 50 percent to 100."""
    before = f1(model, questions)
    options = TrainingOptions(learning_rate, 16, epochs, precision="fp32")
    Trainer(model, questions[1], supervised, options, work, "t").train()
    return before < 50 and f1(model, questions) == 100


def f1(model, questions):
    """F1 in percent of a model on them."""
    examples, windows, settings = questions
    batch = to_tensors(windows)
    with torch.no_grad():
        output = model.eval()(**model_inputs(batch))
    logits = [
        (start[: len(w.input_ids)].numpy(), end[: len(w.input_ids)].numpy())
        for w, start, end in zip(windows, output["start_logits"], output["end_logits"], strict=True)
    ]
    return score(examples, predict(examples, windows, logits, settings), None)["f1"]
