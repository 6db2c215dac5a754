"""The shipped gunicorn settings for an application that is not ours: it has no database and no limits."""

from __future__ import annotations

import runpy
from pathlib import Path

_shipped = runpy.run_path(str(Path(__file__).resolve().parent.parent / "gunicorn.conf.py"))
_OF_OURS = ("on_starting", "when_ready", "post_fork", "post_worker_init")
globals().update({name: value for name, value in _shipped.items() if name not in _OF_OURS and name[0] != "_"})
