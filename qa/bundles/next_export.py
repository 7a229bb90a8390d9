"""The export that a user would type next, in a format that can hold the model's tokenizer."""

from qa.base.next_step import say_next
from qa.bundles.bundle import Bundle
from qa.text.tokenization import BERT, special_tokens


def say_next_export(bundle: Bundle, precision: str = "int8") -> None:
    """Print the command that exports the bundle; a TFLite package takes BERT's tokenizers only."""
    if special_tokens(bundle.tokenizer) is BERT:
        say_next("export tflite", "--model", bundle.path, "--quantize", precision)
    else:
        say_next("export onnx", "--model", bundle.path, "--quantize", "int8")
