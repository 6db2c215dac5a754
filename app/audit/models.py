"""What operators did. Rows are added, never changed. Only ``audit archive`` deletes any, the oldest ones."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.db.models import Base
from app.db.types import BigId, Hash32, UtcTime

SUBJECT_LENGTH = 256
ACTOR_LENGTH = 255
ADDRESS_LENGTH = 64
ACTION_LENGTH = 64


class AuditRecord(Base):
    """One operation (``app.audit.rules.records``).

    The ids have no gaps: they are given under the writer's lock.
    """

    __tablename__ = "audit_records"
    __table_args__ = (
        Index("ix_audit_records_actor", "actor"),
        Index("ix_audit_records_action", "action"),
        Index("ix_audit_records_at", "at"),
        Index("ix_audit_records_subject", "subject"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=False)
    at: Mapped[datetime] = mapped_column(UtcTime)
    actor: Mapped[str] = mapped_column(String(ACTOR_LENGTH), doc="an email, or cli:NAME")
    source: Mapped[str] = mapped_column(String(16), doc="console or cli")
    address: Mapped[str | None] = mapped_column(String(ADDRESS_LENGTH), doc="the caller's IP")
    action: Mapped[str] = mapped_column(String(ACTION_LENGTH), doc="such as network.edit")
    subject: Mapped[str] = mapped_column(String(SUBJECT_LENGTH), doc="what it was done to, such as chain 1")
    detail: Mapped[str] = mapped_column(Text, doc="a sentence for lists")
    changes: Mapped[str] = mapped_column(Text, doc="canonical JSON, exactly as it was sealed")
    mac: Mapped[bytes] = mapped_column(Hash32, doc="over this record and the mac before it")
    key_id: Mapped[str] = mapped_column(String(16), doc="which key sealed it")


class AuditSubject(Base):
    """A subject of a record: its own, and that of every row that it changed.

    It is for searches, and can be made again from the records. The chain of seals does not cover it.
    """

    __tablename__ = "audit_subjects"
    __table_args__ = {"sqlite_with_rowid": False}

    record_id: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=False)
    subject: Mapped[str] = mapped_column(
        String(SUBJECT_LENGTH), primary_key=True, doc="in lower case, such as chain 1"
    )
