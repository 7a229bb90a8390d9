"""Prune a model, then let it recover against its teacher.

Structured (the default) removes attention heads and feed-forward neurons physically: the result is an ordinary dense model,
smaller and faster everywhere. Magnitude sets single weights to zero: the file compresses better, and nothing gets faster.

    python -m compress.prune --model runs/demo/student --teacher runs/demo/teacher --keep-ffn 0.5 --keep-heads 0.67
    python -m compress.prune --model runs/demo/student --method magnitude --sparsity 0.8 --iterations 5
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from compress.magnitude import IterativePruning, compressed_bytes, share_of_zeros
from compress.recovery import RecoveryFlags, finished_before, open_with_teacher
from distill.batches import model_inputs, to_tensors
from distill.importance import sample_windows
from distill.stage import distil, read_material, save_model, summary, work_folder
from distill.width import WidthFlags, check_narrow, narrow
from qa.bundle import Bundle
from qa.cli import check_option, run_command
from qa.features import Window, make_windows
from qa.models.model import QAModel

METHODS = ("structured", "magnitude")
SPEED_WINDOWS = 24


@dataclass(frozen=True, kw_only=True)
class PruneConfig(RecoveryFlags, WidthFlags):
    """Prune a model and let it recover against its teacher."""

    method: str = "structured"
    """structured (heads and neurons removed) or magnitude (single weights set to zero)."""
    sparsity: float = 0.8
    """Magnitude: share of the weights of Linears and LSTMs set to zero, in (0, 1)."""
    iterations: int = 1
    """Magnitude: stages in which that share is reached during recovery; 1 is one-shot."""
    epochs: float = 1
    """Passes over the data for recovery."""
    learning_rate: float = 2e-4
    """Peak learning rate of recovery."""

    def __post_init__(self) -> None:
        check_option(self.method in METHODS, "--method", self.method, f"one of {', '.join(METHODS)}")
        self.check_width()
        check_option(0 < self.sparsity < 1, "--sparsity", self.sparsity, "in (0, 1)")
        check_option(self.iterations >= 1, "--iterations", self.iterations, "at least 1")
        self.options()
        self.weights()

    def facts(self) -> dict[str, Any]:
        """What of these options decides which weights are pruned."""
        structured = (self.keep_ffn, self.keep_heads, self.target_mb, self.target_ms, self.importance_windows)
        return {"pruning": structured if self.method == "structured" else (self.sparsity, self.iterations)}

    @property
    def suffix(self) -> str:
        """What was done, for the name of the result."""
        return "pruned" if self.method == "structured" else "sparse"


def speed_ratio(before: QAModel, after: QAModel, windows: Sequence[Window]) -> float:
    """Time of `before` over time of `after` in PyTorch, window by window in turn; above 1 is faster."""
    totals = [0.0, 0.0]
    batches = [model_inputs(to_tensors([w])) for w in windows]
    with torch.inference_mode():
        for round_number in range(3):  # the first warms up
            for batch in batches:
                for which, model in enumerate((before.eval(), after.eval())):
                    began = time.perf_counter()
                    model(**batch)
                    totals[which] += (time.perf_counter() - began) if round_number else 0.0
    return totals[0] / totals[1]


def report(before: QAModel, after: QAModel, parent: Bundle, bundle: Bundle, ratio: float) -> str:
    """What pruning bought, in two lines."""
    sizes = [b.weights.stat().st_size for b in (parent, bundle)]
    packed = [compressed_bytes(b.weights) for b in (parent, bundle)]
    counts = [m.count_parameters() for m in (before, after)]
    return (
        f"parameters without embeddings {counts[0].without_embeddings:,} -> {counts[1].without_embeddings:,}; zeros among the "
        f"weights of Linears and LSTMs {share_of_zeros(after):.1%}\n"
        f"file {sizes[0] / 1e6:.1f} -> {sizes[1] / 1e6:.1f} MB, compressed {packed[0] / 1e6:.1f} -> {packed[1] / 1e6:.1f} MB; "
        f"PyTorch fp32 runs {ratio:.2f} times as fast on real windows"
    )


def main(config: PruneConfig) -> Bundle:
    """Open the parent, prune, recover, save; prints what it bought."""
    done = finished_before(config, "compress.prune")
    if done is not None:
        return done
    out = config.target
    parent, teacher = open_with_teacher(config)
    material = read_material(config.data, config.eval_data)
    before, model = QAModel.from_pretrained(parent.path), QAModel.from_pretrained(parent.path)
    model.encoder.check_length(parent.settings.max_length)
    if config.method == "structured":
        check_narrow(model, parent.settings.max_length, config, "--method magnitude works")
    windows = make_windows(material.train, parent.tokenizer(), parent.settings, progress=True)
    pruning: dict[str, Any] = {"method": config.method}
    if config.method == "structured":
        sample = sample_windows(windows, config.importance_windows, config.seed)
        pruning |= narrow(model, before, sample, config, max_length=parent.settings.max_length, work=work_folder(out))
    trainer = distil(
        model, teacher, windows, material.train_file,
        options=config.options(), weights=config.weights(), cache=config.cache,
        work=work_folder(out), name="recovery", facts=config.facts(),
    )  # fmt: skip
    if config.method == "magnitude":
        trainer.after_step = IterativePruning(model, trainer.n_steps, config.sparsity, config.iterations)
    trainer.train(config.resume)
    # Training leaves bf16 autocast on a model; what is timed must compute in fp32, as its parent does.
    recovered = QAModel.from_config(model.config())
    recovered.load_state_dict(model.state_dict())
    ratio = speed_ratio(before, recovered, sample_windows(windows, SPEED_WINDOWS, config.seed))
    pruning |= {"zeros": share_of_zeros(model), "torch_speed_ratio": ratio}
    bundle = save_model(
        model, out, material, stage="prune", config=config, tokenizer=parent.path, parent=parent,
        settings=parent.settings, pruning=pruning, recovered_against=teacher.reference(),
        training_precision=trainer.options.precision,
    )  # fmt: skip
    trainer.finish()
    print(summary(bundle))
    print(report(before, model, parent, bundle, ratio))
    return bundle


if __name__ == "__main__":
    run_command(main)
