"""Other toolchains for the same model: an adapter for each, measured beside the exports of this project."""
