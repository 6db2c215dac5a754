"""Random histories of a gateway: what is reported, taken back, requested and configured, in any order.

Who adds a rule adds what it is about to ``EVENTS``, ``REORGANISATIONS`` or ``NETWORKS``, and a new kind of
happening to ``STEPS``.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

from flask import Flask
from msgspec.structs import replace
from sqlalchemy import ColumnElement, insert, select

from app.audit.keys import AuditKeys
from app.credentials.rules.ingest_token import Scope
from app.db.database import Database
from app.db.engine import reading, writing
from app.feed.projection.transfers import project_again
from app.feed.services.ingest import Intake, ingest_lines
from app.feed.services.prune import prune
from app.feed.services.retract import NothingToRetract, retract_ids
from app.http.application import part_of
from app.network.document import NetworkRefused, import_network
from app.network.queries import load_network_facts
from app.refunds.models import UserRefundRequest
from app.transfers.models import Event
from app.transfers.rules.events.event_types import ChainHead
from app.values.codes import SendKind
from tests.actors import TESTER
from tests.applications import audited_of, editing_of
from tests.builders import network as build
from tests.builders.clock import MovableClock
from tests.feed.services.any_order import EVERYTHING, REORGS, Events, members
from tests.feed.services.world import (
    KEYS,
    NOW,
    about,
    address,
    event,
    feed,
    for_send,
    forget_events,
    id_of,
    network,
    prepared,
    proven,
    released,
    request,
    sent,
    signature,
    signed,
    token,
)

TRANSFERS: Final = range(1, 11)
CONTRACTS: Final = (3001, 3002, 4002, 4102, 9999)
"""Those that some network lists, and one that none does."""


def _contradicting(n: int) -> Events:
    """Sends through different contracts, and what no block of theirs agrees with."""
    kind = (SendKind.POOL, SendKind.DEPOSIT, SendKind.BURN)[n % 3]
    source = 2 if kind is SendKind.BURN else 1
    way: dict[str, Any] = {"kind": kind.value, "src_chain_id": source, "dst_chain_id": 3 - source}
    symbol = "USDT" if kind is SendKind.POOL else "CELR"
    sends = [
        sent(n, at=-98 - (c % 7), block=100 + c % 5, symbol=symbol, contract=address(c), **way)
        for c in CONTRACTS
    ]
    return [*sends, released(n, at=-8, block=202), about(n, "transfer.confirmed", at=-60, block=103)]


def _ahead() -> Events:
    """What reporters send of times that are still to come, and count only then."""
    way: dict[str, Any] = {"kind": "deposit", "src_chain_id": 1, "dst_chain_id": 2, "symbol": "CELR"}
    of_route: dict[str, Any] = {"symbol": "USDT", "src_chain_id": 1, "dst_chain_id": 2}
    return [
        sent(1, at=30, block=100, **way),
        sent(2, at=20, kind="burn", src_chain_id=2, dst_chain_id=1, symbol="CELR", block=101),
        sent(7, at=60, block=99),
        released(3, at=90, block=203, amount="80"),
        released(7, at=120, block=204),
        about(3, "transfer.confirmed", at=40, block=101),
        *(about(n, "network.status", at=25 * n, xfer_status=n) for n in (1, 2, 3, 4)),
        about(2, "refund.completed", at=100, block=105),
        prepared(3, request(3), at=50),
        event("fee.updated", at=200, base_fee="3", **of_route),
        event("fee.updated", at=80, base_fee="4", **of_route),
        event("liquidity.added", at=70, chain_id=1, symbol="USDT", amount="9", block=109),
        event("liquidity.withdrawn", at=150, chain_id=2, symbol="USDT", amount="8"),
        event("validators.updated", at=110, chain_id=1, block=113, **members(0, 1, 2, 3)),
        event("chain.head", at=130, chain_id=1, block=140),
    ]


def _paid_by_one_id() -> Events:
    """Two transfers whose refunds have the same withdraw id."""
    reported: Events = []
    for n in (5, 6):
        wd = request(n)
        reported += [
            sent(n, block=100),
            prepared(n, wd),
            *(signed(n, signature(wd, key)) for key in KEYS[:3]),
        ]
        reported.append(about(n, "refund.completed", block=104, tx_hash="0x" + f"5{n}" * 32))
    return reported


def _liquidity() -> Events:
    reported = [
        event("liquidity.added", "1:0xaa:1", chain_id=1, symbol="USDT", amount=str(2**255), block=95),
        event("liquidity.withdrawn", "L3", chain_id=2, symbol="USDT", amount="3", block=205),
    ]
    for n in range(1, 12):
        of_pool: dict[str, Any] = {"chain_id": 1 + n % 2, "symbol": "USDT", "amount": str(n)}
        name = f"L{n}"
        reported.append(
            event("liquidity.added", name, block=90 + n, **of_pool)
            if n % 3
            else event("liquidity.withdrawn", name, **of_pool)
        )
    return reported


def _of_contracts() -> Events:
    """What the contracts accept though no network lists it, and sends that their ids prove."""
    own = proven(1, block=98)
    far = proven(2, block=99, dst_chain_id=2**63 + 5)
    unlisted: dict[str, Any] = {"token": address(7009), "symbol": None}
    vault: dict[str, Any] = {
        "kind": "deposit",
        "src_chain_id": 1,
        "symbol": "CELR",
        "contract": address(3001),
    }
    to_nowhere = sent(8, block=97, dst_chain_id=9, **vault)
    nobody_lists = {key: value for key, value in sent(9, block=96, **unlisted).items() if value is not None}
    by_address = sent(10, block=96, symbol="CELR", token=token(1, "CELR"), dst_chain_id=2**32)
    reported = [own, far, to_nowhere, nobody_lists, by_address]
    for send, kind in ((own, SendKind.POOL), (far, SendKind.POOL), (to_nowhere, SendKind.DEPOSIT)):
        wd = request(0, kind, ref_id=bytes.fromhex(send["transfer_id"][2:]))
        reported += [
            for_send(send, prepared(0, wd)),
            *(for_send(send, signed(0, signature(wd, key, kind))) for key in KEYS[:3]),
        ]
        reported += [
            for_send(send, released(0, block=207, chain_id=2)),
            for_send(send, released(0, block=98, chain_id=3)),
            for_send(send, about(0, "transfer.confirmed", block=99)),
            for_send(send, about(0, "refund.submitted", tx_hash="0x" + "61" * 32, block=106, chain_id=1)),
        ]
    wd = request(9, token=bytes.fromhex(address(7009)[2:]))
    reported += [prepared(9, wd), *(signed(9, signature(wd, key)) for key in KEYS[:3])]
    return reported


def _cannot_sign() -> Events:
    """Validator sets that the contract accepts and nobody can sign with."""
    signers = members(0, 1, 2)["signers"]
    powers = {"none": [], "zero": ["0", "0", "0"], "over": [str(2**255), str(2**255), "1"]}
    return [
        event(
            "validators.updated",
            f"1:0xc:{n}",
            at=-28,
            chain_id=1,
            block=106 + n,
            signers=signers[: len(of_set)],
            powers=of_set,
        )
        for n, of_set in enumerate(powers.values())
    ]


EVENTS: Final[Events] = [
    *EVERYTHING,
    *(e for n in (1, 2, 4) for e in _contradicting(n)),
    *_paid_by_one_id(),
    *_liquidity(),
    *_ahead(),
    *_of_contracts(),
    *_cannot_sign(),
]

REPORTERS: Final = {
    "a": Scope(),
    "b": Scope(),
    "c": Scope(chains=frozenset({1})),
    "d": Scope(chains=frozenset({2, 3})),
}
"""Who reports, and what their tokens are limited to."""

REORGANISATIONS: Final[Events] = [
    *REORGS,
    event("chain.reorged", chain_id=1, from_block=95),
    event("chain.reorged", chain_id=2, from_block=1),
    event("chain.reorged", at=-1, chain_id=1, from_block=103),
    event("chain.reorged", at=-200, chain_id=1, from_block=102),
    event("chain.reorged", chain_id=3, from_block=1),
    *(
        event("chain.reorged", at=-3, chain_id=n, from_block=block)
        for n in (1, 2)
        for block in (130, 170, 210)
    ),
]


def _networks() -> list[build.Document]:
    """The small network and what may become of it; the first is how each history begins."""
    base = network()
    pools = [build.pool(n, "USDT", "500") for n in (1, 2, 3)]
    validators = base["validators"]
    other_powers = [
        each | {"power": str(int(each["power"]) * (3 if n % 3 else 1))} for n, each in enumerate(validators)
    ]
    fewer = [each for each in validators if each["chain_id"] == 2] + validators[:3:2]
    pairs = base["pegged_pairs"]
    further = [
        pair
        | {"deposit_contracts": [address(3002)], "burn_contracts": [address(4100 + pair["pegged_chain_id"])]}
        for pair in pairs
    ]
    own_tokens = [
        pair | {"org_token": {"decimal": 6, "address": address(7001), "name": "of the pair"}}
        for pair in pairs
    ]
    other_vault = [pairs[0] | {"pegged_deposit_contract_addr": address(3009)}, pairs[1]]
    listed = [*base["tokens"], build.token(1, "NEW", address(7009), 6)]
    routes = [build.route(a, 3 - a, "USDT", rate={"model": "fixed", "value": "0.01"}) for a in (1, 2)]
    changes: list[dict[str, Any]] = [
        {},
        {"pools": pools},
        {"pools": [build.pool(n, "USDT", "0") for n in (1, 2)]},
        {"pools": pools, "routes": routes},
        {"validators": other_powers},
        {"validators": fewer},
        {"validators": []},
        {"pegged_pairs": further},
        {"pegged_pairs": own_tokens},
        {"pegged_pairs": other_vault},
        {"pegged_pairs": []},
        {"pegged_pairs": pairs[:1]},
        {"tokens": listed},
        {"pools": pools, "pegged_pairs": further, "validators": other_powers},
    ]
    return [base | change for change in changes]


NETWORKS: Final = _networks()


def clock_of(database: Database) -> MovableClock:
    """The clock of a gateway that was made with one."""
    assert isinstance(database.clock, MovableClock)
    return database.clock


Step = Callable[[Flask, random.Random], object]
"""Lets something happen and returns what it was."""


def _report(app: Flask, choice: random.Random) -> object:
    lines = [json.dumps(each).encode() for each in choice.choices(EVENTS, k=choice.randint(1, 30))]
    reporter = choice.choice("aabbcd")
    return (
        "reported",
        reporter,
        ingest_lines(
            part_of(app, Database), part_of(app, Intake), lines, reporter, scope=REPORTERS[reporter]
        ).accepted,
    )


def _configure(app: Flask, choice: random.Random) -> object:
    number = choice.randrange(len(NETWORKS))
    try:
        import_network(*editing_of(app), build.text(NETWORKS[number]), actor=TESTER)
    except NetworkRefused as refusal:
        return "refused", number, str(refusal)[:80]
    return "configured", number


def _reorganise(app: Flask, choice: random.Random) -> object:
    reorganisation = choice.choice(REORGANISATIONS)
    feed(app, reorganisation)
    return "reorganised", reorganisation["chain_id"], reorganisation["from_block"]


def _poll(app: Flask, choice: random.Random) -> object:
    """A chain is read, block by block or in one batch, after a reorganisation with other hashes: heads that
    are out of reach leave the log."""
    chain_id, first, fork = choice.choice((1, 2)), choice.randrange(80, 240), choice.randrange(3)
    reported = [
        event("chain.head", f"{chain_id}:{fork}:{block}", at=block - 400, chain_id=chain_id, block=block)
        for block in range(first, first + choice.randint(1, 60), choice.randint(1, 5))
    ]
    reporter = choice.choice("ab")
    batches = [reported] if choice.random() < 0.5 else [[head] for head in reported]
    for batch in batches:
        feed(app, *batch, reporter=reporter)
    return "polled", chain_id, fork, first, len(reported)


def _retract(app: Flask, choice: random.Random) -> object:
    return _retract_some(app, choice, Event.type != ChainHead.type)


def _retract_heads(app: Flask, choice: random.Random) -> object:
    return _retract_some(app, choice, Event.type == ChainHead.type)


def _retract_some(app: Flask, choice: random.Random, which: ColumnElement[bool]) -> object:
    with reading(part_of(app, Database).engine) as connection:
        query = select(Event.event_id, Event.subject).where(which).order_by(Event.seq)
        keys = list(connection.execute(query))
    some = choice.sample(keys, min(len(keys), choice.randint(1, 3)))
    for event_id, subject in some:
        with suppress(NothingToRetract):
            retract_ids(*audited_of(app), [event_id], "wrong", actor=TESTER, subject=subject)
    return "retracted", [event_id for event_id, _ in some]


def _request_refund(app: Flask, choice: random.Random) -> object:
    """At any status, also where the transfer is not known: later a reorganisation may bring it there."""
    transfer = id_of(choice.choice(TRANSFERS))
    with writing(part_of(app, Database).engine) as connection:
        if (
            connection.scalar(
                select(UserRefundRequest.transfer_id).where(UserRefundRequest.transfer_id == transfer)
            )
            is None
        ):
            connection.execute(
                insert(UserRefundRequest), {"transfer_id": transfer, "at": NOW - timedelta(seconds=20)}
            )
            project_again(
                connection, [transfer], load_network_facts(connection), part_of(app, Database).clock()
            )
    return "requested", transfer.hex()[-2:]


def _move_clock(app: Flask, choice: random.Random) -> object:
    """Forward as time goes by, or by a clock that goes wrong; or back, where that is corrected."""
    clock = clock_of(part_of(app, Database))
    clock.now = NOW + timedelta(seconds=choice.choice((-86_400, -700, 0, 0, 35, 75, 115, 86_400)))
    return "the clock is", (clock.now - NOW).total_seconds()


def _prune(app: Flask, choice: random.Random) -> object:
    """As it will be in a month: what is over by then goes."""
    clock = clock_of(part_of(app, Database))
    later = replace(part_of(app, Database), clock=lambda: NOW + timedelta(days=30))
    before = NOW + timedelta(seconds=choice.choice((-70, -20, 60)))
    if clock.now < NOW:
        return "not pruned", "for the clock is behind"
    return "pruned", prune(
        later, part_of(app, AuditKeys), part_of(app, Intake), before, actor=TESTER
    ).transfers.total()


STEPS: Final[dict[Step, int]] = {
    _report: 50,
    _configure: 18,
    _reorganise: 14,
    _retract: 8,
    _retract_heads: 3,
    _request_refund: 8,
    _move_clock: 14,
    _poll: 24,
    _prune: 6,
}
"""What may happen, and how often."""

WHAT_ANY_LOG_SHOWS: Final = (_report, _configure, _reorganise, _retract, _request_refund, _poll)
"""What comes to the same whether or not anything left the log before. Retracting a head that was dropped, or
a clock that is put back before what dropped it, does not (docs/decisions/0009-pruning.md#heads)."""


def live_through(app: Flask, seed: int, may_happen: Collection[Step] = tuple(STEPS)) -> list[object]:
    """Empty the gateway and let 3 to 9 random things happen; the same ones for the same seed."""
    choice = random.Random(seed)
    clock_of(part_of(app, Database)).now = NOW
    forget_events(app)
    with suppress(NetworkRefused):  # a chain that is configured and not in use can always go
        import_network(*editing_of(app), build.text(NETWORKS[0]), actor=TESTER)
    weights = [STEPS[step] for step in may_happen]
    steps = choice.choices(list(may_happen), weights, k=choice.randint(3, 9))
    return [step(app, choice) for step in steps]
