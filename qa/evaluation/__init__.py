"""Scores of a model, its no-answer threshold, and intervals of both."""
