"""Compression: pruning, and what each precision means on each runtime."""
