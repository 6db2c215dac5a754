"""``gunicorn -c gunicorn.conf.py wsgi:app`` and ``flask --app wsgi …``."""

# ruff: noqa: E402  imports come after the collector has been stopped
import atexit
import gc

gc.disable()  # imports stay in memory: searching them for garbage costs a third of a second

import click

from serving.ending import stopped_command

if command := click.get_current_context(silent=True):
    command.find_root().with_resource(stopped_command())

from flask.logging import default_handler

from app import create_app
from app.observability.logs import format_handlers, format_last_resort
from config import named_log_format

_FORMAT = named_log_format()  # before the settings are read, which may log a warning
format_last_resort(_FORMAT)
format_handlers([default_handler], _FORMAT)
app = create_app()
gc.freeze()  # the imports are not searched later either, and forked processes share their memory
gc.enable()
# The last collection of a process would visit all imports, for most of a second.
atexit.register(gc.freeze)
