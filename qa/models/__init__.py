"""Question-answering models: registries of encoders and heads, and the model that joins one of each."""
