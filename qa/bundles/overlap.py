"""Train-test overlap in words: the share of questions about passages that a model was trained on."""

NOTABLE_SHARE = 0.01
TUNED_LINE = "its thresholds are tuned on these questions, so its scores are too high"


def is_notable(share: float | None) -> bool:
    """Return True where too many questions are about passages trained on to score new texts.

    A single passage may be a word that both have, or one of a million hashes that is equal by chance.
    """
    return (share or 0) >= NOTABLE_SHARE


def overlap_line(share: float | None) -> str:
    """Say what share of the questions is about passages trained on, or that it is unknown; empty at 0."""
    if share is None:
        return "train-test overlap: unknown, as the model has no whole record of its training"
    if share == 0:
        return ""
    so = ", so its scores say nothing about new texts" if is_notable(share) else ""
    return (
        f"train-test overlap: {share:.2%} of these questions are about passages that the model was trained "
        f"on{so}"
    )
