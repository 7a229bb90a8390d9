"""Question-answering models: a registry of encoders and heads, and the model that joins one of each."""
