"""The format that a PyTorch bundle is exported to, for the command printed at the end of its stage."""

from qa.base.next_step import say_next
from qa.bundles.bundle import Bundle


def export_format(bundle: Bundle) -> str:
    """Return "tflite", or "onnx" for a model that TFLite cannot express."""
    from qa.models.architectures import encoder_type  # loads torch
    from qa.models.model import OWN_TYPE, read_config

    config = read_config(bundle.path)
    encoder = config.get(OWN_TYPE, config)["encoder"]
    return "onnx" if encoder_type(encoder["model_type"]).no_tflite else "tflite"


def say_next_export(bundle: Bundle, precision: str = "int8") -> None:
    """Print the command that exports a PyTorch bundle."""
    say_next(f"export {export_format(bundle)}", "--model", bundle.path, "--quantize", precision)
