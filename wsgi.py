"""``gunicorn -c gunicorn.conf.py wsgi:app`` and ``flask --app wsgi …``."""

# ruff: noqa: E402  imports come after the collector has been stopped
import atexit
import gc

gc.disable()  # what is imported stays: looking for garbage among it costs a third of a second

from flask.logging import default_handler

from app import create_app
from app.observability.logs import format_handlers, format_last_resort
from config import named_log_format

_FORMAT = named_log_format()  # before the settings are read, which may be worth a warning
format_last_resort(_FORMAT)
format_handlers([default_handler], _FORMAT)
app = create_app()
gc.freeze()  # nor is it looked at again, and processes that are forked share its memory
gc.enable()
# The last collection of a process would walk all that was ever imported, for most of a second.
atexit.register(gc.freeze)
