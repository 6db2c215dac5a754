# ruff: noqa: S608  no value in these statements comes from outside
"""What an event is about is part of its identity, and ids have up to 256 characters.

The log is written anew on SQLite, and every row of it on PostgreSQL: minutes for tens of millions of events.
Run it while the feed may wait.

Going down gives the older code a log that it can read: events about different things that share an id become
further acceptances of one, and it sees the last of them as the event of that id; ids of more than 128
characters are cut and end in a digest; `refund.failed` and `refund.delayed` and the fields that it does not
know are removed. Report them again after going up.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

from app.db.migrating import add_columns, by_range, create_index, is_postgresql, without_transaction

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

SQUAWK = {
    "changing-column-type": "wider, or without a limit: PostgreSQL writes no row",
    "ban-drop-constraint": "its successor is built beside readers and takes its place in one transaction",
    "ban-drop-default": "the default was for this migration's own rows",
}

ID_COLUMNS = ("retracted_events", "fed_validator_sets", "fed_fees", "pruned_reporters")
SUBJECT = sa.String(96)
NEW_TYPES = ("refund.failed", "refund.delayed")
NEW_FIELDS = ("log_index", "contract", "delayed_id", "subjects")
OLD_ID = 128

EVENTS = sa.table("events", *map(sa.column, ("seq", "event_id", "subject", "occurrence", "type", "body")))
ANOMALIES = sa.table(
    "anomalies",
    *map(sa.column, ("id", "subject", "kind", "transfer_id", "chain_id", "last_at")),
    sa.column("event_ids", sa.JSON()),
)
ACCEPTANCES_BEFORE = """
    SELECT count(*) FROM events AS o WHERE o.event_id = events.event_id AND o.seq < events.seq
"""
SHARED_IDS = "SELECT event_id FROM events GROUP BY event_id HAVING count(DISTINCT subject) > 1"


def upgrade() -> None:
    if is_postgresql():
        _upgrade_events_in_use()
    else:
        _upgrade_events()
    for table in ID_COLUMNS:
        with op.batch_alter_table(table) as batch_op:
            batch_op.alter_column("event_id", existing_type=sa.String(128), type_=sa.String(256))
    with op.batch_alter_table("anomalies") as batch_op:
        batch_op.alter_column("subject", existing_type=sa.String(256), type_=sa.String(512))
    _upgrade_retracted_events()
    _upgrade_anomalies()
    _upgrade_pruned_events()


def _upgrade_events_in_use() -> None:
    """As ``_upgrade_events``, in steps that are short or lock no table, and may be repeated."""
    op.alter_column("events", "event_id", existing_type=sa.String(128), type_=sa.String(256))
    add_columns("events", sa.Column("subject", SUBJECT, nullable=False, server_default=""))
    op.execute("ALTER TABLE events DROP CONSTRAINT IF EXISTS uq_events_event_id_occurrence")
    by_range("events", "seq", f"UPDATE events SET subject = {_subject_of_event()} WHERE {{range}}")
    with without_transaction():
        _execute(
            f"UPDATE events SET occurrence = ({ACCEPTANCES_BEFORE} AND o.subject = events.subject) "
            f"WHERE event_id IN ({SHARED_IDS})"
        )
    name = "uq_events_event_id_subject_occurrence"
    _unique_in_use("events", name, ["event_id", "subject", "occurrence"])
    op.execute(f"ALTER TABLE events DROP CONSTRAINT IF EXISTS {name}")
    op.execute(f"ALTER TABLE events ADD CONSTRAINT {name} UNIQUE USING INDEX {name}_next")
    op.alter_column("events", "subject", existing_type=SUBJECT, server_default=None)
    with without_transaction():
        pass  # commits: the rest reads the log


def _unique_in_use(table: str, name: str, columns: list[str]) -> None:
    create_index(f"{name}_next", table, columns, unique=True)


def _upgrade_events() -> None:
    with op.batch_alter_table("events") as batch_op:
        batch_op.alter_column("event_id", existing_type=sa.String(128), type_=sa.String(256))
        batch_op.add_column(sa.Column("subject", SUBJECT, nullable=False, server_default=""))
        batch_op.drop_constraint(batch_op.f("uq_events_event_id_occurrence"), type_="unique")
    _execute(f"UPDATE events SET subject = {_subject_of_event()}")
    _execute(
        f"UPDATE events SET occurrence = ({ACCEPTANCES_BEFORE} AND o.subject = events.subject) "
        f"WHERE event_id IN ({SHARED_IDS})"
    )
    with op.batch_alter_table("events") as batch_op:
        batch_op.alter_column("subject", existing_type=SUBJECT, server_default=None)
        batch_op.create_unique_constraint(
            batch_op.f("uq_events_event_id_subject_occurrence"), ["event_id", "subject", "occurrence"]
        )


def _execute(statement: str) -> None:
    op.execute(sa.text(statement))


def _subject_of_event() -> str:
    """What a row of the log is about, as ``Event.subject`` of the application spells it."""
    if is_postgresql():
        transfer = "encode(transfer_id, 'hex')"
        src, dst, symbol = (f"(body::json)->>'{name}'" for name in ("src_chain_id", "dst_chain_id", "symbol"))
    else:
        transfer = "lower(hex(transfer_id))"
        src, dst, symbol = (
            f"json_extract(body, '$.{name}')" for name in ("src_chain_id", "dst_chain_id", "symbol")
        )
    return f"""CASE
        WHEN transfer_id IS NOT NULL THEN 'transfer:0x' || {transfer}
        WHEN chain_id IS NOT NULL THEN 'chain:' || chain_id
        WHEN type = 'fee.updated' THEN 'route:' || ({src}) || ':' || ({dst}) || ':' || ({symbol})
        ELSE 'operators' END"""


def _upgrade_retracted_events() -> None:
    """Before this, an id was of one thing only: the one that the log has."""
    _add_column("retracted_events", sa.Column("subject", SUBJECT, nullable=False, server_default="operators"))
    of_id = "events.event_id = retracted_events.event_id AND events.occurrence = 0"
    _execute(
        f"UPDATE retracted_events SET subject = (SELECT min(events.subject) FROM events WHERE {of_id}) "
        f"WHERE EXISTS (SELECT 1 FROM events WHERE {of_id})"
    )
    _new_key("retracted_events", ["event_id", "subject"])
    with op.batch_alter_table("retracted_events") as batch_op:
        batch_op.alter_column("subject", existing_type=SUBJECT, server_default=None)


def _upgrade_anomalies() -> None:
    of_id = "anomalies.subject = 'event:' || events.event_id AND events.occurrence = 0"
    values = ", ".join(
        f"{column} = (SELECT {value} FROM events WHERE {of_id} ORDER BY seq LIMIT 1)"
        for column, value in (
            ("subject", "'event:' || events.subject || ':' || events.event_id"),
            ("transfer_id", "events.transfer_id"),
            ("chain_id", "events.chain_id"),
        )
    )
    _execute(
        f"UPDATE anomalies SET {values} WHERE subject LIKE 'event:%' "
        f"AND EXISTS (SELECT 1 FROM events WHERE {of_id})"
    )


def _upgrade_pruned_events() -> None:
    empty = "''::bytea" if is_postgresql() else "x''"
    digest = sa.Column("subject_digest", sa.LargeBinary(8), nullable=False, server_default=sa.text(empty))
    _add_column("pruned_events", digest)
    with op.batch_alter_table("pruned_events") as batch_op:
        batch_op.alter_column("content_digest", existing_type=sa.LargeBinary(8), type_=sa.LargeBinary())
    _new_key("pruned_events", ["id_digest", "subject_digest"])
    with op.batch_alter_table("pruned_events") as batch_op:
        batch_op.alter_column("subject_digest", existing_type=sa.LargeBinary(8), server_default=None)


def _add_column(table: str, column: sa.Column[Any]) -> None:
    if is_postgresql():
        add_columns(table, column)
        return
    with op.batch_alter_table(table) as batch_op:
        batch_op.add_column(column)


def _new_key(table: str, columns: list[str]) -> None:
    if is_postgresql():
        _unique_in_use(table, f"pk_{table}", columns)
        op.execute(f"ALTER TABLE {table} DROP CONSTRAINT pk_{table}")
        op.execute(f"ALTER TABLE {table} ADD CONSTRAINT pk_{table} PRIMARY KEY USING INDEX pk_{table}_next")
        return
    with op.batch_alter_table(table) as batch_op:
        batch_op.drop_constraint(f"pk_{table}", type_="primary")
        batch_op.create_primary_key(f"pk_{table}", columns)


def downgrade() -> None:
    _downgrade_pruned_events()
    _downgrade_anomalies()
    _downgrade_retracted_events()
    _cut_bodies()
    with op.batch_alter_table("events") as batch_op:
        batch_op.drop_constraint(batch_op.f("uq_events_event_id_subject_occurrence"), type_="unique")
    _execute(f"UPDATE events SET occurrence = ({ACCEPTANCES_BEFORE}) WHERE event_id IN ({SHARED_IDS})")
    for table in ("events", *ID_COLUMNS):
        _cut_ids(table)
    with op.batch_alter_table("events") as batch_op:
        batch_op.drop_column("subject")
        batch_op.alter_column("event_id", existing_type=sa.String(256), type_=sa.String(128))
        batch_op.create_unique_constraint(
            batch_op.f("uq_events_event_id_occurrence"), ["event_id", "occurrence"]
        )
    for table in ID_COLUMNS:
        with op.batch_alter_table(table) as batch_op:
            batch_op.alter_column("event_id", existing_type=sa.String(256), type_=sa.String(128))


def _downgrade_pruned_events() -> None:
    _execute(
        "DELETE FROM pruned_events WHERE EXISTS (SELECT 1 FROM pruned_events AS o "
        "WHERE o.id_digest = pruned_events.id_digest AND o.subject_digest < pruned_events.subject_digest)"
    )
    _new_key("pruned_events", ["id_digest"])
    with op.batch_alter_table("pruned_events") as batch_op:
        batch_op.drop_column("subject_digest")
        batch_op.alter_column("content_digest", existing_type=sa.LargeBinary(), type_=sa.LargeBinary(8))


def _downgrade_anomalies() -> None:
    """Of several events with one id the anomaly that was seen last stays."""
    connection = op.get_bind()
    seen: set[tuple[str, str]] = set()
    for row in connection.execute(sa.select(ANOMALIES).order_by(ANOMALIES.c.last_at.desc())).all():
        about_event = row.subject.startswith("event:") and row.event_ids
        subject = f"event:{_cut(row.event_ids[0])}" if about_event else _cut(row.subject, 256)
        this = ANOMALIES.c.id == row.id
        if (subject, row.kind) in seen:
            connection.execute(sa.delete(ANOMALIES).where(this))
        elif about_event:
            values = {"subject": subject, "transfer_id": None, "chain_id": None}
            connection.execute(sa.update(ANOMALIES).where(this).values(values))
        elif subject != row.subject:
            connection.execute(sa.update(ANOMALIES).where(this).values(subject=subject))
        seen.add((subject, row.kind))
    with op.batch_alter_table("anomalies") as batch_op:
        batch_op.alter_column("subject", existing_type=sa.String(512), type_=sa.String(256))


def _downgrade_retracted_events() -> None:
    _execute(
        "DELETE FROM retracted_events WHERE EXISTS (SELECT 1 FROM retracted_events AS o "
        "WHERE o.event_id = retracted_events.event_id AND (o.seq > retracted_events.seq "
        "OR o.seq = retracted_events.seq AND o.subject < retracted_events.subject))"
    )
    _new_key("retracted_events", ["event_id"])
    with op.batch_alter_table("retracted_events") as batch_op:
        batch_op.drop_column("subject")


def _cut_bodies() -> None:
    connection = op.get_bind()
    connection.execute(sa.delete(EVENTS).where(EVENTS.c.type.in_(NEW_TYPES)))
    for row in _bodies(connection):
        body = {name: value for name, value in json.loads(row.body).items() if name not in NEW_FIELDS}
        if "targets" in body:
            body["targets"] = [_cut(target) for target in body["targets"]]
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        connection.execute(sa.update(EVENTS).where(EVENTS.c.seq == row.seq).values(body=text))


def _bodies(connection: sa.Connection) -> Iterator[Any]:
    """The rows that the older code could not read, a page at a time."""
    named = sa.or_(*(EVENTS.c.body.contains(f'"{name}"', autoescape=True) for name in NEW_FIELDS))
    last = -1
    while True:
        page = sa.select(EVENTS.c.seq, EVENTS.c.body).where(named, EVENTS.c.seq > last)
        rows = connection.execute(page.order_by(EVENTS.c.seq).limit(1000)).all()
        yield from rows
        if not rows:
            return
        last = rows[-1].seq


def _cut_ids(table: str) -> None:
    connection = op.get_bind()
    event_id = sa.column("event_id", sa.String())
    rows = sa.table(table, event_id)
    long = connection.scalars(sa.select(rows.c.event_id).where(sa.func.length(event_id) > OLD_ID).distinct())
    for found in long.all():
        connection.execute(sa.update(rows).where(event_id == found).values(event_id=_cut(found)))


def _cut(text: str, length: int = OLD_ID) -> str:
    if len(text) <= length:
        return text
    digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return f"{text[: length - len(digest) - 1]}:{digest}"
