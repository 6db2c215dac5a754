"""What happens on the two chains and what the network's reporters report of it, block by block.

A plan is made before anything happens, so it can be played again: with the same times, the same transactions
and so the same answers, whatever was on the chains in between.
"""

from __future__ import annotations

import base64
import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from app.values.codes import SendKind
from demo.chains import COIN, DELAYED_OVER, LEFT, OLD, PEG, RIGHT, TRI, USDX, USERS, rotation
from demo.contracts import Call
from demo.transfers import Send
from demo.validators import Validators
from tests.builders.events import EventBuilder

CHAINS = (LEFT, RIGHT)
BLOCK_DELAYS = {LEFT: 3, RIGHT: 5}
BLOCK_SECONDS = 12
FIRST_TURN = 2
"""The blocks before have the contracts in them."""

BEFORE = Validators.of(40, 30, 20, 10)
AFTER = Validators.of(10, 30, 20, 25, 15, first=2)
"""The validators of the chain on the left, from a rotation in the middle of a plan on."""

Event = dict[str, Any]


@dataclass
class Turn:
    """One block of each chain, and what the feed gets after it."""

    calls: dict[int, list[Call]] = field(default_factory=lambda: defaultdict(list))
    reports: list[Event] = field(default_factory=list)


@dataclass
class Plan:
    """All turns. Turn ``n`` is block ``n`` of either chain.

    :param start: the time of the genesis blocks.
    :param rotates_at: the turn of the rotation; None for none.
    """

    start: int
    rotates_at: int | None = None
    turns: dict[int, Turn] = field(default_factory=lambda: defaultdict(Turn))
    sends: list[Send] = field(default_factory=list)
    _nonces: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def last(self) -> int:
        """The last turn in which something happens."""
        return max(self.turns)

    def time(self, turn: int) -> int:
        """When the block of a turn is mined, in seconds since 1970."""
        return self.start + BLOCK_SECONDS * turn

    def validators(self, chain: int, turn: int) -> Validators:
        """Who the contracts believe in this turn. The rotation comes first in its block."""
        rotated = chain == LEFT and self.rotates_at is not None and turn >= self.rotates_at
        return AFTER if rotated else BEFORE

    def rotate(self, turn: int) -> None:
        """Another validator set on the left, in each of its contracts' signatures from now on."""
        self.rotates_at = turn
        contracts = {send.contract for send in self.every_kind()} | {send.payer for send in self.every_kind()}
        for contract in sorted(contracts, key=lambda each: each.address):
            self.turns[turn].calls[LEFT].append(rotation(contract, AFTER))

    def every_kind(self) -> list[Send]:
        """One of each kind, version, direction and token that there is."""
        pool = {"kind": SendKind.POOL, "chain": LEFT, "to_chain": RIGHT}
        deposit = {"kind": SendKind.DEPOSIT, "chain": LEFT, "to_chain": RIGHT}
        burn = {"kind": SendKind.BURN, "chain": RIGHT, "to_chain": LEFT}
        kinds: list[dict[str, Any]] = [
            pool,
            {"kind": SendKind.POOL, "chain": RIGHT, "to_chain": LEFT, "amount": 10**15},
            pool | {"native": True, "token": COIN},
            deposit | {"token": PEG},
            deposit | {"token": OLD, "version": 1},
            burn | {"token": PEG},
            burn | {"token": OLD, "version": 1},
            burn | {"token": TRI},
            burn | {"token": TRI, "chain": LEFT, "to_chain": RIGHT},
        ]
        usual: dict[str, Any] = {"amount": 1_000_000, "nonce": 0, "sender": USERS[0], "receiver": USERS[1]}
        return [Send(**(usual | kind)) for kind in kinds]

    def new(self, like: Send, **changes: Any) -> Send:
        """Another transfer of this kind."""
        send = replace(like, nonce=next(self._nonces), **changes)
        self.sends.append(send)
        return send

    def call(self, turn: int, chain: int, call: Call) -> None:
        """A transaction in the block of this turn."""
        self.turns[turn].calls[chain].append(call)

    def report(self, turn: int, send: Send, event_type: str, **fields: Any) -> None:
        """A reporter of the network reports something about a transfer."""
        at = datetime.fromtimestamp(self.time(turn), UTC).isoformat()
        builder = EventBuilder(datetime.fromtimestamp(self.start, UTC), {}, {})
        self.turns[turn].reports.append(builder.event(event_type, at=at, transfer_id=send.text, **fields))

    def begin(self, turn: int, send: Send) -> int:
        """The send, confirmed later; the turn in which the network has seen it."""
        self.call(turn, send.chain, send.call())
        seen = turn + BLOCK_DELAYS[send.chain] + 1
        self.report(seen, send, "network.status", xfer_status=1)
        return seen

    def paid(self, turn: int, send: Send, *, delayed: bool = False) -> int:
        """The transfer arrives; the turn in which it does."""
        seen = self.begin(turn, send)
        self.report(seen + 1, send, "network.status", xfer_status=2)
        self.call(seen + 2, send.to_chain, send.payout(self.validators(send.to_chain, seen + 2)))
        if not delayed:
            return seen + 2
        self.call(seen + 6, send.to_chain, send.execution())
        return seen + 6

    def prepared(self, turn: int, send: Send) -> int:
        """The network gives it up, and the validators sign its refund; the turn in which all have."""
        seen = self.begin(turn, send)
        self.report(seen + 1, send, "network.status", xfer_status=4)
        self.report(seen + 2, send, "refund.requested")
        wd_onchain = base64.b64encode(send.refund_request).decode()
        self.report(seen + 2, send, "refund.prepared", wd_onchain=wd_onchain)
        self.sign(seen + 3, send)
        return seen + 3

    def sign(self, turn: int, send: Send) -> None:
        """Everybody whom the contract believes in this turn signs its refund."""
        signers = self.validators(send.chain, turn)
        for signature in signers.signatures(
            send.chain, send.contract.address, send.refund_purpose, send.refund_request
        ):
            signed = base64.b64encode(signature).decode()
            self.report(turn, send, "refund.signed", signature=signed)

    def refunded(self, turn: int, send: Send, *, delayed: bool = False) -> int:
        """The refund is taken; the turn in which it is paid."""
        signed = self.prepared(turn, send)
        self.call(signed + 2, send.chain, send.refund(self.validators(send.chain, signed + 2)))
        if not delayed:
            return signed + 2
        self.call(signed + 6, send.chain, send.execution(refund=True))
        return signed + 6


def large(send: Send) -> int:
    """An amount over the threshold of both contracts that may pay it."""
    return 2 * (max(DELAYED_OVER.values()) if send.token != USDX else DELAYED_OVER[send.chain])
