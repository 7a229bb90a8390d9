"""Measuring: accuracy and latency of the same file, rows, tables and reports."""
