"""The same with what needs web3."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any

from cases import DOES, Case, made_send, main
from transfer_gateway_client import AsyncGateway, Gateway
from transfer_gateway_client.evm import (
    AsyncQuote,
    Quote,
    Transaction,
    get_quote,
    transfer_id,
    verify_evidence,
)
from web3 import AsyncHTTPProvider, AsyncWeb3, HTTPProvider, Web3


def evidence(case: Case) -> list[Any]:
    refund = verify_evidence(
        case["evidence"], case["configs"], case["transfer"],
        receiver=case.get("receiver"), contracts=case.get("contracts", ()),
    )  # fmt: skip
    request, sigs, signers, powers = refund.arguments
    return [
        refund.kind, refund.chain_id, refund.contract, refund.function, refund.receiver, refund.token,
        str(refund.amount), "0x" + request.hex(), ["0x" + each.hex() for each in sigs], signers,
        [str(each) for each in powers],
    ]  # fmt: skip


def name(case: Case) -> str:
    return transfer_id(case["sender"], made_send(case))


def quote_of(made: Quote | AsyncQuote) -> list[Any]:
    """As the gateway answers it."""

    def plain(transaction: Transaction) -> dict[str, Any]:
        return asdict(transaction) | {"value": str(transaction.value)}

    approval = made.approval and {
        **asdict(made.approval),
        "amount": str(made.approval.amount),
        "transaction": plain(made.approval.transaction),
    }
    return [
        plain(made.transaction), approval, made.transfer_id, str(made.minimum_received), str(made.nonce),
    ]  # fmt: skip


def quote(case: Case) -> list[Any]:
    with Gateway(case["base"]) as gateway:
        return quote_of(get_quote(gateway, contracts=case.get("contracts"), **case["question"]))


def quote_awaited(case: Case) -> list[Any]:
    async def made() -> list[Any]:
        async with AsyncGateway(case["base"]) as gateway:
            return quote_of(await get_quote(gateway, contracts=case.get("contracts"), **case["question"]))

    return asyncio.run(made())


def send_quote(case: Case) -> str:
    with Gateway(case["base"]) as gateway:
        return get_quote(gateway, **case["question"]).send(Web3(HTTPProvider(case["node"])))


def send_quote_awaited(case: Case) -> str:
    async def sent() -> str:
        w3 = AsyncWeb3(AsyncHTTPProvider(case["node"]))
        try:
            async with AsyncGateway(case["base"]) as gateway:
                return await (await get_quote(gateway, **case["question"])).send(w3)
        finally:
            await w3.provider.disconnect()

    return asyncio.run(sent())


QUOTES = {each.__name__: each for each in (quote, quote_awaited, send_quote, send_quote_awaited)}

if __name__ == "__main__":
    main({**DOES, "evidence": evidence, "transfer_id": name, **QUOTES})
