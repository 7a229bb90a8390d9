"""Memory that training keeps between its steps, and gives back afterwards."""

import contextlib
import ctypes
import os
from collections.abc import Iterator

# Parameters of glibc's mallopt (malloc.h), with its defaults: free memory at the end of the heap that goes
# back to the kernel, and blocks outside the heap.
M_TRIM_THRESHOLD = -1
M_MMAP_MAX = -4
TRIM_THRESHOLD = 128 * 1024
MMAP_MAX = 65536


@contextlib.contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Let glibc keep inside the block what one step frees for the next.

    To return it to the kernel and fault it in took a quarter of a step. mallopt has no getter: afterwards the
    values are those of the environment, or glibc's defaults.
    """
    try:
        libc = ctypes.CDLL(None)
        mallopt, trim = libc.mallopt, libc.malloc_trim
    except (AttributeError, OSError):  # another C library
        yield
        return
    mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
    mallopt(M_MMAP_MAX, 0)
    try:
        yield
    finally:
        mallopt(M_TRIM_THRESHOLD, int(os.environ.get("MALLOC_TRIM_THRESHOLD_", TRIM_THRESHOLD)))
        mallopt(M_MMAP_MAX, int(os.environ.get("MALLOC_MMAP_MAX_", MMAP_MAX)))
        trim(0)
