"""What a model knew of the questions of its scores, in words: passages it was trained on, thresholds."""

from qa.bundles.manifest import Tuning

NOTABLE_SHARE = 0.01
TUNED_LINE = "its thresholds are tuned on these questions, so its scores are too high"


def is_notable(share: float | None) -> bool:
    """Return True where too many questions are about passages trained on to score new texts.

    A single passage may be a word that both have, or one of a million hashes that is equal by chance.
    """
    return (share or 0) >= NOTABLE_SHARE


def is_tuned_on(tuning: Tuning | None, data_sha256: str) -> bool:
    """Return True where a model's thresholds were tuned on the file of its scores."""
    return tuning is not None and data_sha256 in {file.sha256 for file in tuning.files}


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
