"""Claims refunds on a node: reads lines of JSON, one a transfer, and prints how each ended.

The arguments are the addresses of the gateway and of the node.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from eth_account import Account
from hexbytes import HexBytes
from transfer_gateway_client import Gateway, wait_until
from transfer_gateway_client.evm import RefundRefused, claim_refund, execute_delayed
from web3 import HTTPProvider, Web3
from web3.middleware import SignAndSendRawMiddlewareBuilder

CONFIRMING = 9


def claim(gateway: Gateway, node: str, wanted: dict[str, Any]) -> list[Any]:
    """By an account of the node's, or signed here with a key: then who sends is not who is paid."""
    w3 = Web3(HTTPProvider(node))
    transfer, receiver = wanted["transfer"], wanted["receiver"]
    account = receiver
    if key := wanted.get("key"):
        signer = Account.from_key(key)
        w3.middleware_onion.inject(SignAndSendRawMiddlewareBuilder.build(signer), layer=0)
        account = signer.address
    sent = claim_refund(gateway, transfer, w3, account=account, receiver=receiver, timeout=90)
    done = w3.eth.wait_for_transaction_receipt(HexBytes(sent), timeout=60)["status"]
    if wanted.get("delayed"):
        wait_until(gateway, transfer, lambda state: state.status >= CONFIRMING, timeout=90)
        execute(gateway, transfer, w3, account)
    return [sent, done, wait_until(gateway, transfer, lambda state: state.terminal, timeout=90).status]


def execute(gateway: Gateway, transfer: str, w3: Web3, account: str) -> None:
    while True:
        try:
            execute_delayed(gateway, transfer, w3, account=account)
        except RefundRefused:
            # The delay is not over: let the node's clock go on.
            w3.provider.make_request("evm_increaseTime", [30])  # type: ignore[arg-type]
            w3.provider.make_request("evm_mine", [])  # type: ignore[arg-type]
        else:
            return


def main(base: str, node: str) -> None:
    with Gateway(base) as gateway:
        for line in sys.stdin:
            print(json.dumps(claim(gateway, node, json.loads(line))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
