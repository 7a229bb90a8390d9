"""Results as tables, plots and one HTML page."""
