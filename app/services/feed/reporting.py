"""What the bearer of an ingest token may do: report events, and ask how far it had come."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from app.db.engine import ask
from app.domain.reporting.token import IngestToken
from app.domain.times import rfc3339
from app.queries.reporters import last_accepted
from app.runtime.gateway import Gateway
from app.services.feed.ingest import IngestResult, Terms, ingest_lines
from app.services.reporters.tokens import charge, require_valid


@dataclass(frozen=True, slots=True)
class Cursor:
    """The last event that was accepted from a reporter; ``seq`` is its position in the log."""

    id: str
    type: str
    at: datetime
    received_at: datetime
    seq: int

    def as_json(self) -> dict[str, object]:
        """The wire's shape: times in RFC 3339, in UTC."""
        at, received_at = (rfc3339(time) for time in (self.at, self.received_at))
        return {"id": self.id, "type": self.type, "at": at, "received_at": received_at, "seq": self.seq}


def report(gateway: Gateway, token: IngestToken, lines: Iterable[bytes]) -> IngestResult:
    """Take a feed of lines from the token's bearer; each event keeps the token's name.

    What is outside the token's scope is refused line by line. When this returns, what it counts as
    accepted is committed.

    :raises Unauthorized: the token was revoked or expired meanwhile.
    :raises QuotaExceeded: it has reported as much as it may in this period. In both cases whole batches
        before that are committed, and of this one nothing.
    """
    terms = Terms(
        admit=lambda connection: require_valid(connection, token, gateway.clock()),
        charge=lambda connection, events: charge(connection, token, events, gateway.clock()),
        most_in_batch=token.quota.events if token.quota else None,
    )
    return ingest_lines(gateway, lines, token.name, scope=token.scope, terms=terms)


def cursor(gateway: Gateway, token: IngestToken) -> Cursor | None:
    """The last event that was accepted from the token's bearer; None where there is none.

    After a restore the bearer sends again what it reported after that event.
    """
    row = ask(gateway.reads, last_accepted, token.name)
    return None if row is None else Cursor(row.event_id, row.type, row.at, row.received_at, row.seq)
