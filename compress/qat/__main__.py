"""Train a finished model on the grid of integers that its int8 or int4 export computes with, against its
teacher.

Linears are first rounded with error feedback (compress.qat.gptq); --epochs 0 leaves it at that. Then the
model learns, its weights and activations rounded in every step as LiteRT rounds them
(compress.qat.fake_quant). The result is an ordinary PyTorch bundle whose weights lie on the grid, and the
TFLite export to that precision stores just these integers, or fails.

    python -m compress.qat --model runs/demo/student-pruned --teacher runs/demo/teacher --quantize int4
    python -m export.tflite --model runs/demo/student-pruned-grid-int4 --quantize int4
"""

from compress.qat.stage import main
from qa.base.cli import run_command

if __name__ == "__main__":
    run_command(main)
