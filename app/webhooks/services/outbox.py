"""Writes deliveries in the transaction of the change that they report, so both are committed or neither.

An alert of operators is published once when it begins to hold and once when it ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, bindparam, delete, insert

from app.audit.keys import AuditKeys
from app.audit.verification import verify_audit
from app.db.database import Database
from app.db.engine import reading, run_read, writing
from app.db.upserts import append
from app.feed.projection.journal import Published
from app.latency.queries import twice_medians_by_pair
from app.latency.rules.median import window
from app.network.snapshot import SnapshotSource
from app.transfers.queries.anomalies import first_open_anomalies
from app.transfers.queries.status import Cursor, oldest_in_state
from app.transfers.rules.published_changes import STATUS_EVENT, StatusChange
from app.transfers.rules.stuck import STATUSES, MustAct, Thresholds
from app.values.times import age_in_words
from app.watcher.rules.watched import WatchedChain, WatchState
from app.watcher.services.chains import watched_chains
from app.webhooks.models import DELIVERY_SUBJECT_LENGTH, Alert, Delivery, delivery_row
from app.webhooks.queries import Listeners, by_subject, holding_alerts, listeners, of_alerts
from app.webhooks.rules.subscription import (
    AUDIT_LOG,
    AlertKind,
    account_subject,
    change_body,
    event_body,
    transfer_subject,
)


def publish_changes(connection: Connection, changes: Sequence[Published], now: datetime) -> None:
    """Write the deliveries for changes of projected transfers. The caller is the only writer.

    Without any subscription this is one look-up, and without a change of a status nothing.
    """
    if not changes:
        return
    heard = listeners(connection)
    if not heard.of_everything and not heard.of_subjects:
        return
    rows: list[dict[str, Any]] = []
    for change, subscriptions in _subscribed(connection, changes, heard):
        body = change_body(change, now)
        subject = f"0x{change.transfer_id.hex()}"
        rows += [delivery_row(i, STATUS_EVENT, subject, body, now) for i in subscriptions]
    append(connection, Delivery, rows)


def _subscribed(
    connection: Connection, changes: Iterable[Published], heard: Listeners
) -> list[tuple[StatusChange, list[int]]]:
    """The changes that have subscriptions, each with their ids, ascending."""
    subjects = {each.change: _subjects(each) for each in changes}
    naming = (
        by_subject(connection, {s for each in subjects.values() for s in each}) if heard.of_subjects else {}
    )
    subscribed = []
    for change, about in subjects.items():
        ids = set(heard.of_everything).union(*(naming.get(subject, ()) for subject in about))
        if ids:
            subscribed.append((change, sorted(ids)))
    return subscribed


def _subjects(published: Published) -> list[str]:
    return [transfer_subject(published.change.transfer_id), *map(account_subject, published.accounts)]


def publish_head(connection: Connection, head: str, now: datetime) -> None:
    """Write the alerts with a new head of the audit log. The caller is the only writer.

    :param head: ``ID:MAC``.
    """
    heard = [i for i, kinds in of_alerts(connection) if AlertKind.AUDIT_HEAD in kinds]
    if not heard:
        return
    type_ = f"alert.{AlertKind.AUDIT_HEAD}"
    body = event_body(type_, now, {"subject": AUDIT_LOG, "detail": head, "holds": True})
    append(connection, Delivery, [delivery_row(i, type_, AUDIT_LOG, body, now) for i in heard])


MOST: Final = 5_000
"""Alerts of one kind that are published one by one."""

AUDIT_EVERY: Final = timedelta(minutes=15)
"""How often the whole audit log is verified, if anybody subscribed to that."""

_BATCH: Final = 500

Found = Mapping[str, str]
"""By subject, the alert that holds, in words."""


class Alerts:
    """The alerts of one sender. It remembers when it verified the audit log."""

    def __init__(self) -> None:
        self._audit_next: datetime | None = None

    def publish(self, database: Database, snapshots: SnapshotSource, audit_keys: AuditKeys) -> None:
        """Check the alerts that operators subscribed to, and write deliveries where one began or ended."""
        wanted = {kind for _, kinds in run_read(database.reads, of_alerts) for kind in kinds}
        known = run_read(database.reads, holding_alerts)
        found: dict[AlertKind, Found] = {}
        for kind in wanted:
            if (holding := self._look(database, snapshots, audit_keys, kind)) is not None:
                found[kind] = holding
        dropped = {kind for kind, _ in known} - {kind.value for kind in wanted}
        if dropped or any(_known_subjects(known, kind) != holding.keys() for kind, holding in found.items()):
            with writing(database.engine) as connection:
                for former in dropped:  # without subscribers now; published again to later ones
                    connection.execute(delete(Alert).where(Alert.kind == former))
                for kind, holding in found.items():
                    _publish(connection, kind, holding, database.clock())

    def _look(
        self, database: Database, snapshots: SnapshotSource, audit_keys: AuditKeys, kind: AlertKind
    ) -> Found | None:
        """The alerts of a kind that hold; None where they are not checked now."""
        match kind:
            case AlertKind.STUCK:
                return _stuck(database)
            case AlertKind.ANOMALY:
                return _anomalies(database)
            case AlertKind.CHAIN_QUIET:
                return _quiet_chains(database, snapshots)
            case AlertKind.AUDIT_BROKEN:
                return self._audit(database, audit_keys)
            case AlertKind.AUDIT_HEAD:
                return None  # published with each record (audit/services.py)

    def _audit(self, database: Database, audit_keys: AuditKeys) -> Found | None:
        now = database.clock()
        if self._audit_next is not None and now < self._audit_next:
            return None
        self._audit_next = now + AUDIT_EVERY
        fault = verify_audit(database, audit_keys).fault
        return {} if fault is None else {AUDIT_LOG: fault}


def _known_subjects(known: Mapping[tuple[str, str], str], kind: AlertKind) -> set[str]:
    return {subject for of_kind, subject in known if of_kind == kind.value}


def _publish(connection: Connection, kind: AlertKind, holding: Found, now: datetime) -> None:
    """Write what changed since the last time. The caller is the only writer, so no sender repeats another."""
    known = {
        subject: detail for (of, subject), detail in holding_alerts(connection).items() if of == kind.value
    }
    began = [(subject, holding[subject]) for subject in sorted(holding.keys() - known.keys())]
    ended = [(subject, known[subject]) for subject in sorted(known.keys() - holding.keys())]
    if began:
        rows = [{"kind": kind.value, "subject": s, "since": now, "detail": detail} for s, detail in began]
        connection.execute(insert(Alert), rows)
    if ended:
        of_one = delete(Alert).where(Alert.kind == bindparam("of"), Alert.subject == bindparam("about"))
        connection.execute(of_one, [{"of": kind.value, "about": subject} for subject, _ in ended])
    listening = [i for i, kinds in of_alerts(connection) if kind in kinds]
    changes = [(True, *each) for each in began] + [(False, *each) for each in ended]
    deliveries: list[dict[str, Any]] = []
    for holds, subject, detail in changes:
        data = {"subject": subject, "detail": detail, "holds": holds}
        body = event_body(f"alert.{kind.value}", now, data)
        deliveries += [
            delivery_row(i, f"alert.{kind.value}", subject[:DELIVERY_SUBJECT_LENGTH], body, now)
            for i in listening
        ]
    if deliveries:
        connection.execute(insert(Delivery), deliveries)


def _stuck(database: Database) -> Found:
    """Transfers that wait for the bridge, as the console lists them."""
    now = database.clock()
    found: dict[str, str] = {}
    with reading(database.reads) as connection:
        thresholds = Thresholds.of(twice_medians_by_pair(connection, *window(now)))
        statuses = [int(status) for status in STATUSES[MustAct.BRIDGE]]
        until, after = now - thresholds.least, None
        while len(found) < MOST and (rows := oldest_in_state(connection, statuses, until, after, _BATCH)):
            for row in rows:
                lasting = now - row.status_since
                if lasting > thresholds.allowed(row.src_chain_id, row.dst_chain_id):
                    since = age_in_words(lasting)
                    found[f"transfer 0x{row.transfer_id.hex()}"] = (
                        f"at status {int(row.status)} since {since}"
                    )
            after = Cursor(rows[-1].status_since, rows[-1].transfer_id)
    return found


def _anomalies(database: Database) -> Found:
    """Anomalies that nobody has acknowledged."""
    with reading(database.reads) as connection:
        rows = first_open_anomalies(connection, MOST)
    return {f"{row.kind} {row.subject}"[:512]: row.detail for row in rows}


def _quiet_chains(database: Database, snapshots: SnapshotSource) -> Found:
    """Watched chains that are not read, have no new blocks, or had no event for a long time."""
    now = database.clock()
    found = {}
    for chain in watched_chains(database, snapshots):
        if (words := _quiet_words(chain, now)) is not None:
            found[f"chain {chain.chain_id}"] = f"{chain.name}: {words}"
    return found


def _quiet_words(chain: WatchedChain, now: datetime) -> str | None:
    match chain.state:
        case WatchState.STOPPED:
            return "reading is stopped"
        case WatchState.NOT_READ:
            return "no watcher reads it"
        case WatchState.STANDING:
            return "its nodes report no new block"
    return "no event for a long time" if chain.is_quiet(now) else None
