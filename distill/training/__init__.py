"""Training loop and its parts: batches, losses, optimizers, teacher logits."""
