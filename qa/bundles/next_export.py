"""Choice of the command that can follow for a PyTorch bundle, printed at the end of its stage."""

from typing import TYPE_CHECKING

from qa.base.next_step import say_next
from qa.bundles.bundle import Bundle

if TYPE_CHECKING:
    from qa.models.architectures import EncoderType


def export_format(bundle: Bundle) -> str:
    """Return "tflite", or "onnx" for a model that TFLite cannot express."""
    return "onnx" if _architecture(bundle).no_tflite else "tflite"


def can_train_rounded(bundle: Bundle) -> bool:
    """Return True where `compress.qat` can train the integers that a TFLite file will have."""
    return not _architecture(bundle).no_qat


def can_be_pruned(bundle: Bundle) -> bool:
    """Return True where a student can have some of the model's heads and neurons."""
    return _architecture(bundle).parts is not None


def _architecture(bundle: Bundle) -> "EncoderType":
    from qa.models.architectures import encoder_type  # loads torch
    from qa.models.model import OWN_TYPE, read_config

    config = read_config(bundle.path)
    return encoder_type(config.get(OWN_TYPE, config)["encoder"]["model_type"])


def say_next_export(
    bundle: Bundle, precision: str = "int8", embeddings: str | None = None, eval_data: str | None = None
) -> None:
    """Print the command that exports a PyTorch bundle, its embedding table in this form, and scores it."""
    more = {"--embeddings": embeddings, "--eval-data": eval_data}
    given = [word for flag, value in more.items() if value is not None for word in (flag, value)]
    say_next(f"export {export_format(bundle)}", "--model", bundle.path, "--quantize", precision, *given)
