"""What a gateway answers about a transfer (docs/interface/status.md, docs/interface/pools-and-latency.md)."""

from __future__ import annotations

import base64
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any, Final

from tests.feed.oracle.evidence import Evidence, decision, is_claimed, symbol_of
from tests.feed.oracle.facts import Canonical, Fact, Log, first, first_send
from tests.feed.oracle.world import World

BAD: Final = (3, 4, 5, 8, 9)
OK_TO_RELAY, SUCCESS, REFUND_REQUESTED, REFUND_DONE = 1, 2, 6, 7


class Transfer:
    """One transfer at a moment."""

    def __init__(self, log: Log, world: World, transfer_id: str, now: datetime) -> None:
        self.log, self.world, self.now = log, world, now
        self.facts = Canonical(log, transfer_id, now)
        self.decision = decision(self.facts)
        self.evidence = Evidence(log, world, self.facts, now)
        self.valid = self.evidence.valid()
        self.status = self._status()

    def _status(self) -> int:
        """The first line that holds."""
        canonical = self.facts.all
        lines = (
            (10, canonical("refund.completed") or self.decision == REFUND_DONE),
            (5, canonical("transfer.released")),
            (11, canonical("transfer.delayed")),
            (9, is_claimed(self.facts)),
            (8, len(self.valid) == 1),
            (7, canonical("refund.requested") or self.evidence.requests or self.decision == REFUND_REQUESTED),
            (7 if self.facts.subject in self.log.requested else 6, self.decision in BAD),
            (4, self.decision == SUCCESS),
            (3, canonical("transfer.confirmed") or self.decision == OK_TO_RELAY),
            (1, canonical("transfer.sent")),
            (2, canonical("transfer.failed")),
            (1, canonical("transfer.submitted")),
        )
        return next((status for status, holds in lines if holds), 0)

    def answer(self) -> dict[str, Any]:
        """The fields of the status answer."""
        announced = self._announcement()
        by_claim = announced if announced and not announced.is_unlimited else None
        source = self.facts.source if by_claim is None else by_claim.body["src_chain_id"]
        send = self.facts.send or announced
        request, signatures = next(iter(self.valid.items())) if self.status == 8 else (None, {})
        members = sorted(self.evidence.powers) if self.status == 8 else []
        payout = first(self.facts.all("transfer.released")) or first(self.facts.all("transfer.delayed"))
        return {
            "err": None,
            "status": self.status,
            "refund_reason": self.decision if self.status == 6 else 0,
            "wd_onchain": _base64(request) if request else None,
            "sorted_sigs": [_base64(each) for each in signatures.values()],
            "signers": [_base64(bytes.fromhex(each[2:])) for each in members],
            "powers": [_base64(_number(self.evidence.powers[each])) for each in members],
            "block_delay": self.world.block_delay(source),
            "src_block_tx_link": self.world.link(send.body["src_chain_id"], send.body.get("src_tx_hash"))
            if send
            else "",
            "dst_block_tx_link": self.world.link(self.facts.destination, payout.body.get("dst_tx_hash"))
            if payout
            else "",
        }

    def _announcement(self) -> Fact | None:
        """The submission that supplies the link where no send is canonical.

        A limited token's supplies nothing next to other reports: only where nobody else reported anything.
        """
        canonical, submitted = self.facts.canonical, self.facts.all("transfer.submitted")
        if (
            len({report.chains for each in canonical for report in each.reports}) == 1
            and canonical == submitted
        ):
            return first(submitted)
        return first(each for each in submitted if each.is_unlimited)

    # What pools and latencies have of it.

    def sent(self) -> tuple[int, str, int] | None:
        """Chain, symbol and amount that it added to a pool."""
        send = self.facts.send
        if send is None or send.body["kind"] != "pool" or self.status == 10:
            return None
        symbol = symbol_of(send, self.world)
        return (send.body["src_chain_id"], symbol, send.body["amount"]) if symbol else None

    def relayed(self) -> tuple[int, str, int] | None:
        """Chain, symbol and amount that a pool paid.

        What was paid stays paid while the send is orphaned, which still gives what is paid.
        """
        payout, send = (
            first(self.facts.all("transfer.released")),
            self.facts.send or first_send(self.facts.sends),
        )
        if payout is None or send is None or send.body["kind"] != "pool":
            return None
        symbol = symbol_of(send, self.world)
        if symbol is None:
            return None
        amount = payout.body.get("amount", self._scaled(send, symbol))
        return None if amount is None else (send.body["dst_chain_id"], symbol, amount)

    def _scaled(self, send: Fact, symbol: str) -> int | None:
        """The amount in units of the destination, rounded down."""
        units = [self.world.decimals(send.body[name], symbol) for name in ("src_chain_id", "dst_chain_id")]
        if units[0] is None or units[1] is None:
            return None
        return int(Fraction(send.body["amount"]) * Fraction(10) ** (units[1] - units[0]))

    def latency(self) -> tuple[int, int, timedelta] | None:
        """Source, destination and how long it took, while it counts."""
        payout, send = first(self.facts.all("transfer.released")), self.facts.send
        if self.status != 5 or payout is None or send is None:
            return None
        released, took = payout.body["at"], payout.body["at"] - send.body["at"]
        if took < timedelta(0) or not self.now - timedelta(days=7) < released <= self.now:
            return None
        return send.body["src_chain_id"], send.body["dst_chain_id"], took


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _number(value: int) -> bytes:
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")


def pools(
    log: Log, world: World, transfers: list[Transfer], now: datetime
) -> dict[tuple[int, str], tuple[int, int]]:
    """By chain and symbol the balance and the inbound limit that events add to the opening values."""
    found: dict[tuple[int, str], tuple[int, int]] = {}

    def add(key: tuple[int, str], balance: int, limit: int) -> None:
        old = found.get(key, (0, 0))
        found[key] = old[0] + balance, old[1] + limit

    for chain_id in {each for each in log.subjects() if isinstance(each, int)}:
        of_chain = Canonical(log, chain_id, now)
        for event_type, sign in (("liquidity.added", 1), ("liquidity.withdrawn", -1)):
            for each in of_chain.all(event_type):
                amount = sign * each.body["amount"]
                add((chain_id, each.body["symbol"]), amount, amount)
    for transfer in transfers:
        if sent := transfer.sent():
            add(sent[:2], sent[2], 0)
        if paid := transfer.relayed():
            add(paid[:2], -paid[2], -paid[2])
    return found


def median_latency(transfers: list[Transfer], source: int, destination: int) -> float | None:
    """In seconds; None where no transfer counts."""
    found = (each.latency() for each in transfers)
    took = sorted(each[2] for each in found if each and each[:2] == (source, destination))
    if not took:
        return None
    return (took[(len(took) - 1) // 2] + took[len(took) // 2]).total_seconds() / 2
