"""Where transfers are, and which there are. Each view parses a request, calls a service, dumps its answer."""

from __future__ import annotations

from typing import Final

from flask import Blueprint, Response

from app.db.database import Database
from app.http.interface import Answers, PublicInterface
from app.http.public import answer
from app.http.requests import read_body, read_query
from app.network.snapshot import SnapshotSource
from app.parts import current
from app.transfers.schemas.look_ups import (
    AnyFindQuery,
    AnyHistoryQuery,
    FindAnswer,
    HistoryAnswer,
    found_json,
    history_json,
)
from app.transfers.schemas.status_answers import (
    StatusBody,
    StatusesAnswer,
    StatusesBody,
    TransactionBody,
    progress_headers,
    status_answer,
    statuses_json,
)
from app.transfers.services.lookups import find_transfers, transfer_history
from app.transfers.services.status import transfer_status, transfer_status_by_transaction, transfer_statuses

STATUS_PATH: Final = "/getTransferStatus"
STATUSES_PATH: Final = "/getTransferStatuses"
HISTORY_PATH: Final = "/transferHistory"
FIND_PATH: Final = "/getTransfer"

_STATUS_BODY: Final = StatusBody()
_TRANSACTION_BODY: Final = TransactionBody()
_STATUSES_BODY: Final = StatusesBody()
_STATUSES_ANSWER: Final = StatusesAnswer()
_HISTORY_QUERY: Final = AnyHistoryQuery()
_HISTORY_ANSWER: Final = HistoryAnswer()
_FIND_QUERY: Final = AnyFindQuery()
_FIND_ANSWER: Final = FindAnswer()


def answers(compat_clients: bool) -> Answers:
    """The shape of each path's answer."""
    return {
        STATUS_PATH: status_answer(compat_clients),
        STATUSES_PATH: _STATUSES_ANSWER,
        HISTORY_PATH: _HISTORY_ANSWER,
        FIND_PATH: _FIND_ANSWER,
    }


def add_operations(operations: Blueprint) -> None:
    """Answer these paths."""
    operations.post(STATUS_PATH)(get_transfer_status)
    operations.post(STATUSES_PATH)(get_transfer_statuses)
    operations.get(HISTORY_PATH)(get_transfer_history)
    operations.get(FIND_PATH)(get_transfer)


def get_transfer_status() -> Response:
    """Where is this transfer?"""
    asked = read_body(_STATUS_BODY, otherwise=_TRANSACTION_BODY)
    database, snapshots = current(Database), current(SnapshotSource)
    if "transfer_id" in asked:
        status = transfer_status(database, snapshots, asked["transfer_id"])
    else:
        status = transfer_status_by_transaction(database, snapshots, asked["tx_hash"], asked["src_chain_id"])
    shape = status_answer(current(PublicInterface).compat_clients)
    return answer(shape, status, progress_headers(status))


def get_transfer_statuses() -> Response:
    """Where are these transfers?"""
    asked = read_body(_STATUSES_BODY)["transfer_ids"]
    found = transfer_statuses(current(Database), current(SnapshotSource), asked)
    return answer(_STATUSES_ANSWER, statuses_json(asked, found))


def get_transfer_history() -> Response:
    """What did these accounts send and receive?"""
    asked = read_query(_HISTORY_QUERY)
    wanted = asked["accounts"], asked["next_page_token"], asked["page_size"]
    page = transfer_history(current(Database), current(SnapshotSource), *wanted)
    return answer(_HISTORY_ANSWER, history_json(page))


def get_transfer() -> Response:
    """Which transfers are behind this id or transaction?"""
    asked = read_query(_FIND_QUERY)
    found = find_transfers(current(Database), current(SnapshotSource), asked["key"], asked.get("chain_id"))
    return answer(_FIND_ANSWER, found_json(found))
