"""The format that a PyTorch bundle is exported to, for the command printed at the end of its stage."""

from qa.base.next_step import say_next
from qa.bundles.bundle import Bundle
from qa.text.tokenization import BERT, special_tokens


def export_format(bundle: Bundle) -> str:
    """Return "tflite", or "onnx" for a model or a tokenizer that a phone's file cannot hold."""
    from qa.models.architectures import encoder_type  # loads torch
    from qa.models.model import OWN_TYPE, read_config

    config = read_config(bundle.path)
    encoder = config.get(OWN_TYPE, config)["encoder"]
    fits = special_tokens(bundle.tokenizer) is BERT and not encoder_type(encoder["model_type"]).no_tflite
    return "tflite" if fits else "onnx"


def say_next_export(bundle: Bundle, precision: str = "int8") -> None:
    """Print the command that exports a PyTorch bundle."""
    say_next(f"export {export_format(bundle)}", "--model", bundle.path, "--quantize", precision)
