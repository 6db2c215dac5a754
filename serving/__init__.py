"""The worker of gunicorn that serves the gateway: who may wait how long, and who is accepted.

Only ``gunicorn.conf.py`` uses it; other WSGI servers serve the same application without it
(docs/decisions/0012-server.md).
"""
