"""Give memory back: what Python finds no use for in circles of objects, and what the C library keeps of freed blocks.

A session is such a circle, and its detector 2 MB that Python knows nothing of: left to itself it looks at all objects
only when a quarter of them are new, and the C library keeps the blocks between two others. What there is when the house
is open stays for good; looking at it every time would stop the house for most of a second.
"""

from __future__ import annotations

import ctypes
import gc
from functools import cache


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
