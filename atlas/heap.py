"""Keeps the process's memory small: two heaps for all threads, and what is free goes back to the system.

A session is such a circle, and its detector 2 MB that Python knows nothing of: left to itself it looks at all objects
only when a quarter of them are new, and the C library keeps the blocks between two others. What there is when the house
is open stays for good; looking at it every time would stop the house for most of a second.
"""

from __future__ import annotations

import ctypes
import gc
from functools import cache

M_ARENA_MAX = -8  # of glibc's malloc.h
ARENAS = 2  # each thread has one by itself, and what one leaves free no other can use: 16 held 190 MB more


def share() -> None:
    """Let all threads take memory from the same places. To be called before there are any."""
    if mallopt := getattr(_c_library(), "mallopt", None):
        mallopt(M_ARENA_MAX, ARENAS)


def settle() -> None:
    """Take everything that there is now for what stays."""
    gc.collect()
    gc.freeze()


def trim() -> None:
    """Give back what is of no use. Python's part takes milliseconds in a settled house; without glibc it is all."""
    gc.collect()
    library = _c_library()
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)


@cache
def _c_library() -> ctypes.CDLL:
    return ctypes.CDLL(None)
