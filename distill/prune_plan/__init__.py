"""Which heads and neurons a smaller model keeps: importance, costs, and the best within a target."""
