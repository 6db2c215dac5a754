"""Claims refunds as ``claims.py`` does, with ``AsyncGateway`` and ``AsyncWeb3``."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from eth_account import Account
from hexbytes import HexBytes
from transfer_gateway_client import AsyncGateway, wait_until
from transfer_gateway_client.evm import RefundRefused, claim_refund, execute_delayed
from web3 import AsyncHTTPProvider, AsyncWeb3
from web3.middleware import SignAndSendRawMiddlewareBuilder

CONFIRMING = 9

Node = AsyncWeb3[AsyncHTTPProvider]


async def claim(gateway: AsyncGateway, node: str, wanted: dict[str, Any]) -> list[Any]:
    w3 = AsyncWeb3(AsyncHTTPProvider(node))
    try:
        return await claim_with(gateway, w3, wanted)
    finally:
        await w3.provider.disconnect()


async def claim_with(gateway: AsyncGateway, w3: Node, wanted: dict[str, Any]) -> list[Any]:
    transfer, receiver = wanted["transfer"], wanted["receiver"]
    account = receiver
    if key := wanted.get("key"):
        signer = Account.from_key(key)
        w3.middleware_onion.inject(SignAndSendRawMiddlewareBuilder.build(signer), layer=0)
        account = signer.address
    sent = await claim_refund(gateway, transfer, w3, account=account, receiver=receiver, timeout=90)
    done = (await w3.eth.wait_for_transaction_receipt(HexBytes(sent), timeout=60))["status"]
    if wanted.get("delayed"):
        await wait_until(gateway, transfer, lambda state: state.status >= CONFIRMING, timeout=90)
        await execute(gateway, transfer, w3, account)
    state = await wait_until(gateway, transfer, lambda state: state.terminal, timeout=90)
    return [sent, done, state.status]


async def execute(gateway: AsyncGateway, transfer: str, w3: Node, account: str) -> None:
    while True:
        try:
            await execute_delayed(gateway, transfer, w3, account=account)
        except RefundRefused:
            # The delay is not over: let the node's clock go on.
            await w3.provider.make_request("evm_increaseTime", [30])
            await w3.provider.make_request("evm_mine", [])
        else:
            return


async def main(base: str, node: str) -> None:
    async with AsyncGateway(base) as gateway:
        for line in sys.stdin:
            print(json.dumps(await claim(gateway, node, json.loads(line))), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
