"""Measuring: accuracy, latency in turns, remote targets, phones."""
