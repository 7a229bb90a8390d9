"""Passes over a parsed .tflite: each changes the file in place, and no number that it computes."""
