"""What every command stands on: errors, command lines, files that are whole, journals."""
