"""Export a PyTorch bundle to ONNX: one graph of standard operators for any batch and length.

The graph is compared with PyTorch on real windows.

python -m export.onnx --model runs/demo/student --quantize int8

Run it with -m only: started as a file, this module would import itself as the package `onnx`.
"""

from qa.base.commands import run_command

if __name__ == "__main__":
    run_command("export onnx")
