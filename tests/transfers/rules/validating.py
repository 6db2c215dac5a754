"""Events, what is known of them, and verdicts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from app.transfers.rules.events.counting import Logged, Origin
from app.transfers.rules.events.event_types import ChainHead, Event, FeeUpdated, TransferEvent, TransferSent
from app.transfers.rules.events.keys import EventKey
from app.transfers.rules.events.reorganisations import Reorg
from app.transfers.rules.history import TransferHistory
from app.transfers.rules.validation import Known, LatestAcceptance, LogEntry, Verdict, validate_event
from app.values.codes import SendKind
from app.values.identifiers import BlockNumber, ChainId, TransferId

NOW = datetime(2026, 6, 1, tzinfo=UTC)
TRANSFER = TransferId(bytes(31) + b"\x01")
SOURCE, DESTINATION = ChainId(1), ChainId(2)
BRIDGE, TOKEN, SENDER = (bytes([n]) * 20 for n in (0xB1, 0x70, 0xAA))
SIZE = 100


class AnyScope:
    """Everything may be reported."""

    chains = None

    def refusal(self, event: Event, known: Callable[[], Origin]) -> str | None:
        return None


def known(**changes: Any) -> Known:
    defaults: dict[str, Any] = {"scope": AnyScope(), "max_reorg_blocks": SIZE, "next_seq": 11}
    return Known(**(defaults | {"histories": {TRANSFER: TransferHistory(TRANSFER, ())}} | changes))


def history(*log: tuple[int, TransferEvent], **changes: Any) -> dict[TransferId, TransferHistory]:
    return {TRANSFER: TransferHistory(TRANSFER, [Logged(*each) for each in log], **changes)}


def latest(*accepted: tuple[int, Event]) -> dict[EventKey, LatestAcceptance]:
    return {event.key: LatestAcceptance(seq, 0, event) for seq, event in accepted}


def entry(event: Event, occurrence: int = 0, seq: int = 11) -> LogEntry:
    return LogEntry(seq, occurrence, event)


def verdict(event: Event, what: Known) -> Verdict:
    return validate_event(event, what)


def taken_back(seq: int, from_block: int, chain_id: ChainId = SOURCE) -> Reorg:
    return Reorg(seq, chain_id, BlockNumber(from_block))


def sent(event_id: str = "sent", **changes: Any) -> TransferSent:
    fields: dict[str, Any] = {
        "kind": SendKind.POOL, "src_chain_id": 1, "dst_chain_id": 2, "symbol": "USDT", "amount": 1000,
        "sender": "0x" + SENDER.hex(), "receiver": "0x" + SENDER.hex(), "src_tx_hash": "0xaa", "block": 50,
    }  # fmt: skip
    return TransferSent(id=event_id, at=NOW, transfer_id=TRANSFER, **(fields | changes))


def head() -> ChainHead:
    return ChainHead(id="head", at=NOW, chain_id=SOURCE, block=BlockNumber(60))


def fee() -> FeeUpdated:
    return FeeUpdated(
        id="fee", at=NOW, symbol="USDT", src_chain_id=SOURCE, dst_chain_id=DESTINATION, base_fee=1
    )
