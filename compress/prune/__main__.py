"""Prune a model, then let it recover against its teacher.

Structured (the default) removes attention heads and feed-forward neurons physically: the result is an
ordinary dense model, smaller and faster everywhere. Magnitude sets single weights to zero: the file
compresses better, and nothing gets faster.

    python -m compress.prune --model runs/demo/student --teacher runs/demo/teacher \\
        --keep-ffn 0.5 --keep-heads 0.67
    python -m compress.prune --model runs/demo/student --method magnitude --sparsity 0.8 --iterations 5
"""

from qa.base.commands import run_command

if __name__ == "__main__":
    run_command("prune")
