"""Train a model for its int8 or int4 export (quantization-aware training), against its teacher.

Linears are first rounded with error feedback (compress.qat.gptq); --epochs 0, without --teacher, stops
there. Then the model trains with its weights and activations rounded in every step as LiteRT rounds them
(compress.qat.fake_quant). The result is an ordinary PyTorch bundle with rounded weights. Its TFLite export in
that precision stores exactly these integers, or fails.

    python -m compress.qat --model runs/demo/student-pruned --teacher runs/demo/teacher --quantize int4
    python -m export.tflite --model runs/demo/student-pruned-qat-int4 --quantize int4
"""

from qa.base.commands import run_command

if __name__ == "__main__":
    run_command("qat")
