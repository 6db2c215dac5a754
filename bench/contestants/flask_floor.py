"""The floor: a Flask route with one SQLAlchemy Core read by primary key, in autocommit."""

from __future__ import annotations

import os

import orjson
from flask import Flask, Response
from sqlalchemy import bindparam, create_engine, select

from app.transfers.models import Transfer

app = Flask(__name__)
engine = create_engine(
    os.environ["DATABASE_URL"],
    isolation_level="AUTOCOMMIT",
    pool_size=int(os.environ["CONNECTIONS"]),
    max_overflow=0,  # or each request beyond the pool opens a connection of its own, and closes it
)
table = Transfer.__table__
QUERY = select(
    table.c.status,
    table.c.refund_reason,
    table.c.src_chain_id,
    table.c.dst_chain_id,
    table.c.src_tx_hash,
    table.c.dst_tx_hash,
).where(table.c.transfer_id == bindparam("key"))


@app.get("/<key>")
def read(key: str) -> Response:
    with engine.connect() as connection:
        row = connection.execute(QUERY, {"key": bytes.fromhex(key[2:])}).one()
    return Response(orjson.dumps(dict(row._mapping)), content_type="application/json")
