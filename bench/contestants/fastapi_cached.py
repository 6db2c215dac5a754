"""FastAPI with asyncpg that keeps the rows of statuses, and drops those whose transfers the journal names."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
from fastapi import FastAPI, Response

from app.waiting.register import TICK_SECONDS
from bench.contestants import fastapi_status as without
from bench.contestants.fastapi_status import Question, answered, read

CHANGED = "SELECT sequence, transfer_id FROM status_changes WHERE sequence > $1 ORDER BY sequence"
NEWEST = "SELECT coalesce(max(sequence), 0) FROM status_changes"


class Rows:
    """What was read, as long as the journal was followed to ``sequence`` and does not name its transfer."""

    sequence = 0

    def __init__(self) -> None:
        self.kept: dict[bytes, Any] = {}

    async def follow(self, connections: asyncpg.Pool) -> None:
        """Drop what has changed, as often as the gateway does."""
        while True:
            for changed in await connections.fetch(CHANGED, self.sequence):
                self.sequence = changed["sequence"]
                self.kept.pop(changed["transfer_id"], None)
            await asyncio.sleep(TICK_SECONDS)

    async def row(self, transfer_id: bytes) -> Any:
        """The row of a transfer."""
        if (row := self.kept.get(transfer_id)) is None:
            before = self.sequence
            row = await read(transfer_id)
            if before == self.sequence:
                self.kept[transfer_id] = row
        return row


rows = Rows()


@asynccontextmanager
async def following(_app: FastAPI) -> AsyncIterator[None]:
    """Open the other contestant, and follow the journal of its database."""
    async with without.pool(without.app):
        connections = without.app.state.pool
        rows.sequence = await connections.fetchval(NEWEST)
        looking = asyncio.create_task(rows.follow(connections))
        yield
        looking.cancel()


app = FastAPI(lifespan=following)


@app.post("/v2/getTransferStatus")
async def status(question: Question) -> Response:
    """Where is this transfer?"""
    return answered(await rows.row(bytes.fromhex(question.transfer_id[2:])))
