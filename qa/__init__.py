"""Extractive question answering: what more than one stage of PocketQA must know."""
