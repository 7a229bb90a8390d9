"""Everyday: questions about texts of daily life, in a person's own words; README.md is its data card."""
