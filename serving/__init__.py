"""What gunicorn's gevent worker lacks: deadlines, bounded heads, and an even share of the connections.

Only ``gunicorn.conf.py`` uses it; other WSGI servers serve the same application without it
(docs/decisions/0012-server.md).
"""

from gevent import monkey


def patch() -> None:
    """Make sockets, locks and sleeps those of gevent. To be called before anything else is imported.

    A lock or a pool that was made earlier would stop the whole process instead of one greenlet. Signals and
    children are the master's, which looks after them itself.
    """
    monkey.patch_all(os=False, signal=False, subprocess=False)
