"""The gateway with routes that show what happens inside a worker. Only for the tests next to it."""

from __future__ import annotations

import os

from flask import jsonify, request
from flask.typing import ResponseReturnValue
from sqlalchemy import func, insert, select, update

from app import create_app
from app.db.database import Database
from app.db.engine import reading, writing
from app.estimates.models import PoolCounter
from app.http.application import current

app = create_app()


def backends() -> list[int]:
    """The server's processes behind this process's connections, one of each pool."""
    found: list[int] = []
    for engine in (current(Database).engine, current(Database).reads):
        with reading(engine) as connection:
            if connection.dialect.name == "postgresql":
                found.append(connection.scalars(select(func.pg_backend_pid())).one())
            else:
                connection.execute(select(1))
    return found


with app.app_context():
    backends()  # leaves connections in the pools, which forking would share


@app.get("/probe")
def probe() -> ResponseReturnValue:
    """Which process answers, over which connections of the server, and how the request looks to it."""
    return jsonify(
        pid=os.getpid(), backends=backends(), scheme=request.scheme, query=len(request.query_string)
    )


@app.post("/count")
def count() -> ResponseReturnValue:
    """Add one to a counter by reading and writing it: only right when writers take turns."""
    with writing(current(Database).engine) as connection:
        seen = connection.scalar(select(PoolCounter.added))
        if seen is None:
            connection.execute(
                insert(PoolCounter).values(chain_id=1, symbol="A", added=1, sent=0, relayed=0, withdrawn=0)
            )
        else:
            connection.execute(update(PoolCounter).values(added=seen + 1))
    return jsonify(pid=os.getpid(), seen=str(seen or 0))
