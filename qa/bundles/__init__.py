"""Models on disk: the bundle, its card, the models that ship, and import of Hugging Face checkpoints."""
