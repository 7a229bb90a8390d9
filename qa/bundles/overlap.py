"""Train-test overlap in words: the share of questions about passages that a model was trained on."""

from qa.bundles.manifest import Tuning

NOTABLE_SHARE = 0.01


def is_notable(share: float | None) -> bool:
    """Return True where too many questions are about passages trained on to score new texts.

    A single passage may be a word that both have, or one of a million hashes that is equal by chance.
    """
    return (share or 0) >= NOTABLE_SHARE


def tuned_line(tuning: Tuning | None, data_sha256: str) -> str:
    """Say that a model's thresholds were tuned on the file of its scores; empty otherwise."""
    if tuning is None or data_sha256 not in {file.sha256 for file in tuning.files}:
        return ""
    return "its thresholds are tuned on these questions, so its scores are too high"


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
