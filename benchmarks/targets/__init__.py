"""Where bundles are computed other than on this CPU."""
