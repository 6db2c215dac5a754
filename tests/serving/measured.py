"""The application as :mod:`tests.serving.unlimited`: a worker also says how much memory it has in use."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from typing import Final

import zxcvbn  # noqa: F401  the first password that is checked loads its word lists, 14 MB: once, so no growth

from tests.serving.server import IN_USE
from tests.serving.unlimited import app

OBJECT_BYTES: Final = 80
"""About the mean of what Python's own allocator gives out here."""

NAMES: Final = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"


class Mallinfo(ctypes.Structure):
    """``struct mallinfo2`` of glibc: ``uordblks`` and ``hblkhd`` are the bytes in use."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in NAMES.split())


mallinfo = ctypes.CDLL(None).mallinfo2
mallinfo.restype = Mallinfo


@app.get(IN_USE)
def in_use() -> dict[str, int]:
    """The process, and the bytes that its allocators gave out and did not get back."""
    gc.collect()
    malloc, objects = mallinfo(), sys.getallocatedblocks()
    return {"pid": os.getpid(), "bytes": malloc.uordblks + malloc.hblkhd + OBJECT_BYTES * objects}
