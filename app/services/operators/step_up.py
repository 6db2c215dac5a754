"""How long ago the owner of a session last proved who they are: at sign-in, or when asked again."""

from __future__ import annotations

from sqlalchemy import update

from app.db.engine import reading, writing
from app.domain.operators import STEP_UP_AFTER
from app.models.operators import OperatorSession
from app.queries.operators import session_proved_at
from app.runtime.gateway import Gateway
from app.services.operators.sessions import session_digest


def proved_lately(gateway: Gateway, operator_id: int, secret: str) -> bool:
    """Whether the last proof of the cookie's session is recent enough for a grave change."""
    now = gateway.clock()
    with reading(gateway.engine) as connection:
        proved_at = session_proved_at(connection, operator_id, session_digest(secret), now)
    return proved_at is not None and now - proved_at <= STEP_UP_AFTER


def note_proof(gateway: Gateway, operator_id: int, secret: str) -> None:
    """Note that the session's owner has just given password, code or passkey again."""
    where = (OperatorSession.digest == session_digest(secret), OperatorSession.operator_id == operator_id)
    with writing(gateway.engine) as connection:
        # A session that was ended meanwhile has no row, and stays ended.
        connection.execute(update(OperatorSession).where(*where).values(proved_at=gateway.clock()))
