"""Text to windows of tokens, and logits back to answers."""
