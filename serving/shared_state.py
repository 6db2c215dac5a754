"""What the master knows of the end of the server, in memory that its workers share.

Here, and not in ``gunicorn.conf.py``: a reload reads that again, and would start with new values.
"""

from __future__ import annotations

from multiprocessing.sharedctypes import RawValue
from typing import Final

STOPPING: Final = RawValue("b", False)
"""Whether the server ends, and not only some of its workers."""

SILENT: Final = RawValue("b", False)
"""Whether somebody ends it at a terminal: from then on it prints nothing about what it does."""
