"""Refunds: users request them; their evidence is validated and explained."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, insert

from app.credentials.rules.ingest_token import Scope
from app.db.database import Database
from app.db.engine import HandedIn, run_read, writing
from app.http.limits import RefundRequestLimit
from app.network.queries import load_network_facts
from app.network.rules.terms import ChainInfo
from app.network.rules.validation_facts import NetworkFacts
from app.network.snapshot import SnapshotSource
from app.refunds.models import UserRefundRequest
from app.refunds.queries import UserRequestRow, load_histories, user_requests_after
from app.refunds.rules.call import DelayedFunds, Funds, delayed_funds
from app.refunds.rules.explanation import RefundExplanation, explain_refund
from app.transfers.queries.logged import has_events, newest_seq
from app.transfers.queries.status import status_of
from app.transfers.rules.events.event_types import RefundDelayed, TransferDelayed, TransferSent
from app.transfers.rules.history import TransferHistory
from app.transfers.rules.projected import transfer_state
from app.transfers.rules.refund_evidence import validate_transfer_refund
from app.transfers.rules.refunds.request_checks import RefundContext
from app.transfers.rules.refunds.request_message import WithdrawRequest
from app.transfers.rules.status import CanonicalEvents
from app.transfers.services.status import transfer_not_found
from app.values.codes import REFUND_STATUSES, Reason, TransferHistoryStatus
from app.values.codes import TransferHistoryStatus as Status
from app.values.errors import GatewayError
from app.values.identifiers import ChainId, TransferId
from app.values.ip_addresses import IPAddress
from app.values.times import rfc3339

REQUEST_STORED: Final = HandedIn[[TransferId, datetime], None]("refund_request")
"""A refund was requested. Arguments: the transfer, and the time of the request."""

PAGE: Final = 500
"""Requests that one page reads."""

_BEGUN: Final = REFUND_STATUSES - {Status.TRANSFER_TO_BE_REFUNDED}
"""The refund has begun: another request changes nothing."""


def request_refund(
    database: Database,
    snapshots: SnapshotSource,
    refund_request_limit: RefundRequestLimit,
    request: WithdrawRequest,
    caller: IPAddress | None,
) -> int:
    """Accept a user's request for the refund of a transfer at status 6 (docs/api/withdrawLiquidity.md#rules).

    The first request is stored, and the status is 7 when this returns. At statuses 7 to 10 nothing is
    written. The status is read from the primary, because a replica may be behind.

    :param caller: counted, and not stored.
    :returns: ``req_id`` of the request.
    :raises GatewayError: too many requests, an unknown transfer, or nothing to refund; ``reason`` says which.
    """
    refund_request_limit.count(caller)
    transfer_id = request.refund_of
    if transfer_id is None:
        raise GatewayError(
            "only refunds can be requested: send withdraw_type 1 and the transfer's id as xfer_id",
            reason=Reason.REFUND_NOT_AVAILABLE,
        )
    status = run_read(database.reads, status_of, transfer_id)
    if status is None:
        raise transfer_not_found(database, snapshots.current(), transfer_id)
    if _is_new(Status(status)):
        with writing(database.engine) as connection:
            _store(connection, transfer_id, database.clock())
    return request.req_id


def _is_new(status: Status) -> bool:
    """Whether the request is the first one. Raises GatewayError where the status is not one of 6 to 10."""
    if status in _BEGUN:
        return False
    if status is not Status.TRANSFER_TO_BE_REFUNDED:
        raise GatewayError(
            f"this transfer cannot be refunded: its status is {status.value} ({status.name}); request the "
            "refund while it is 6",
            reason=Reason.REFUND_NOT_AVAILABLE,
        )
    return True


def _store(connection: Connection, transfer_id: TransferId, now: datetime) -> None:
    """Store the request unless another came first: the second of two simultaneous ones finds status 7. The
    caller is the only writer.
    """
    status = status_of(connection, transfer_id)
    if status is not None and _is_new(Status(status)):
        place = newest_seq(connection)
        connection.execute(
            insert(UserRefundRequest), {"transfer_id": transfer_id, "at": now, "log_seq": place}
        )
        REQUEST_STORED(connection, transfer_id, now)


class UserRequestPage(Struct, frozen=True):
    """``next`` is the ``after`` of the next page; at the end it does not change."""

    requests: tuple[UserRequestRow, ...]
    next: int

    def as_json(self) -> dict[str, object]:
        requests = [
            {"seq": each.seq, "transfer_id": f"0x{each.transfer_id.hex()}", "at": rfc3339(each.at)}
            for each in self.requests
        ]
        return {"requests": requests, "next": self.next}


def user_requests(database: Database, scope: Scope, after: int) -> UserRequestPage:
    """The requests from the scope's chains among the next ``PAGE`` after ``after``: maybe none, although more
    follow.
    """
    rows = run_read(database.reads, user_requests_after, after, PAGE)
    return UserRequestPage(
        tuple(row for row in rows if scope.has_chain(row.chain_id)), rows[-1].seq if rows else after
    )


def refund_evidence(
    database: Database, snapshots: SnapshotSource, transfer_id: TransferId
) -> RefundExplanation:
    """Validate a transfer's refund again from its log and explain the result. Writes nothing.

    It projects the log as the feed does, with log and network read at one moment: it is ``valid`` exactly
    while the status is 8, and shows the evidence that the status answer serves. Of thousands of signatures it
    reads only those that counted when they came in.

    :raises GatewayError: no such transfer; the message says how fresh the gateway's view is.
    :raises Unavailable: no such transfer, and the configuration cannot be read.
    """
    history, facts, known = database.public.run_reads(_load, transfer_id)
    if not known:
        raise transfer_not_found(database, snapshots.current(), transfer_id)
    status = TransferHistoryStatus.TRANSFER_UNKNOWN
    if history.log:
        status = transfer_state(history, facts).status
    return evidence_of(history, status, facts, snapshots.current().terms.chain_infos)


def evidence_of(
    history: TransferHistory,
    status: TransferHistoryStatus,
    facts: NetworkFacts,
    chain_infos: Mapping[ChainId, ChainInfo],
) -> RefundExplanation:
    """Validate the refund of a transfer whose log, status and network are loaded. ``chain_infos`` are for
    links.
    """
    canonical = history.canonical()
    context, verdict = validate_transfer_refund(history.transfer_id, canonical, facts, history.paid_ids)
    validators = facts.validators.get(context.src_chain_id) if context.src_chain_id is not None else None
    delayed = _delayed(canonical, context, status, facts)
    if delayed is not None and (chain := chain_infos.get(delayed.chain_id or ChainId(0))) is not None:
        delayed = replace(delayed, tx_link=chain.tx_link(delayed.tx_hash))
    return explain_refund(verdict, context, validators, status, delayed, notes=_requested(history, status))


def _requested(history: TransferHistory, status: TransferHistoryStatus) -> tuple[str, ...]:
    if history.requested_at is None or status not in REFUND_STATUSES:
        return ()
    return (f"the refund was requested at {rfc3339(history.requested_at)}",)


def _delayed(
    canonical: CanonicalEvents, context: RefundContext, status: TransferHistoryStatus, facts: NetworkFacts
) -> DelayedFunds | None:
    """The funds in a delay queue: the refund at status 9, the payout at 11."""
    refund, payout = canonical.first(RefundDelayed), canonical.first(TransferDelayed)
    if status is TransferHistoryStatus.TRANSFER_CONFIRMING_YOUR_REFUND and refund is not None:
        chain_id, contract = context.src_chain_id, context.contract
        return delayed_funds(Funds.REFUND, refund.delayed_id, chain_id, contract, refund.tx_hash)
    if status is TransferHistoryStatus.TRANSFER_DELAYED and payout is not None:
        send = canonical.first(TransferSent)
        if send is None:
            return delayed_funds(Funds.PAYOUT, payout.delayed_id, None, None, payout.dst_tx_hash)
        contract = facts.payout_contract(send.taken)
        return delayed_funds(Funds.PAYOUT, payout.delayed_id, send.dst_chain_id, contract, payout.dst_tx_hash)
    return None


def _load(connection: Connection, transfer_id: TransferId) -> tuple[TransferHistory, NetworkFacts, bool]:
    """Log, network, and whether the transfer is known. Of one with only signatures the log is not loaded."""
    history = load_histories(connection, [transfer_id], basis_only=True)[transfer_id]
    known = history.is_known or has_events(connection, transfer_id)
    return history, load_network_facts(connection), known
