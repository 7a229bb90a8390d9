"""Training loop for teacher, student and recovery after pruning, on Accelerate.

Every step is a function of (seed, step), which decide batches, dropout and learning rate. So a resumed run
continues as if it had not stopped, on a CPU bit for bit.
"""

import contextlib
import hashlib
import json
import os
import signal
import sys
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import InitProcessGroupKwargs
from torch import Tensor, nn

from distill.training.batches import bucketed_batches, to_tensors
from distill.training.checkpoint import CHECKPOINT, checkpoint_bytes, load_checkpoint, save_checkpoint
from distill.training.lora import add_lora, merge_lora
from distill.training.optimizers import CLIPS_GRADIENTS, build_optimizer
from distill.training.options import TrainingOptions, high_rate
from distill.training.precision import resolve_precision
from distill.training.process import freed_memory_kept
from qa.base.errors import OptionError
from qa.base.files import check_free_space
from qa.base.journal import lock
from qa.base.progress import Progress
from qa.base.stops import stops_wait
from qa.models.attention import PLAIN
from qa.models.encoders import attention
from qa.models.model import QAModel
from qa.text.features import Window

# (model, tensors of a batch, indices of its windows) -> the terms of the loss by name; "loss" is what is
# minimized.
LossFunction = Callable[[nn.Module, dict[str, Tensor], np.ndarray], dict[str, Tensor]]
# Called with the numbers of finished and of all steps, before the first step (fresh or resumed)
# and after each.
AfterStep = Callable[[int, int], None]
# Raise it when the same options lead to other weights: checkpoints of before are then not continued.
GRADIENT_VERSION = 2


def make_accelerator(precision: str) -> Accelerator:
    """Return Accelerate's view of the machine: GPU if any, processes of torchrun, autocast for bf16."""
    # While the first process saves and scores a model the others wait; NCCL would give up after ten minutes.
    patience = InitProcessGroupKwargs(timeout=timedelta(hours=12))
    mixed = "bf16" if resolve_precision(precision) == "bf16" else "no"
    return Accelerator(mixed_precision=mixed, cpu=not torch.cuda.is_available(), kwargs_handlers=[patience])


def is_lost_peer(error: RuntimeError) -> bool:
    """Return True where another process of torchrun has ended; gloo has no error type of its own."""
    return isinstance(error, torch.distributed.DistError) or "gloo/transport" in str(error)


def learning_rate_at(step: int, n_steps: int, options: TrainingOptions) -> float:
    """Return the learning rate of a step, from 0: linear warm-up to the peak, then linear decay to 0."""
    n_warmup = int(n_steps * options.warmup)
    if step < n_warmup:
        return options.learning_rate * (step + 1) / n_warmup
    return options.learning_rate * (n_steps - step) / (n_steps - n_warmup)


class Trainer:
    """Trains one model in place; `work` receives TensorBoard curves and the checkpoint, which `finish`
    removes.

    From `train` to `finish` the first process locks `work`: a second run would overwrite the checkpoint.
    """

    def __init__(
        self,
        model: QAModel,
        windows: Sequence[Window],
        loss: LossFunction,
        options: TrainingOptions,
        work: Path,
        name: str,
        depends_on: dict[str, Any] | None = None,
        *,
        accelerator: Accelerator | None = None,
        after_step: AfterStep | None = None,
        adapter: Mapping[str, Tensor] | None = None,
    ) -> None:
        """Prepare model and optimizer; with LoRA, start from the values of `adapter` where one is given.

        `depends_on` are more facts that decide the result (teacher, data, weights of the loss): a checkpoint
        is continued only with the same. `accelerator` comes from `make_accelerator` where the loss needs it
        too.
        """
        self.model = model
        self.windows = windows
        self.loss = loss
        self.work = work
        self.checkpoint = work / CHECKPOINT
        self.name = name
        # Resolved here: a checkpoint is not continued in another precision on another machine.
        self.options = replace(options, precision=resolve_precision(options.precision))
        self.depends_on = dict(depends_on or {})
        self.lengths = np.array([len(w.input_ids) for w in windows])
        self.labelled = np.array([w.start_position >= 0 for w in windows])
        self.longest = int(self.lengths.max())
        """Length that no batch is padded beyond: student and teacher may have no more positions."""
        self.accelerator = accelerator or make_accelerator(self.options.precision)
        self.n_batches = -(-len(windows) // options.batch_size)
        self.n_steps = max(1, round(options.epochs * self.n_batches / options.accumulation))
        if options.freeze_encoder:
            model.encoder.requires_grad_(False)
        if options.lora_rank:
            add_lora(model.encoder, options.lora_rank, options.seed)
        if adapter is not None:
            unknown = model.load_state_dict(adapter, strict=False).unexpected_keys
            assert not unknown, unknown
        optimizer = build_optimizer(
            options.optimizer,
            [p for p in model.parameters() if p.requires_grad],
            options.learning_rate,
            options.weight_decay,
        )
        self.wrapped, self.optimizer = self.accelerator.prepare(model, optimizer)
        self.after_step = after_step
        self.adapter: dict[str, Tensor] = {}
        """Tensors that LoRA trained (`distill.training.lora`); empty before the end, and without LoRA."""
        self._done = 0
        self._updating = False
        self._unlock: Callable[[], Any] = lambda: None

    def train(self, resume: bool = False) -> None:
        """Run all steps, continuing from the checkpoint when `resume` is set and there is one.

        OptionError while another process trains in the same folder.
        """
        n_bytes = sum(4 * p.numel() for p in self.model.parameters())  # of the trained model
        # A checkpoint is replaced once the next one is written.
        n_bytes += 2 * checkpoint_bytes(self.model, self.options.optimizer)
        if self.checkpoint.is_file():
            n_bytes -= self.checkpoint.stat().st_size
        check_free_space(self.work, n_bytes, f"training {self.name}")
        self.work.mkdir(parents=True, exist_ok=True)
        if self.accelerator.is_main_process:
            encoder = self.model.encoder
            if encoder.layers and (line := high_rate(encoder.hidden_size, self.options)):
                print(f"{self.name}: {line}", file=sys.stderr)
            self._unlock = weakref.finalize(self, os.close, lock(self.work))
        try:
            self._train(resume)
        except BaseException:
            self._unlock()
            raise

    def _train(self, resume: bool) -> None:
        first = 0
        if resume:
            first = load_checkpoint(self.checkpoint, self.model, self.optimizer.state, self.fingerprint)
        self._done = first
        if self.after_step is not None:
            self.after_step(first, self.n_steps)
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.random.fork_rng(devices=range(torch.cuda.device_count())))
            writer = stack.enter_context(self._curves(first)) if self.accelerator.is_main_process else None
            if self.accelerator.device.type == "cpu":
                stack.enter_context(freed_memory_kept())
                stack.enter_context(attention(self.model.encoder, PLAIN))
            self.wrapped.train()
            if self.options.freeze_encoder:
                # The head learns from the states it will be given, which know no dropout.
                self.model.encoder.eval()
            self._run_or_stop(first, writer)
        self.wait_for_everyone()
        if self.options.lora_rank:
            self.adapter = merge_lora(self.model)
        self.model.eval()

    def _curves(self, first: int) -> Any:
        """Return a writer of curves from a step on; one of nothing where tensorboard is missing."""
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ModuleNotFoundError:
            print("curves: none, as tensorboard is not installed", file=sys.stderr)
            return contextlib.nullcontext()
        return SummaryWriter(str(self.work), purge_step=first)

    def _run_or_stop(self, first: int, writer: Any) -> None:
        """Run all steps from `first` on; save a checkpoint when the run is stopped."""
        try:
            self._run(first, writer)
        except KeyboardInterrupt:
            self._stop()
            raise
        except torch.OutOfMemoryError:
            raise OptionError(f"{self.name}: the GPU's memory is full; give a smaller --batch-size") from None
        except RuntimeError as error:
            if not is_lost_peer(error):
                raise
            former = signal.signal(signal.SIGTERM, signal.SIG_IGN)  # torchrun ends all processes: save first
            try:
                self._stop()
            finally:
                signal.signal(signal.SIGTERM, former)
            raise self._lost_peer() from None

    def _run(self, first: int, writer: Any) -> None:
        main = self.accelerator.is_main_process
        saved_at = time.monotonic()
        what = f"{self.name} in {self.options.precision}"
        n_windows = self.options.batch_size * self.options.accumulation
        with Progress(total=self.n_steps, initial=first, desc=what, unit="step", disable=not main) as bar:
            for step in range(first, self.n_steps):
                began = time.monotonic()
                terms = self._step(step)
                if writer is not None:
                    for key, value in terms.items():
                        writer.add_scalar(f"{self.name}/{key}", value, step)
                    rate = learning_rate_at(step, self.n_steps, self.options)
                    writer.add_scalar(f"{self.name}/learning_rate", rate, step)
                    speed = n_windows / max(time.monotonic() - began, 1e-9)
                    writer.add_scalar(f"{self.name}/windows_per_second", speed, step)
                bar.update()
                bar.set_postfix_str(", ".join(f"{k} {v:.3f}" for k, v in terms.items()), refresh=False)
                done = step + 1 == self.n_steps  # `finish` removes it once the model is saved
                if main and (done or time.monotonic() - saved_at >= 60 * self.options.checkpoint_minutes):
                    self._save(step + 1)
                    saved_at = time.monotonic()

    def wait_for_everyone(self) -> None:
        """Wait until all processes have come here. OptionError when one has ended."""
        try:
            self.accelerator.wait_for_everyone()
        except RuntimeError as error:
            if is_lost_peer(error):
                raise self._lost_peer() from None
            raise

    def _lost_peer(self) -> OptionError:
        return OptionError(
            f"{self.name}: another process of this run has ended; start the run again with --resume"
        )

    def finish(self) -> None:
        """Remove the checkpoint once the trained model is safely on disk, and unlock its folder."""
        if self.accelerator.is_main_process:
            self.checkpoint.unlink(missing_ok=True)
        self._unlock()

    def _stop(self) -> None:
        """Save a checkpoint at a stop or when another process ends, unless weights were being updated."""
        if self.accelerator.is_main_process and self._done > 0 and not self._updating:
            self._save(self._done)
            print(
                f"\n{self.name}: stopped after {self._done} steps; rerun with --resume to continue from "
                f"{self.checkpoint}",
                file=sys.stderr,
            )

    def _step(self, step: int) -> dict[str, float]:
        options = self.options
        accelerator = self.accelerator
        place = step * accelerator.num_processes + accelerator.process_index
        torch.manual_seed((options.seed * 1_000_003 + place) % 2**32)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate_at(step, self.n_steps, options)
        self.optimizer.zero_grad()
        sums: dict[str, float] = {}
        first = step * options.accumulation
        parts = [self._batch(number) for number in range(first, first + options.accumulation)]
        whole = np.concatenate(parts)
        for micro, part in enumerate(parts):
            indices, weight, divisors = self._share(part, whole)
            batch = to_tensors([self.windows[i] for i in indices], accelerator.device, self.longest)
            for name, divisor in divisors.items():
                batch[name] = torch.tensor(divisor, dtype=torch.float32, device=accelerator.device)
            last = micro == options.accumulation - 1
            with contextlib.nullcontext() if last else accelerator.no_sync(self.wrapped):
                terms = self.loss(self.wrapped, batch, indices)
                accelerator.backward(weight * terms["loss"])
            for key, value in terms.items():
                sums[key] = sums.get(key, 0.0) + float(value.detach()) * len(part) / len(whole)
        most = options.max_grad_norm if CLIPS_GRADIENTS[options.optimizer] else float("inf")
        # The gradient is that of all processes, so that all of them stop where one has lost its way.
        norm = float(accelerator.clip_grad_norm_(self.wrapped.parameters(), most))
        if not np.isfinite([sums["loss"], norm]).all():
            raise OptionError(
                f"{self.name}: step {step}: loss {sums['loss']:.3g}, gradient norm {norm:.3g}; lower "
                "--learning-rate or use --precision fp32"
            )
        with stops_wait():  # the checkpoint of a stop has the weights and moments of one step
            self._updating = True
            self.optimizer.step()
            if self.after_step is not None:
                self.after_step(step + 1, self.n_steps)
            self._done = step + 1
            self._updating = False
        return sums

    def _batch(self, number: int) -> np.ndarray:
        """Return the windows of batch `number`, over all epochs and of all processes."""
        epoch, index = divmod(number, self.n_batches)
        if getattr(self, "_epoch", None) != epoch:
            self._epoch = epoch
            self._epoch_batches = bucketed_batches(
                self.lengths, self.options.batch_size, self.options.seed, epoch
            )
        return self._epoch_batches[index]

    def _share(self, batch: np.ndarray, whole: np.ndarray) -> tuple[np.ndarray, float, dict[str, float]]:
        """Return this process's share of a batch, the weight of its mean loss in the step, and the divisors
        of means over something other than windows.

        `whole` are the windows of the step, of all its batches. The weights make the sum over batches and
        DDP's mean over processes the mean over the step. The divisors are the tokens and the labelled windows
        that the share would have if all windows of the step had equally many. A share is never empty: a
        process without one computes a window with weight 0.
        """
        n_processes = self.accelerator.num_processes
        share = np.array_split(batch, n_processes)[self.accelerator.process_index]
        weight = len(share) * n_processes / len(whole)
        totals = {
            "n_tokens": self.lengths[whole].sum(),
            "n_labelled": max(1, self.labelled[whole].sum()),  # without a label the sum is 0
        }
        divisors = {name: float(total) * max(1, len(share)) / len(whole) for name, total in totals.items()}
        return share if len(share) else batch[:1], weight, divisors

    def _save(self, step: int) -> None:
        save_checkpoint(self.checkpoint, self.model, self.optimizer.state, step, self.fingerprint)

    @property
    def fingerprint(self) -> str:
        """Hash of all that decides the result: a checkpoint is continued only by a run with the same."""
        options = asdict(self.options) | {"checkpoint_minutes": None}
        model = self.model.config()
        model["encoder"].pop("transformers_version", None)  # an upgrade of it is no other model
        config = {
            "version": GRADIENT_VERSION,
            "options": options,
            "facts": self.depends_on,
            "lengths": self.lengths.tolist(),
            "model": model,
        }
        return hashlib.sha256(json.dumps(config, sort_keys=True, default=str).encode()).hexdigest()
