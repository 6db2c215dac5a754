"""The same as a service of aiohttp. ``GATEWAY`` is the gateway's address, the argument the port."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator

from aiohttp import web
from transfer_gateway_client import AsyncGateway, GatewayError, StatusEvent, find_way, wait_until_done

GATEWAY = web.AppKey("gateway", AsyncGateway)
routes = web.RouteTableDef()


async def with_gateway(app: web.Application) -> AsyncIterator[None]:
    async with AsyncGateway(os.environ["GATEWAY"]) as gateway:
        app[GATEWAY] = gateway
        yield


@routes.get("/quotes/{symbol}/{amount}")
async def quote(request: web.Request) -> web.Response:
    gateway, symbol = request.app[GATEWAY], request.match_info["symbol"]
    way = find_way(await gateway.configs(), symbol, 1, 56)
    try:
        estimate = await gateway.estimate(
            src_chain_id=1,
            dst_chain_id=56,
            token_symbol=symbol,
            amount=int(request.match_info["amount"]),
            slippage_tolerance=3000,
            is_pegged=way.is_pegged,
        )
    except GatewayError as error:
        return web.json_response({"detail": error.reason}, status=422)
    return web.json_response({"contract": way.contract, "received": estimate["estimated_receive_amt"]})


@routes.get("/transfers/{transfer_id}")
async def transfer(request: web.Request) -> web.Response:
    state = await request.app[GATEWAY].status(request.match_info["transfer_id"])
    return web.json_response({"status": state.status})


@routes.get("/transfers/{transfer_id}/end")
async def end(request: web.Request) -> web.Response:
    state = await wait_until_done(request.app[GATEWAY], request.match_info["transfer_id"], timeout=60)
    return web.json_response({"status": state.status, "next_actor": state.next_actor})


@routes.get("/transfers/{transfer_id}/events")
async def events(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
    await response.prepare(request)
    async for change in request.app[GATEWAY].events(transfer_id=request.match_info["transfer_id"]):
        if isinstance(change, StatusEvent):
            await response.write(json.dumps({"status": change.status}).encode() + b"\n")
    return response


@routes.get("/accounts/{account}")
async def account(request: web.Request) -> web.Response:
    rows = request.app[GATEWAY].history(request.match_info["account"])
    return web.json_response([row["status"] async for row in rows])


def made() -> web.Application:
    app = web.Application()
    app.cleanup_ctx.append(with_gateway)
    app.add_routes(routes)
    return app


if __name__ == "__main__":
    # Without handler_cancellation a handler goes on although its own client has left.
    web.run_app(made(), host="127.0.0.1", port=int(sys.argv[1]), handler_cancellation=True, print=None)
