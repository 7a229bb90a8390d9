"""Training: a teacher, a smaller student, and distillation of one into the other."""

import qa  # noqa: F401  # quiets libraries before accelerate is imported
