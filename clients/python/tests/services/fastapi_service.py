"""A service of FastAPI that shows transfers to its own clients: one gateway client, many requests at a time.

``GATEWAY`` is the gateway's address.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import StreamingResponse
from transfer_gateway_client import AsyncGateway, GatewayError, StatusEvent, find_way, wait_until_done


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with AsyncGateway(os.environ["GATEWAY"]) as gateway:
        app.state.gateway = gateway
        yield


app = FastAPI(lifespan=lifespan)


def gateway_of(request: Request) -> AsyncGateway:
    gateway: AsyncGateway = request.app.state.gateway
    return gateway


Hub = Annotated[AsyncGateway, Depends(gateway_of)]


@app.get("/quotes/{symbol}/{amount}")
async def quote(symbol: str, amount: int, gateway: Hub) -> dict[str, str]:
    way = find_way(await gateway.configs(), symbol, 1, 56)
    try:
        estimate = await gateway.estimate(
            src_chain_id=1,
            dst_chain_id=56,
            token_symbol=symbol,
            amount=amount,
            slippage_tolerance=3000,
            is_pegged=way.is_pegged,
        )
    except GatewayError as error:
        raise HTTPException(422, error.reason) from error
    return {"contract": way.contract, "received": estimate["estimated_receive_amt"]}


@app.get("/transfers/{transfer_id}")
async def transfer(transfer_id: str, gateway: Hub) -> dict[str, int]:
    return {"status": (await gateway.status(transfer_id)).status}


@app.get("/transfers/{transfer_id}/end")
async def end(transfer_id: str, gateway: Hub) -> dict[str, object]:
    state = await wait_until_done(gateway, transfer_id, timeout=60)
    return {"status": state.status, "next_actor": state.next_actor}


@app.get("/transfers/{transfer_id}/events")
async def events(transfer_id: str, gateway: Hub) -> StreamingResponse:
    async def lines() -> AsyncIterator[str]:
        async for change in gateway.events(transfer_id=transfer_id):
            if isinstance(change, StatusEvent):
                yield json.dumps({"status": change.status}) + "\n"

    return StreamingResponse(lines(), media_type="application/x-ndjson")


@app.get("/accounts/{account}")
async def account(account: str, gateway: Hub) -> list[int]:
    return [row["status"] async for row in gateway.history(account)]
