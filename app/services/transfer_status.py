"""Where is a transfer?"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Row

from app.domain.codes import BridgeType, Reason, SendKind, XferStatus
from app.domain.codes import TransferHistoryStatus as Status
from app.domain.errors import GatewayError
from app.domain.freshness import age_in_words
from app.models.engine import reading
from app.queries.transfers import newest_events, transfer_row
from app.services.chain_view import ChainView, chain_view, is_original_chain
from app.services.gateway import Gateway


@dataclass(frozen=True, slots=True)
class TransferStatus:
    """The answer. Evidence is base64, and there only while the status is 8; ``""`` is no link yet."""

    status: Status
    refund_reason: XferStatus
    wd_onchain: str | None = None
    sorted_sigs: list[str] = field(default_factory=list)
    signers: list[str] = field(default_factory=list)
    powers: list[str] = field(default_factory=list)
    block_delay: int = 0
    src_block_tx_link: str = ""
    dst_block_tx_link: str = ""
    bridge_type: BridgeType = BridgeType.UNDEFINED


def transfer_status(gateway: Gateway, transfer_id: bytes) -> TransferStatus:
    """The transfer as the standing events tell it.

    :param transfer_id: 32 bytes.
    :raises GatewayError: no such transfer; the message says how fresh the gateway's view is.
    """
    with reading(gateway.engine) as connection:
        row = transfer_row(connection, transfer_id)
        if row is None:
            raise _not_found(gateway, connection)
    return _status(gateway, row)


def _status(gateway: Gateway, row: Row[*tuple[Any, ...]]) -> TransferStatus:
    src = chain_view(gateway, row.src_chain_id)
    dst = chain_view(gateway, row.dst_chain_id)
    status = Status(row.status)
    to_be_refunded = status is Status.TRANSFER_TO_BE_REFUNDED
    evidence: dict[str, Any] = {}
    if status is Status.TRANSFER_REFUND_TO_BE_CONFIRMED and row.wd_onchain is not None:
        evidence = {
            "wd_onchain": b64encode(row.wd_onchain).decode(),
            "sorted_sigs": row.sorted_sigs,
            "signers": row.signers,
            "powers": row.powers,
        }
    return TransferStatus(
        status=status,
        refund_reason=XferStatus(row.refund_reason) if to_be_refunded else XferStatus.UNKNOWN,
        block_delay=src.block_delay if src else 0,
        src_block_tx_link=_link(src, row.src_tx_hash),
        dst_block_tx_link=_link(dst, row.dst_tx_hash),
        bridge_type=_bridge_type(gateway, row),
        **evidence,
    )


def _link(chain: ChainView | None, tx_hash: str | None) -> str:
    """The transaction's page (wire facts, "JSON"); empty where the hash or the explorer is not known."""
    if chain is None or not chain.explore_url or not tx_hash:
        return ""
    name = tx_hash if tx_hash.isalnum() else quote(tx_hash, safe="")  # not every chain's hash is hex
    return f"{chain.explore_url.removesuffix('/')}/tx/{name}"


def _bridge_type(gateway: Gateway, row: Row[*tuple[Any, ...]]) -> BridgeType:
    """How the transfer crosses: a burn is paid out from the vault on the original chain, else minted."""
    if row.kind == SendKind.POOL:
        return BridgeType.POOL
    if row.kind == SendKind.DEPOSIT:
        return BridgeType.DEPOSIT_MINT
    if row.kind == SendKind.BURN:
        withdrawn = is_original_chain(gateway, row.symbol, row.dst_chain_id, row.src_chain_id)
        return BridgeType.BURN_WITHDRAW if withdrawn else BridgeType.BURN_MINT
    return BridgeType.UNDEFINED


def _not_found(gateway: Gateway, connection: Connection) -> GatewayError:
    """Users whose funds have left ask first: does the gateway see my chain at all?"""
    now = gateway.clock()
    ages = []
    for progress in newest_events(connection):
        chain = chain_view(gateway, progress.chain_id)
        name = chain.name if chain else f"chain {progress.chain_id}"
        ages.append(f"{name} {age_in_words(now - progress.newest_at)}")
    seen = f"newest events: {', '.join(ages)}" if ages else "no chain has reported yet"
    return GatewayError(f"transfer not found; {seen}", reason=Reason.TRANSFER_NOT_FOUND)
