"""One transfer for its waiting user: where the money is, what happens next, and when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection, Row

from app.db.database import Database
from app.network.queries import load_network_facts
from app.network.rules.terms import NetworkTerms
from app.network.rules.validation_facts import NetworkFacts
from app.network.snapshot import NetworkSnapshot, SnapshotSource
from app.refunds.queries import load_histories
from app.refunds.rules.explanation import RefundExplanation
from app.refunds.rules.waits import refund_view, refund_waits_for
from app.refunds.services import evidence_of
from app.transfer_page.languages import language_of, reading
from app.transfer_page.rules.reader import ENGLISH, Reader
from app.transfer_page.rules.steps import (
    ON_A_CHAIN,
    THE_PAYOUT,
    YOUR_REFUND,
    YOUR_TRANSACTION,
    Claim,
    Followed,
    FollowedTransfer,
    Held,
    NamedTransfer,
    NotSeen,
    Pace,
    ReadSoFar,
    SeenTransaction,
    StepLine,
    how_sure,
    step_label,
    steps_of,
)
from app.transfer_page.rules.words import Situation, explain
from app.transfers.queries.history import TransferEntry, transfers_of_key
from app.transfers.queries.status import pruned_statuses
from app.transfers.queries.trends import newest_events
from app.transfers.rules.certainty import Certainty
from app.transfers.rules.events.event_types import RefundDelayed, TransferEvent, TransferSubmitted
from app.transfers.rules.history import TransferHistory
from app.transfers.rules.progress import UNKNOWN_TIMES, follows_route
from app.transfers.rules.status import CanonicalEvents
from app.transfers.rules.stuck import Progress, stages_of
from app.transfers.services.lookups import (
    FoundTransfer,
    Leg,
    Words,
    as_transfer_id,
    certainties_of,
    listed_transfer,
)
from app.transfers.services.status import progress_of_row, route_times
from app.values.codes import REFUND_STATUSES
from app.values.codes import TransferHistoryStatus as Status
from app.values.identifiers import ChainId, TransferId

LOOK_AGAIN_SECONDS: Final = 15
"""When to load again what is not known yet: most chains have a new block by then."""

NAMED_CHAINS: Final = 12
"""Chains that are listed where a transfer is not known."""

_MOST_OF_A_TRANSACTION: Final = 100
"""Transfers of one transaction that are listed."""

_WITH_CONTRACT: Final = REFUND_STATUSES | {Status.TRANSFER_DELAYED}
"""Statuses with details of the contract: the call, or the delay queue."""


def follow_transfer(
    database: Database, snapshots: SnapshotSource, key: str, reader: Reader = ENGLISH
) -> Followed:
    """The known facts about a transfer's id, or about the transfers of a transaction. Sends no requests to
    nodes.

    :param key: from ``wire_values.parse_tx_hash``.
    :raises Unavailable: the configuration cannot be read.
    """
    snapshot = snapshots.current()
    transfer_id = as_transfer_id(key)
    found = database.public.run_reads(_load, key, transfer_id, snapshot.terms)
    if isinstance(found, _One):
        return _PageBuilder(database, snapshot, found, reader).build()
    if found.entries:
        return [
            _named(snapshot, entry, certainty, reader)
            for entry, certainty in zip(found.entries, found.certainties, strict=True)
        ]
    now = database.clock()
    read = [
        ReadSoFar(snapshot.terms.chain_infos[row.chain_id].name, row.highest_block, now - row.newest_at)
        for row in sorted(found.newest, key=lambda row: row.newest_at, reverse=True)
        if row.chain_id in snapshot.terms.chain_infos
    ]
    return NotSeen(key, found.ended, read, LOOK_AGAIN_SECONDS)


class _One(Struct, frozen=True):
    """A transfer and its log; ``facts`` only where its refund or a delay queue is shown."""

    entry: TransferEntry
    history: TransferHistory
    certainty: Certainty
    facts: NetworkFacts | None


class _Others(Struct, frozen=True):
    """No transfer or several; where none, how it ended before it was pruned, and what was read so far."""

    entries: Sequence[TransferEntry]
    certainties: Sequence[Certainty]
    ended: Status | None
    newest: Sequence[Row[*tuple[Any, ...]]]


def _load(
    connection: Connection, key: str, transfer_id: TransferId | None, terms: NetworkTerms
) -> _One | _Others:
    """Everything from one snapshot, so that status, steps and evidence agree."""
    entries = transfers_of_key(connection, key, transfer_id, None)
    named = [entry for entry in entries if entry.transfer_id == transfer_id] or entries
    if len(named) == 1:
        entry = named[0]
        history = load_histories(connection, [entry.transfer_id], basis_only=True)[entry.transfer_id]
        with_contract = Status(entry.status.status) in _WITH_CONTRACT and bool(history.log)
        facts = load_network_facts(connection) if with_contract else None
        (certainty,) = certainties_of(connection, [entry])
        return _One(entry, history, certainty, facts)
    if entries:
        listed = entries[:_MOST_OF_A_TRANSACTION]
        return _Others(listed, certainties_of(connection, listed), None, ())
    ended = pruned_statuses(connection, [transfer_id]) if transfer_id is not None else {}
    newest = newest_events(connection, terms.chain_infos, NAMED_CHAINS)
    return _Others((), (), next((Status(status) for status in ended.values()), None), newest)


def _named(
    snapshot: NetworkSnapshot, entry: TransferEntry, certainty: Certainty, reader: Reader
) -> NamedTransfer:
    situation = situation_of(FoundTransfer(listed_transfer(snapshot, entry), certainty), reader)
    return NamedTransfer(f"0x{entry.transfer_id.hex()}", situation.transfer, explain(situation).headline)


def situation_of(
    found: FoundTransfer,
    reader: Reader,
    evidence: RefundExplanation | None = None,
    *,
    on_page: bool = False,
) -> Situation:
    """The facts that the words for a transfer depend on. ``evidence`` is that of its refund, where that is
    being prepared. ``on_page``: the words are for its page.
    """
    listed, rests_on = found.listed, found.certainty.event
    return Situation(
        status=listed.status.status,
        refund_reason=listed.status.refund_reason,
        amount=_amount(reader, listed.sent),
        paid_out=_amount(reader, listed.received),
        src=listed.sent.chain["name"],
        dst=listed.received.chain["name"],
        sender=listed.sender,
        receiver=listed.receiver,
        in_a_block=rests_on != TransferSubmitted.type,
        block_delay=listed.status.block_delay,
        refund_held=rests_on == RefundDelayed.type,
        waiting=None if evidence is None else refund_waits_for(refund_view(evidence), None, {}),
        on_page=on_page,
        reader=reader,
    )


def _chain_name(found: FoundTransfer) -> str:
    """The name of the chain that the status rests on; empty where it is on none."""
    chains = (found.listed.sent.chain, found.listed.received.chain)
    return next((chain["name"] for chain in chains if chain["id"] == found.certainty.chain_id), "")


def _amount(reader: Reader, leg: Leg) -> str:
    """Such as ``1 234.5 USDT``; empty while it, or the token's decimals, are not known."""
    token = leg.token
    if not leg.amount or not token["address"]:
        return ""
    return reader.amount(leg.amount, token["decimal"], token["symbol"])


def _https(link: str) -> str:
    """The link, if it is safe to follow; else empty."""
    return link if link.startswith("https://") else ""


class PageWording:
    """The words of the page, for the look-up (``app.transfers.services.lookups.Wording``)."""

    def words(
        self, database: Database, snapshots: SnapshotSource, found: Sequence[FoundTransfer], lang: str
    ) -> list[Words]:
        evidence = _evidence_of_waiting(database, snapshots, found)
        with reading(language_of(lang) or ENGLISH.language) as reader:
            return [_words(each, evidence.get(each.listed.transfer_id), reader) for each in found]


def _words(found: FoundTransfer, evidence: RefundExplanation | None, reader: Reader) -> Words:
    explanation = explain(situation_of(found, reader, evidence))
    return Words(
        reader.language,
        explanation.headline,
        explanation.now,
        explanation.next,
        how_sure(found.certainty, _chain_name(found), reader),
    )


def _evidence_of_waiting(
    database: Database, snapshots: SnapshotSource, found: Sequence[FoundTransfer]
) -> Mapping[TransferId, RefundExplanation]:
    preparing = Status.TRANSFER_REQUESTING_REFUND
    ids = [each.listed.transfer_id for each in found if each.listed.status.status is preparing]
    if not ids:
        return {}
    histories, facts = database.public.run_reads(_load_refunds, ids)
    infos = snapshots.current().terms.chain_infos
    return {
        transfer_id: evidence_of(histories[transfer_id], preparing, facts, infos)
        for transfer_id in ids
        if histories[transfer_id].log
    }


def _load_refunds(
    connection: Connection, ids: Sequence[TransferId]
) -> tuple[Mapping[bytes, TransferHistory], NetworkFacts]:
    return load_histories(connection, ids, basis_only=True), load_network_facts(connection)


class _PageBuilder:
    def __init__(
        self,
        database: Database,
        snapshot: NetworkSnapshot,
        one: _One,
        reader: Reader,
    ) -> None:
        self._database = database
        self._snapshot = snapshot
        self._terms = snapshot.terms
        self._reader = reader
        self._entry, self._history = one.entry, one.history
        self._row = one.entry.status
        self._found = FoundTransfer(listed_transfer(snapshot, one.entry), one.certainty)
        self._status = self._found.listed.status.status
        self._canonical = one.history.canonical()
        self._evidence: RefundExplanation | None = None
        if one.facts is not None:
            self._evidence = evidence_of(one.history, self._status, one.facts, self._terms.chain_infos)

    def build(self) -> FollowedTransfer:
        situation = situation_of(self._found, self._reader, self._evidence, on_page=True)
        return FollowedTransfer(
            transfer_id=f"0x{self._entry.transfer_id.hex()}",
            status=self._status,
            explanation=explain(situation),
            progress=progress_of_row(self._database, self._snapshot, self._row),
            steps=tuple(self._steps(situation)),
            transactions=tuple(self._transactions()),
            src=situation.src,
            dst=situation.dst,
            sent=situation.amount,
            received=situation.paid_out,
            sender=situation.sender,
            receiver=situation.receiver,
            updated_at=self._entry.updated_at,
            pace=self._pace(),
            claim=self._claim(),
            held=self._held(),
            certainty=how_sure(self._found.certainty, _chain_name(self._found), self._reader),
        )

    def _steps(self, situation: Situation) -> Iterator[StepLine]:
        stages = stages_of(self._canonical, self._status, self._history.requested_at)
        for step in steps_of(stages, self._status):
            label = step_label(step.name, situation, done=step.progress is Progress.DONE)
            yield StepLine(step.name, label, step.progress, step.at)

    def _transactions(self) -> Iterator[SeenTransaction]:
        row = self._row
        named = (
            (YOUR_TRANSACTION, row.src_chain_id, row.src_tx_hash),
            (THE_PAYOUT, row.dst_chain_id, row.dst_tx_hash),
            (YOUR_REFUND, row.src_chain_id, _refund_transaction(self._canonical)),
        )
        for what, chain_id, tx_hash in named:
            if tx_hash:
                chain = self._terms.chain_infos.get(chain_id or ChainId(0))
                link = _https(chain.tx_link(tx_hash)) if chain else ""
                on_chain = self._reader.text(ON_A_CHAIN[what], chain=chain.name) if chain else None
                yield SeenTransaction(on_chain or self._reader.text(what), tx_hash, link)

    def _chain_name(self, chain_id: ChainId) -> str:
        chain = self._terms.chain_infos.get(chain_id)
        return chain.name if chain else self._reader.text("chain %(number)s", number=str(chain_id))

    def _pace(self) -> Pace | None:
        row = self._row
        if not follows_route(self._status) or row.src_chain_id is None or row.dst_chain_id is None:
            return None
        times = route_times(self._database, row.src_chain_id, row.dst_chain_id)
        if times == UNKNOWN_TIMES:
            pace = Pace(row.sent_at, None, None, self._database.clock())
            return pace if pace.is_late else None
        median, p90 = timedelta(seconds=times.median), timedelta(seconds=times.p90)
        return Pace(row.sent_at, median, p90, self._database.clock())

    def _claim(self) -> Claim | None:
        evidence = self._evidence
        if evidence is None or not evidence.valid or evidence.call is None or evidence.contract is None:
            return None
        chain_id = evidence.chain_id or ChainId(0)
        chain = self._terms.chain_infos.get(chain_id)
        text = self._reader.text
        request: Mapping[str, str] = evidence.request or {}
        return Claim(
            chain=self._chain_name(chain_id),
            chain_id=chain_id,
            explorer=_https(chain.explore_url) if chain else "",
            contract=evidence.contract,
            call=evidence.call,
            receiver=request.get("receiver") or request.get("account", ""),
            may_refuse=tuple(text(each.words) for each in evidence.may_refuse),
        )

    def _held(self) -> Held | None:
        delayed = self._evidence.delayed if self._evidence else None
        if delayed is None:
            return None
        chain = self._terms.chain_infos.get(delayed.chain_id or ChainId(0))
        return Held(chain.name if chain else "", delayed.contract or "", delayed.call)


def _refund_transaction(canonical: CanonicalEvents) -> str | None:
    """The transaction that pays the refund, by the last canonical event."""
    named = [event for event in sorted(canonical.withdraws, key=lambda event: event.order) if _tx_hash(event)]
    return _tx_hash(named[-1]) if named else None


def _tx_hash(event: TransferEvent) -> str | None:
    tx_hash: str | None = getattr(event, "tx_hash", None)
    return tx_hash
