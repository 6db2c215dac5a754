"""Asks for refunds: taken from users, offered to the validator network."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, insert

from app.db.engine import ask, writing
from app.domain.blocking import IPAddress
from app.domain.codes import REFUND_STATUSES, Reason
from app.domain.codes import TransferHistoryStatus as Status
from app.domain.errors import GatewayError
from app.domain.keys import TransferId
from app.domain.refund.ask import WithdrawRequest
from app.domain.reporting.scope import Scope
from app.domain.times import rfc3339
from app.models.refund_asks import RefundAsk
from app.queries.feed.facts import load_network_facts
from app.queries.feed.pruned import newest_seq
from app.queries.transfers.refunds import AskRow, asks_after, status_of
from app.runtime.gateway import Gateway
from app.services.feed.projection import refold
from app.services.transfers.status import transfer_not_found

PAGE: Final = 500
"""Asks that one answer looks at."""

_ASKED: Final = REFUND_STATUSES - {Status.TRANSFER_TO_BE_REFUNDED}
"""The refund has begun: asking again changes nothing."""


def ask_for_refund(gateway: Gateway, request: WithdrawRequest, caller: IPAddress | None) -> int:
    """Take a user's ask for the refund of a transfer at status 6 (docs/interface.md#refund-ask).

    The first ask is kept, and the status is 7 when this returns; from 7 to 10 nothing is written. The
    status is read from the primary: a replica may be behind.

    :param caller: counted, and not kept.
    :returns: the request's own number.
    :raises GatewayError: too many asks, an unknown transfer, or nothing to refund; the reason tells which.
    """
    gateway.ask_limit.count(caller)
    transfer_id = request.refund_of
    if transfer_id is None:
        raise GatewayError(
            "only refunds can be requested: send withdraw_type 1 and the transfer's id as xfer_id",
            reason=Reason.REFUND_NOT_AVAILABLE,
        )
    status = ask(gateway.reads, status_of, transfer_id)
    if status is None:
        raise transfer_not_found(gateway, transfer_id)
    if _is_new(Status(status)):
        with writing(gateway.engine) as connection:
            _keep(connection, transfer_id, gateway.clock())
    return request.req_id


def _is_new(status: Status) -> bool:
    """Whether there is something to ask for.

    :raises GatewayError: at another status than 6 to 10.
    """
    if status in _ASKED:
        return False
    if status is not Status.TRANSFER_TO_BE_REFUNDED:
        raise GatewayError(
            f"this transfer cannot be refunded: its status is {status.value} ({status.name}); request the "
            "refund while it is 6",
            reason=Reason.REFUND_NOT_AVAILABLE,
        )
    return True


def _keep(connection: Connection, transfer_id: TransferId, now: datetime) -> None:
    """Keep the ask unless another came first. The caller is the only writer.

    Of two who ask at once the second finds status 7.
    """
    status = status_of(connection, transfer_id)
    if status is not None and _is_new(Status(status)):
        place = newest_seq(connection)
        connection.execute(insert(RefundAsk), {"transfer_id": transfer_id, "at": now, "log_seq": place})
        refold(connection, [transfer_id], load_network_facts(connection), now)


@dataclass(frozen=True, slots=True)
class AskPage:
    """Asks in the order in which they came; ``next`` is where to read on, and equal to what was asked at the
    end."""

    requests: tuple[AskRow, ...]
    next: int

    def as_json(self) -> dict[str, object]:
        """The wire's shape, without ``err``."""
        requests = [
            {"seq": each.seq, "transfer_id": f"0x{each.transfer_id.hex()}", "at": rfc3339(each.at)}
            for each in self.requests
        ]
        return {"requests": requests, "next": self.next}


def refund_asks(gateway: Gateway, scope: Scope, after: int) -> AskPage:
    """The asks behind one, as far as they are of the scope's chains: of the next ``PAGE`` those.

    So a page may have none, and still ``next`` leads on.
    """
    rows = ask(gateway.reads, asks_after, after, PAGE)
    return AskPage(
        tuple(row for row in rows if scope.has_chain(row.chain_id)), rows[-1].seq if rows else after
    )
