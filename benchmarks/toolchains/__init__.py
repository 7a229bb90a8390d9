"""Other tools on the same model: an adapter for each, which a comparison measures beside the exports of this
project."""
