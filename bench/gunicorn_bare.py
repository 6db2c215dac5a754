"""The shipped gunicorn settings for an application that is not ours, so has no connections to forget."""

from __future__ import annotations

import runpy
from pathlib import Path

_shipped = runpy.run_path(str(Path(__file__).resolve().parent.parent / "gunicorn.conf.py"))
globals().update({name: value for name, value in _shipped.items() if name != "post_fork" and name[0] != "_"})
