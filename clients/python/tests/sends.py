"""Sends transfers on nodes: reads lines of JSON, one a transfer, and prints what became of each.

The argument is the address of the gateway; a line that is ``awaited`` is sent by the client for asyncio.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from hexbytes import HexBytes
from transfer_gateway_client import AsyncGateway, Gateway, wait_until
from transfer_gateway_client.evm import SendRefused, get_quote
from web3 import AsyncHTTPProvider, AsyncWeb3, HTTPProvider, Web3

SUBMITTED = 1


def send(base: str, wanted: dict[str, Any]) -> list[Any]:
    """The id that was computed, the hash, whether it succeeded, and whether the contract takes it again."""
    w3 = Web3(HTTPProvider(wanted["node"]))
    with Gateway(base) as gateway:
        quote = get_quote(gateway, **wanted["question"])
        sent = quote.send(w3, timeout=60)
        done = w3.eth.wait_for_transaction_receipt(HexBytes(sent), timeout=60)["status"]
        wait_until(gateway, quote.transfer_id, lambda state: state.status >= SUBMITTED, timeout=90)
        try:
            quote.send(w3, timeout=60)
        except SendRefused:
            return [quote.transfer_id, sent, done, "refused"]
        return [quote.transfer_id, sent, done, "sent twice"]


async def send_awaited(base: str, wanted: dict[str, Any]) -> list[Any]:
    w3 = AsyncWeb3(AsyncHTTPProvider(wanted["node"]))
    try:
        async with AsyncGateway(base) as gateway:
            quote = await get_quote(gateway, **wanted["question"])
            sent = await quote.send(w3, timeout=60)
            done = (await w3.eth.wait_for_transaction_receipt(HexBytes(sent), timeout=60))["status"]
            await wait_until(gateway, quote.transfer_id, lambda state: state.status >= SUBMITTED, timeout=90)
            try:
                await quote.send(w3, timeout=60)
            except SendRefused:
                return [quote.transfer_id, sent, done, "refused"]
            return [quote.transfer_id, sent, done, "sent twice"]
    finally:
        await w3.provider.disconnect()


async def main(base: str) -> None:
    """All at a time."""
    every = [json.loads(line) for line in sys.stdin]
    rows = (
        send_awaited(base, wanted) if wanted["awaited"] else asyncio.to_thread(send, base, wanted)
        for wanted in every
    )
    for row in await asyncio.gather(*rows):
        print(json.dumps(row))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
