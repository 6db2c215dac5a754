"""What gunicorn's gevent worker lacks: deadlines, bounded heads, and an even share of the connections.

Only ``gunicorn.conf.py`` uses it; other WSGI servers serve the same application without it
(docs/decisions/0012-server.md).
"""


def patch() -> None:
    """Replace sockets, locks and sleeps by those of gevent. To be called before anything else is imported.

    A lock or a pool that was made earlier would block the whole process instead of one greenlet. The master
    itself handles signals and children.
    """
    from gevent import monkey  # noqa: PLC0415  serving/ending.py comes before what takes long
    from gevent.hub import Hub  # noqa: PLC0415

    monkey.patch_all(os=False, signal=False, subprocess=False)
    # A signal may come while all greenlets wait: then the main one gets it, and nothing is to be printed.
    Hub.NOT_ERROR = (*Hub.NOT_ERROR, KeyboardInterrupt)
