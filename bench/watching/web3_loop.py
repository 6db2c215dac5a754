"""The loop that most people would write with web3, on the same logs into the same database.

``python -m bench.watching.web3_loop URL DATABASE FIRST LAST ADDRESS…`` requests the logs of a range,
processes each, requests each block's time once and writes a row a log. It checks nothing and stores no
cursor.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson
import psycopg
from web3 import Web3
from web3.contract import Contract
from web3.types import FilterParams

from bench.watching.contracts import SIGNATURES, TOPICS

RANGE: Final = 2_000
TABLE: Final = """
CREATE TABLE logs (
    id text PRIMARY KEY, name text, block bigint, at bigint, tx_hash text, transfer_id bytea, fields text
)
"""
FIELD_NAMES: Final = {
    "Send": "transferId sender receiver token amount dstChainId nonce maxSlippage",
    "Relay": "transferId sender receiver token amount srcChainId srcTransferId",
    "LiquidityAdded": "seqnum provider token amount",
    "WithdrawDone": "withdrawId seqnum receiver token amount refid",
    "Deposited": "depositId depositor token amount mintChainId mintAccount nonce",
    "Withdrawn": "withdrawId receiver token amount refChainId refId burnAccount",
    "Mint": "mintId token account amount refChainId refId depositor",
    "Burn": "burnId token account amount toChainId toAccount nonce",
}
TRANSFER: Final = {
    "Send": "transferId",
    "Relay": "srcTransferId",
    "WithdrawDone": "refid",
    "Deposited": "depositId",
    "Withdrawn": "refId",
    "Mint": "refId",
    "Burn": "burnId",
}
"""The field that names the transfer."""


def abi() -> list[dict[str, Any]]:
    return [
        {
            "type": "event",
            "name": name,
            "anonymous": False,
            "inputs": [
                {"name": field, "type": kind, "indexed": False}
                for field, kind in zip(FIELD_NAMES[name].split(), _types(signature), strict=True)
            ],
        }
        for name, signature in SIGNATURES.items()
    ]


def _types(signature: str) -> list[str]:
    return signature[signature.index("(") + 1 : -1].split(",")


def rows(w3: Web3, contract: type[Contract], logs: Iterable[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    events = {topic: getattr(contract.events, name)() for name, topic in TOPICS.items()}
    times: dict[int, int] = {}
    made = []
    for log in logs:
        said = events[bytes(log["topics"][0])].process_log(log)
        number = said["blockNumber"]
        if number not in times:
            times[number] = w3.eth.get_block(number)["timestamp"]
        fields = {
            key: value.hex() if isinstance(value, bytes) else value for key, value in said["args"].items()
        }
        about = said["args"].get(TRANSFER.get(said["event"], ""))
        made.append(
            (
                f"{said['blockHash'].hex()}:{said['logIndex']}",
                said["event"],
                number,
                times[number],
                said["transactionHash"].hex(),
                about,
                orjson.dumps({key: str(value) for key, value in fields.items()}).decode(),
            )
        )
    return made


def main(url: str, database: str, first: int, last: int, addresses: list[str]) -> None:
    """Read the range and exit."""
    w3 = Web3(Web3.HTTPProvider(url))
    contract = w3.eth.contract(abi=abi())
    checksummed = [Web3.to_checksum_address(address) for address in addresses]
    with psycopg.connect(database) as connection:
        connection.execute(TABLE)
        for start in range(first, last + 1, RANGE):
            wanted: FilterParams = {
                "fromBlock": start,
                "toBlock": min(start + RANGE - 1, last),
                "address": checksummed,
            }
            made = rows(w3, contract, w3.eth.get_logs(wanted))
            with connection.cursor() as cursor:
                cursor.executemany("INSERT INTO logs VALUES (%s, %s, %s, %s, %s, %s, %s)", made)
            connection.commit()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:])
