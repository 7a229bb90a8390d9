"""Converters and quantizers print much, from C++ too; it is shown only when they fail."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator

from qa.base.errors import OptionError


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Keep what the block prints off the terminal; show it on stderr when the block fails.

    The file descriptors 1 and 2 belong to the process, so no other thread may print meanwhile.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    saved = [os.dup(1), os.dup(2)]
    with tempfile.TemporaryFile() as log:
        try:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
            yield
        except OptionError:
            raise
        except Exception:
            sys.stdout.flush()
            log.seek(0)
            os.write(saved[1], log.read())
            raise
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, descriptor in zip((1, 2), saved, strict=True):
                os.dup2(descriptor, number)
                os.close(descriptor)
