"""FastAPI with asyncpg: our status query, with our JSON and headers, without our rules."""

from __future__ import annotations

import asyncio
import os
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import asyncpg
import orjson
from fastapi import FastAPI, Response
from pydantic import BaseModel

from app.http.headers import AS_IT_IS, AS_OF, NEXT_ACTOR, NEXT_POLL, NO_STORE, TERMINAL
from app.http.public import ANY_ORIGIN, EXPOSED_HEADERS

QUERY = """
SELECT t.status, t.refund_reason, t.kind, t.src_chain_id, t.dst_chain_id, t.symbol,
       t.src_tx_hash, t.dst_tx_hash, t.sent_at, t.status_since,
       r.wd_onchain, r.sorted_sigs, r.signers, r.powers
FROM transfers t LEFT JOIN refunds r ON r.transfer_id = t.transfer_id
WHERE t.transfer_id = $1
"""
HEADERS = dict([NO_STORE, *AS_IT_IS, ANY_ORIGIN, ("Access-Control-Expose-Headers", EXPOSED_HEADERS)])
NEWEST = "SELECT received_at FROM events ORDER BY seq DESC LIMIT 1"
CACHED_SECONDS = 1
"""How old the cached time of the newest event may be, as with us."""


class Request(BaseModel):
    transfer_id: str


@asynccontextmanager
async def pool(app: FastAPI) -> AsyncIterator[None]:
    """As many connections as the others have threads."""
    size = int(os.environ["CONNECTIONS"])
    async with asyncpg.create_pool(os.environ["ASYNCPG_URL"], min_size=size, max_size=size) as connections:
        chains = await connections.fetch("SELECT chain_id, explore_url, block_delay FROM chains")
        app.state.pool = connections
        app.state.chains = {
            row["chain_id"]: (row["explore_url"].rstrip("/"), row["block_delay"]) for row in chains
        }
        app.state.as_of = _written(await connections.fetchval(NEWEST))
        looking = asyncio.create_task(_look(app))
        yield
        looking.cancel()


async def _look(app: FastAPI) -> None:
    while True:
        await asyncio.sleep(CACHED_SECONDS)
        app.state.as_of = _written(await app.state.pool.fetchval(NEWEST))


def _written(at: datetime | None) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ") if at else ""


app = FastAPI(lifespan=pool)


@app.post("/v2/getTransferStatus")
async def status(request: Request) -> Response:
    return answered(await read(bytes.fromhex(request.transfer_id[2:])))


async def read(transfer_id: bytes) -> Any:
    return await app.state.pool.fetchrow(QUERY, transfer_id)


def answered(row: Any) -> Response:
    return Response(
        orjson.dumps(_answer(row)), media_type="application/json", headers=HEADERS | _progress(row)
    )


def _progress(row: Any) -> dict[str, str]:
    over, by_user = row["status"] in (2, 5, 10), row["status"] in (6, 8)
    headers = {
        TERMINAL: "true" if over else "false",
        NEXT_ACTOR: "nobody" if over else "user" if by_user else "network",
        AS_OF: app.state.as_of,
    }
    if not over:
        since = row["sent_at"] or row["status_since"]
        elapsed = (datetime.now(UTC) - since).total_seconds() if since and not by_user else 480
        headers[NEXT_POLL] = str(int(min(max(elapsed / 8, 2), 300)))
    return headers


def _answer(row: Any) -> dict[str, Any]:
    src_url, block_delay = app.state.chains.get(row["src_chain_id"], ("", 0))
    dst_url, _ = app.state.chains.get(row["dst_chain_id"], ("", 0))
    evidence = row["wd_onchain"] is not None
    return {
        "err": None,
        "status": row["status"],
        "wd_onchain": b64encode(row["wd_onchain"]).decode() if evidence else None,
        "sorted_sigs": orjson.loads(row["sorted_sigs"]) if evidence else [],
        "signers": orjson.loads(row["signers"]) if evidence else [],
        "powers": orjson.loads(row["powers"]) if evidence else [],
        "refund_reason": row["refund_reason"] if row["status"] == 6 else 0,
        "block_delay": block_delay,
        "src_block_tx_link": f"{src_url}/tx/{row['src_tx_hash']}" if row["src_tx_hash"] else "",
        "dst_block_tx_link": f"{dst_url}/tx/{row['dst_tx_hash']}" if row["dst_tx_hash"] else "",
    }
