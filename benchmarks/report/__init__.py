"""The HTML page of a comparison."""
