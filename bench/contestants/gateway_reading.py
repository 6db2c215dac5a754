"""The gateway with no rows in memory: the time of a status that was never requested before."""

from __future__ import annotations

from app import create_app
from app.http.application import part_of
from app.waiting.register import Waiting

app = create_app()
part_of(app, Waiting).rows.follow = lambda: None
