"""What gunicorn's gevent worker lacks: deadlines, bounded heads, and an even share of the connections.

Only ``gunicorn.conf.py`` uses it; other WSGI servers serve the same application without it
(docs/decisions/0012-server.md).
"""

from gevent import events, monkey


def patch() -> None:
    """Make sockets, locks and sleeps those of gevent. To be called before anything else is imported.

    A lock or a pool that was made earlier would stop the whole process instead of one greenlet. Signals and
    children are the master's, which looks after them itself.
    """
    # It would look for plugins among all installed packages, nineteen times over, which takes longer than the
    # rest. The only one is its own: a warning of something else than is asked for here.
    events.notify_and_call_entry_points = events.notify
    monkey.patch_all(os=False, signal=False, subprocess=False)
