"""Find the best small file of a model: how narrow, its Linears in int8 or int4, its word table in which form.

Every combination near the target answers held-out training questions as its TFLite file would, after a short
recovery of each width against the model itself. What cannot be beaten in both bytes and F1 is the front; the
best that keeps within the target becomes a bundle, to be trained on (distill.finetune, compress.prune.stage,
compress.qat.stage) or exported as it is.

    python -m benchmarks.search --model runs/demo/teacher --target-mb 8
"""

from benchmarks.search.stage import main
from qa.base.cli import run_command

if __name__ == "__main__":
    run_command(main)
