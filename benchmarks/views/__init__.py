"""Tables and plots out of rows."""
