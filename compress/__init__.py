"""Compression: pruning, training on the integers of an export, and what each precision means on each
runtime.
"""
