"""``gunicorn -c gunicorn.conf.py wsgi:app`` and ``flask --app wsgi …``."""

from flask.logging import default_handler

from app import create_app
from app.runtime.log_lines import format_by_lines, format_last_resort_by_lines

format_last_resort_by_lines()
format_by_lines([default_handler])
app = create_app()
