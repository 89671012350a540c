"""How much freed memory the C library keeps for the next large result.

Left alone, it gives the top of the heap back as soon as a result of 1 MiB is freed, and every copy of the next one
touches each of its pages for the first time again: that costs several times the copying itself.

The one rule: asked for once, by a process that is about to serve, because it is the whole process that it changes;
where the library has no such setting, or whoever starts us has chosen one, nothing happens.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping

KEPT = 16 * 1024 * 1024
"""Freed bytes at the top of the heap beyond which they are given back: the bound of what this can cost."""

APART = 4 * 1024 * 1024
"""Bytes from which a block is mapped for itself and given back when freed, so that a rare giant is not kept."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # malloc.h of glibc
_CHOSEN = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES", "LD_PRELOAD")


def keep_freed_memory(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether it was set. CPU per relayed result of 1 MiB over HTTP: 2,400 us without, 1,400 us with."""
    if sys.platform != "linux" or any(name in environment for name in _CHOSEN):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(_TRIM_THRESHOLD, KEPT)) and bool(mallopt(_MMAP_THRESHOLD, APART))
