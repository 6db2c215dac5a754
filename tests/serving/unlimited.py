"""The application as it is served, with what the environment does not set: it stores counts only when it
ends, and limits no refund requests."""

from dataclasses import replace

from app import create_app
from config import load_settings

app = create_app(replace(load_settings(), estimate_counts_seconds=300, refund_request_limit="100000/second"))
