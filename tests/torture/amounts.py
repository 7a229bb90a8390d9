"""How much is tried, and what counts as wrong.

TORTURE is the share of a full run, 1 in `make torture` and a short part in the other runs; SEED chooses other
cases.
"""

import os
import random

from hypothesis import HealthCheck, settings

from qa.base.errors import PocketQAError

SHARE = float(os.environ.get("TORTURE", "0.003"))
SEED = os.environ.get("SEED", "0")


def cases(n):
    """Return the numbers of the cases of a test with `n` cases in a full run."""
    return range(max(2, round(SHARE * n)))


def rng(*names):
    """Return the random numbers of a case: the same for the same names and SEED."""
    return random.Random(" ".join(map(str, (*names, SEED))))


def tries(n):
    """Return hypothesis' settings for a test that tries `n` examples in a full run."""
    return settings(
        max_examples=len(cases(n)),
        deadline=None,
        database=None,
        derandomize=SHARE < 1,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )


def refused(call):
    """Whether a call refuses its input, in one line; any other exception is a failure."""
    try:
        call()
    except PocketQAError as error:
        message = str(error)
    else:
        return False
    assert "\n" not in message
    return True


def wrong_exit(code, stderr, allowed=(0, 2)):
    """What is wrong with the end of a command: a traceback, a signal, another code, several error lines."""
    if "Traceback (most recent call last)" in stderr:
        return f"traceback: {stderr.strip().splitlines()[-1][:300]}"
    if code not in allowed:
        return f"exit code {code}: {stderr.strip()[-300:]}"
    errors = [line for line in stderr.splitlines() if line.startswith("error: ")]
    return f"{len(errors)} error lines" if code == 2 and len(errors) > 1 else ""
