"""Would the contract pay this refund, and why (not)?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy import Connection

from app.domain.codes import REFUND_STATUSES, TransferHistoryStatus
from app.domain.estimate.network_terms import ChainInfo
from app.domain.keys import ChainId, TransferId
from app.domain.network_facts import NetworkFacts
from app.domain.refund.delayed import DelayedFunds, Funds, delayed_funds
from app.domain.refund.explanation import RefundExplanation, explain_refund
from app.domain.refund.rules import RefundContext
from app.domain.times import rfc3339
from app.domain.transfer.events import RefundDelayed, TransferDelayed, TransferSent
from app.domain.transfer.history import TransferHistory
from app.domain.transfer.lifecycle import StandingEvents
from app.domain.transfer.state import judge_transfer_refund, transfer_state
from app.queries.feed.facts import load_network_facts
from app.queries.feed.histories import has_events, load_histories
from app.runtime.gateway import Gateway
from app.services.transfers.status import transfer_not_found


def refund_evidence(gateway: Gateway, transfer_id: TransferId) -> RefundExplanation:
    """Judge a transfer's refund anew from its log and explain the judgement. Writes nothing.

    It folds the log as the feed does, with log and network read at one moment: so it is ``valid`` exactly
    while the status is 8, and shows the evidence that the status answer serves. Of thousands of signatures
    it looks at those alone that were found to count when they came in.

    :param transfer_id: 32 bytes.
    :raises GatewayError: no such transfer; the message says how fresh the gateway's view is.
    :raises Unavailable: no such transfer, and the configuration cannot be read.
    """
    history, facts, known = gateway.public_reads.ask_consistently(_load, transfer_id)
    if not known:
        raise transfer_not_found(gateway, transfer_id)
    status = TransferHistoryStatus.TRANSFER_UNKNOWN
    if history.log:
        status = transfer_state(history, facts).status
    return evidence_of(history, status, facts, gateway.snapshots.current().terms.chain_infos)


def evidence_of(
    history: TransferHistory,
    status: TransferHistoryStatus,
    facts: NetworkFacts,
    chain_infos: Mapping[ChainId, ChainInfo],
) -> RefundExplanation:
    """Judge the refund of a transfer whose log, status and network are at hand.

    :param chain_infos: of the configured chains, for links.
    """
    standing = history.standing()
    context, verdict = judge_transfer_refund(history.transfer_id, standing, facts, history.paid_ids)
    validators = facts.validators.get(context.src_chain_id) if context.src_chain_id is not None else None
    delayed = _delayed(standing, context, status, facts)
    if delayed is not None and (chain := chain_infos.get(delayed.chain_id or ChainId(0))) is not None:
        delayed = replace(delayed, tx_link=chain.tx_link(delayed.tx_hash))
    return explain_refund(verdict, context, validators, status, delayed, notes=_asked(history, status))


def _asked(history: TransferHistory, status: TransferHistoryStatus) -> tuple[str, ...]:
    """That the user asked, while the refund is under way."""
    if history.asked_at is None or status not in REFUND_STATUSES:
        return ()
    return (f"the refund was requested at {rfc3339(history.asked_at)}",)


def _delayed(
    standing: StandingEvents, context: RefundContext, status: TransferHistoryStatus, facts: NetworkFacts
) -> DelayedFunds | None:
    """What waits in a delay queue by the status: the refund at 9, the payout at 11."""
    refund, payout = standing.first(RefundDelayed), standing.first(TransferDelayed)
    if status is TransferHistoryStatus.TRANSFER_CONFIRMING_YOUR_REFUND and refund is not None:
        chain_id, contract = context.src_chain_id, context.contract
        return delayed_funds(Funds.REFUND, refund.delayed_id, chain_id, contract, refund.tx_hash)
    if status is TransferHistoryStatus.TRANSFER_DELAYED and payout is not None:
        send = standing.first(TransferSent)
        if send is None:
            return delayed_funds(Funds.PAYOUT, payout.delayed_id, None, None, payout.dst_tx_hash)
        contract = facts.payout_contract(send.taken)
        return delayed_funds(Funds.PAYOUT, payout.delayed_id, send.dst_chain_id, contract, payout.dst_tx_hash)
    return None


def _load(connection: Connection, transfer_id: TransferId) -> tuple[TransferHistory, NetworkFacts, bool]:
    """Also whether the transfer is known: of one with signatures alone, nothing else is loaded."""
    history = load_histories(connection, [transfer_id], basis_only=True)[transfer_id]
    known = history.is_known or has_events(connection, transfer_id)
    return history, load_network_facts(connection), known
