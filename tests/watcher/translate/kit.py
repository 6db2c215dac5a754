"""What tests of the translation share: the logs of payouts, and what becomes of logs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from app.network.rules.watch_terms import WatchedNetwork
from app.transfers.rules.events.event_types import Event, WithdrawDone
from app.values.identifiers import BlockNumber
from app.watcher.rules.blocks import Log
from app.watcher.rules.logs.translation import Translation, translate
from app.watcher.rules.steps import Waiting
from tests.watcher.logs import (
    ALICE,
    BOB,
    BRIDGE,
    ID,
    NETWORK,
    PAYOUT,
    PEGGED,
    POOL,
    TERMS,
    THERE,
    TOKEN,
    VAULT,
    block_hash,
    headers_of,
    log,
    tx_hash,
)

ID_OF_LOG = f"1:{block_hash(100)}:{tx_hash('one')}:4"
"""The id of an event of the first log that ``log`` makes."""


def translated(
    *logs: Log, read_to: int = 100, waiting: tuple[Waiting, ...] = (), network: WatchedNetwork = NETWORK
) -> Translation:
    """What a step of the first chain makes of the logs.

    :param read_to: the last block that was read.
    """
    return translate(network, TERMS, logs, headers_of(*logs), waiting, read_to=BlockNumber(read_to))


def but_ids(events: Iterable[Event]) -> list[Event]:
    """The events apart from those that say that a withdraw id is used up."""
    return [event for event in events if not isinstance(event, WithdrawDone)]


def relay(**where: Any) -> Log:
    """A relay of the pool."""
    return log("Relay", PAYOUT, ALICE, BOB, TOKEN, 7, THERE, ID, **where)


def withdraw(refid: bytes = ID, **where: Any) -> Log:
    """A withdrawal of the pool."""
    return log("WithdrawDone", PAYOUT, 3, BOB, TOKEN, 7, refid, **where)


def withdrawn(chain: int, ref: bytes = ID, **where: Any) -> Log:
    """A payout of the vault."""
    return log("Withdrawn", PAYOUT, BOB, TOKEN, 7, chain, ref, ALICE, **{"contract": VAULT, **where})


def mint(chain: int, ref: bytes = ID, **where: Any) -> Log:
    """A payout of the pegged token's bridge."""
    return log("Mint", PAYOUT, PEGGED, BOB, 7, chain, ref, ALICE, **{"contract": BRIDGE, **where})


def added(contract: bytes = POOL, **where: Any) -> Log:
    """A payout that is queued."""
    return log("DelayedTransferAdded", PAYOUT, contract=contract, **{"index": 3, **where})


def executed(contract: bytes = POOL, **where: Any) -> Log:
    """The execution of a queued payout, 20 blocks later."""
    paid = {"block": 120, "index": 2, "tx": "later", **where}
    return log("DelayedTransferExecuted", PAYOUT, BOB, TOKEN, 7, contract=contract, **paid)
