"""Find the best small file of a model: its width, int8 or int4 weights, and the form of its embedding table.

Each width recovers for a short time against the model itself. Every combination near the target then answers
held-out training questions as its TFLite file would. The best one within the target becomes a bundle, which
can be trained further or exported.

    python -m benchmarks.search --model runs/demo/teacher --target-mb 8
"""

from qa.base.commands import run_command

if __name__ == "__main__":
    run_command("search")
