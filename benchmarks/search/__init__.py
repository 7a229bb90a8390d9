"""Search for the best small file of a model; drives all stages before it."""
