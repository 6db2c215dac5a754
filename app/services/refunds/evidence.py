"""Would the contract pay this refund, and why (not)?"""

from __future__ import annotations

from sqlalchemy import Connection

from app.domain.codes import TransferHistoryStatus
from app.domain.keys import TransferId
from app.domain.network_facts import NetworkFacts
from app.domain.refund.explanation import RefundExplanation, explain_refund
from app.domain.transfer.state import TransferHistory, judge_transfer_refund, transfer_state
from app.queries.feed.facts import load_network_facts
from app.queries.feed.histories import load_histories
from app.runtime.gateway import Gateway
from app.services.transfers.status import transfer_not_found


def refund_evidence(gateway: Gateway, transfer_id: TransferId) -> RefundExplanation:
    """Judge a transfer's refund anew from its log and explain the judgement. Writes nothing.

    It folds the log as the feed does, with log and network read at one moment: so it is ``valid`` exactly
    while the status is 8, and shows the evidence that the status answer serves.

    :param transfer_id: 32 bytes.
    :raises GatewayError: no such transfer; the message says how fresh the gateway's view is.
    :raises Unavailable: no such transfer, and the configuration cannot be read.
    """
    history, facts = gateway.public_reads.ask_consistently(_load, transfer_id)
    if not history.log:
        raise transfer_not_found(gateway, transfer_id)
    return evidence_of(history, transfer_state(history, facts).status, facts)


def evidence_of(
    history: TransferHistory, status: TransferHistoryStatus, facts: NetworkFacts
) -> RefundExplanation:
    """Judge the refund of a transfer whose log, status and network are at hand."""
    context, verdict = judge_transfer_refund(history.transfer_id, history.standing(), facts)
    validators = facts.validators.get(context.src_chain_id) if context.src_chain_id is not None else None
    return explain_refund(verdict, context, validators, status)


def _load(connection: Connection, transfer_id: TransferId) -> tuple[TransferHistory, NetworkFacts]:
    return load_histories(connection, [transfer_id])[transfer_id], load_network_facts(connection)
