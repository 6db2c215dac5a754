"""The values that several pages show: amounts, chains, transfers, transactions and anomalies."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct
from sqlalchemy import Row

from app.console.transfers.labels import ANOMALY_WORDS, STATUS_WORDS, UNKNOWN_ANOMALY, StatusWords
from app.network.rules.terms import ChainInfo, NetworkTerms
from app.transfers.queries.status import COUNTED
from app.transfers.rules.projected import TransferState
from app.values.amounts import format_units, grouped
from app.values.codes import TransferHistoryStatus as Status
from app.values.codes import XferStatus
from app.values.identifiers import ChainId, PoolKey


class AmountText(Struct, frozen=True):
    """An amount in smallest units and as people write it; ``text`` is empty while decimals are unknown."""

    units: int
    symbol: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.text} {self.symbol}" if self.text else f"{self.units} smallest units of {self.symbol}"


class Count(Struct, frozen=True):
    """A number, exact while it is under ``COUNTED``."""

    number: int

    @property
    def at_least(self) -> bool:
        """Whether there may be more."""
        return self.number >= COUNTED

    def __str__(self) -> str:
        return f"{grouped(self.number)}" + ("+" if self.at_least else "")


class ChainName(Struct, frozen=True):
    """A chain by id and name. The name of one that is not configured is its id."""

    id: int
    name: str
    known: bool


class TransferLine(Struct, frozen=True):
    """A transfer in a list. ``transfer_id`` is lower-case hex with 0x."""

    transfer_id: str
    status: Status
    words: StatusWords
    refund_reason: XferStatus
    since: datetime | None
    updated_at: datetime
    sent_at: datetime | None
    began_at: datetime | None
    released_at: datetime | None
    src: ChainName | None
    dst: ChainName | None
    symbol: str | None
    amount: AmountText | None
    sender: str | None
    receiver: str | None


def chain_name(chains: Mapping[ChainId, ChainInfo], chain_id: int) -> ChainName:
    """The chain's name."""
    known = chains.get(ChainId(chain_id))
    return ChainName(chain_id, known.name if known else f"chain {chain_id}", known is not None)


def chain_name_of(chains: Mapping[ChainId, ChainInfo], chain_id: int | None) -> ChainName | None:
    """The chain's name; None where the chain is not known."""
    return None if chain_id is None else chain_name(chains, chain_id)


def amount_of(
    terms: NetworkTerms, chain_id: int | None, symbol: str | None, units: int | None
) -> AmountText | None:
    """An amount of a token on a chain, in smallest units and as people write it; None if unknown."""
    if units is None or symbol is None:
        return None
    token = terms.tokens.get(PoolKey(ChainId(chain_id), symbol)) if chain_id is not None else None
    return AmountText(units, symbol, format_units(units, token.decimals) if token else "")


def transfer_line(terms: NetworkTerms, row: Row[*tuple[Any, ...]] | TransferState) -> TransferLine:
    """A row of ``app.transfers.queries.lists``, or a projected transfer, for people."""
    status = Status(row.status)
    return TransferLine(
        transfer_id=f"0x{row.transfer_id.hex()}",
        status=status,
        words=STATUS_WORDS[status],
        refund_reason=XferStatus(row.refund_reason),
        since=row.status_since,
        updated_at=row.updated_at,
        sent_at=row.sent_at,
        began_at=row.began_at,
        released_at=row.released_at,
        src=chain_name_of(terms.chain_infos, row.src_chain_id),
        dst=chain_name_of(terms.chain_infos, row.dst_chain_id),
        symbol=row.symbol or row.token,
        amount=amount_of(terms, row.src_chain_id, row.symbol or row.token, row.amount),
        sender=row.sender,
        receiver=row.receiver,
    )


class Transaction(Struct, frozen=True):
    """A transaction on a chain; ``link`` is its page in the chain's explorer, https or empty."""

    tx_hash: str
    chain: ChainName | None
    link: str


class AnomalyLine(Struct, frozen=True):
    """An anomaly in words. ``advice`` says what to do about it."""

    label: str
    advice: str
    subject: str
    transfer_id: str | None
    detail: str
    first_at: datetime
    last_at: datetime
    acknowledged_at: datetime | None
    acknowledged_by: str | None


def transaction(
    chains: Mapping[ChainId, ChainInfo], chain_id: int | None, tx_hash: str | None
) -> Transaction | None:
    """A transaction with its link; None where there is no hash. Only https is linked to."""
    if not tx_hash:
        return None
    info = chains.get(ChainId(chain_id)) if chain_id is not None else None
    link = info.tx_link(tx_hash) if info else ""
    return Transaction(tx_hash, chain_name_of(chains, chain_id), link if link.startswith("https://") else "")


def anomaly_line(row: Row[*tuple[Any, ...]]) -> AnomalyLine:
    """A row of the anomalies for people."""
    label, advice = ANOMALY_WORDS.get(row.kind, UNKNOWN_ANOMALY)
    return AnomalyLine(
        label=label,
        advice=advice,
        subject=row.subject,
        transfer_id=None if row.transfer_id is None else f"0x{row.transfer_id.hex()}",
        detail=row.detail,
        first_at=row.first_at,
        last_at=row.last_at,
        acknowledged_at=row.acknowledged_at,
        acknowledged_by=row.acknowledged_by,
    )
