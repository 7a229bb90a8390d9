"""Export a PyTorch bundle to TFLite: one sideloadable file with a signature for each window length.

The file is compared with PyTorch on real windows.

python -m export.tflite --model runs/demo/student --quantize int8
"""

from export.tflite.stage import main
from qa.base.cli import run_command

if __name__ == "__main__":
    run_command(main)
