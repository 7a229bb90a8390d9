"""Extractive question answering: what more than one stage of PocketQA must know."""

from qa.quiet import quiet_libraries

quiet_libraries()
