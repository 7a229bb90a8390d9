"""Latency and throughput: rounds of models that take turns, each in a process of its own."""
