"""From logs of two chains to the status that users read, by the table of the lifecycle alone."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from app.transfers.rules.events.event_types import Event, TransferEvent
from app.transfers.rules.status import CanonicalEvents, RefundFacts, status_of
from app.values.codes import TransferHistoryStatus as Status
from app.values.identifiers import BlockNumber
from app.watcher.rules.blocks import Log
from app.watcher.rules.logs.translation import translate
from tests.watcher.logs import (
    ALICE,
    BOB,
    BRIDGE,
    HERE,
    ID,
    NETWORK,
    PEGGED,
    TERMS,
    THERE,
    THIRD,
    TOKEN,
    VAULT,
    headers_of,
    log,
    own_id,
    send,
)
from tests.watcher.translate.kit import added, executed, mint, relay, withdraw, withdrawn

POOL_THERE, BRIDGE_THERE, VAULT_THIRD = b"\x1a" * 20, b"\x0d" * 20, b"\x0e" * 20
OTHER_TERMS = {
    HERE: TERMS,
    THERE: replace(
        TERMS,
        chain_id=THERE,
        pool_bridge=POOL_THERE,
        vaults=frozenset(),
        bridges=frozenset({BRIDGE_THERE}),
    ),
    THIRD: replace(
        TERMS,
        chain_id=THIRD,
        pool_bridge=b"\x1b" * 20,
        vaults=frozenset({VAULT_THIRD}),
        bridges=frozenset(),
    ),
}
DEPOSITED = ALICE, TOKEN, 5, THERE, BOB, 9
BURNED, BURNED_TO_MINT = ((PEGGED, ALICE, 5, to, BOB, 9) for to in (0, THERE))
DEPOSIT_ID = own_id("Deposited", VAULT, *DEPOSITED)
BURN_ID, BURN_TO_MINT_ID = (own_id("Burn", BRIDGE, *said) for said in (BURNED, BURNED_TO_MINT))
DEPOSIT = log("Deposited", ID, *DEPOSITED, contract=VAULT)
BURN = log("Burn", ID, *BURNED, contract=BRIDGE)
BURN_TO_MINT = log("Burn", ID, *BURNED_TO_MINT, contract=BRIDGE)


def told(chain: int, *logs: Log, read_to: int = 121) -> list[Event]:
    terms = next(terms for chain_id, terms in OTHER_TERMS.items() if chain_id == chain)
    step = translate(NETWORK, terms, logs, headers_of(*logs), (), read_to=BlockNumber(read_to))
    assert not step.unreadable
    return list(step.events)


def status(*events: Event) -> Status:
    about = [event for event in events if isinstance(event, TransferEvent)]
    assert len({event.transfer_id for event in about}) == 1
    return status_of(CanonicalEvents.of(about), RefundFacts()).status


ROUTES = [
    ("pool", send(), THERE, relay(contract=POOL_THERE)),
    ("deposit, mint", DEPOSIT, THERE, mint(HERE, DEPOSIT_ID, contract=BRIDGE_THERE)),
    ("burn, withdraw", BURN, THIRD, withdrawn(HERE, BURN_ID, contract=VAULT_THIRD)),
    ("burn, mint", BURN_TO_MINT, THERE, mint(HERE, BURN_TO_MINT_ID, contract=BRIDGE_THERE)),
]


@pytest.mark.parametrize(("route", "sent", "chain", "paid"), ROUTES)
def test_every_route_arrives(route: str, sent: Log, chain: int, paid: Log) -> None:
    assert status(*told(HERE, sent, read_to=111)) == Status.TRANSFER_SUBMITTING, route
    first = told(HERE, sent, read_to=112)
    assert status(*first) == Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION
    assert status(*first, *told(chain, paid)) == Status.TRANSFER_COMPLETED
    queue = added(paid.address)
    assert status(*first, *told(chain, queue, paid)) == Status.TRANSFER_DELAYED
    done = told(chain, queue, paid, executed(paid.address))
    assert status(*first, *done) == Status.TRANSFER_COMPLETED


REFUNDS = [
    ("pool", send(), withdraw(tx="refund", block=105)),
    ("deposit", DEPOSIT, withdrawn(HERE, DEPOSIT_ID, tx="refund", block=105)),
    ("burn", BURN, mint(HERE, BURN_ID, tx="refund", block=105)),
]


@pytest.mark.parametrize(("kind", "sent", "refund"), REFUNDS)
def test_every_refund_arrives(kind: str, sent: Log, refund: Log) -> None:
    first = told(HERE, sent)
    assert status(*first, *told(HERE, refund, read_to=116)) == Status.TRANSFER_CONFIRMING_YOUR_REFUND, kind
    assert status(*first, *told(HERE, refund, read_to=117)) == Status.TRANSFER_REFUNDED
    queue = added(refund.address, tx="refund", block=105)
    assert status(*first, *told(HERE, queue, refund)) == Status.TRANSFER_CONFIRMING_YOUR_REFUND
    executed_at_120 = (queue, refund, executed(refund.address))
    almost, deep = told(HERE, *executed_at_120, read_to=131), told(HERE, *executed_at_120, read_to=132)
    assert status(*first, *almost) == Status.TRANSFER_CONFIRMING_YOUR_REFUND
    assert status(*first, *deep) == Status.TRANSFER_REFUNDED
