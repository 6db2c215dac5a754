"""The gateway with routes that show what happens inside a worker. Only for the tests beside it."""

from __future__ import annotations

import os
import time

from flask import jsonify, request
from flask.typing import ResponseReturnValue
from sqlalchemy import func, insert, select, update

from app import create_app
from app.models.engine import reading, writing
from app.models.pools import PoolCounter
from app.services.gateway import current_gateway

app = create_app()
with app.app_context(), reading(current_gateway().engine) as _before_the_fork:
    _before_the_fork.execute(select(1))  # leaves a connection in the pool that forking would share


@app.get("/probe")
def probe() -> ResponseReturnValue:
    """Which process answers, over which connection of the server, and how the request looks to it."""
    with reading(current_gateway().engine) as connection:
        backend = None
        if connection.dialect.name == "postgresql":
            backend = connection.scalar(select(func.pg_backend_pid()))
    return jsonify(pid=os.getpid(), backend=backend, scheme=request.scheme, query=len(request.query_string))


@app.post("/count")
def count() -> ResponseReturnValue:
    """Add one to a counter by reading and writing it: only right when writers take turns."""
    with writing(current_gateway().engine) as connection:
        seen = connection.scalar(select(PoolCounter.added))
        if seen is None:
            connection.execute(
                insert(PoolCounter).values(chain_id=1, symbol="A", added=1, sent=0, relayed=0, withdrawn=0)
            )
        else:
            connection.execute(update(PoolCounter).values(added=seen + 1))
    return jsonify(pid=os.getpid(), seen=str(seen or 0))


@app.get("/slow")
def slow() -> ResponseReturnValue:
    """Take a second, as a request does that is in flight when the server is told to stop."""
    time.sleep(1)
    return jsonify(pid=os.getpid())
