"""The command line `pocketqa`: every command of the other packages under one name."""
