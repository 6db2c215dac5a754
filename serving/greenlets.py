"""Makes sockets, locks and sleeps those of gevent, in a process that becomes gunicorn."""

from __future__ import annotations

from gevent import monkey


def patch() -> None:
    """To be called before anything else is imported.

    A lock or a pool that was made earlier would stop the whole process instead of one greenlet. Signals and
    children are the master's, which looks after them itself.
    """
    monkey.patch_all(os=False, signal=False, subprocess=False)
