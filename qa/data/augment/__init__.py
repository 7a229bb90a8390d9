"""Unanswerable questions made from answerable ones, as QeRMIT proposes."""
