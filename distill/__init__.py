"""Training: a teacher, a smaller student, and distillation of one into the other."""
