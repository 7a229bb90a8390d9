"""Question-answering models: a registry of encoders and heads, and the model that joins one of each."""

from qa.base.quiet import quiet_import

with quiet_import():
    import transformers.modeling_utils  # noqa: F401, it imports torchao where that is installed
