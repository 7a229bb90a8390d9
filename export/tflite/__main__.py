"""Export a PyTorch bundle to TFLite: one file to sideload, with its tokenizer and settings.

It takes windows of any length, and is compared with PyTorch on real windows.

python -m export.tflite --model runs/demo/student --quantize int8
"""

from qa.base.commands import run_command

if __name__ == "__main__":
    run_command("export tflite")
