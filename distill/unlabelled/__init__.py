"""Questions without gold answers, which a teacher labels."""
