"""The operations on transfers. Each view parses the request, calls a service and dumps the answer."""

from __future__ import annotations

from flask import Blueprint, Response

from app.api.answers import answer, status_response
from app.api.door import (
    ESTIMATE_PATH,
    EXPLAIN_PATH,
    FIND_PATH,
    HISTORY_PATH,
    LATENCY_PATH,
    LATENCY_STATS_PATH,
    STATUS_PATH,
    STATUSES_PATH,
    current_door,
)
from app.api.requests import apply_request_policy, caller, read_body, read_query, read_query_or_body
from app.db.database import Database
from app.estimates.counts import EstimateCounts
from app.estimates.inputs import EstimateRequest
from app.estimates.schemas import explained_json, latency_stats_json
from app.estimates.services import estimate_transfer, explain_estimate
from app.feed.services.ahead import settle_what_is_due
from app.latency.services import latency_stats, median_latency
from app.network.snapshot import SnapshotSource
from app.parts import current
from app.transfers.schemas import found_json, history_json, statuses_json
from app.transfers.services.lookups import find_transfers, transfer_history
from app.transfers.services.status import transfer_status, transfer_status_by_transaction, transfer_statuses

operations = Blueprint("v2", __name__)
operations.before_request(apply_request_policy)
operations.before_request(lambda: settle_what_is_due(current(Database)))


@operations.post(STATUS_PATH)
def get_transfer_status() -> Response:
    """Where is this transfer?"""
    door = current_door()
    asked = read_body(door.status_body, any_content_type=door.compat_clients, otherwise=door.transaction_body)
    if "transfer_id" in asked:
        status = transfer_status(current(Database), current(SnapshotSource), asked["transfer_id"])
    else:
        status = transfer_status_by_transaction(
            current(Database), current(SnapshotSource), asked["tx_hash"], asked["src_chain_id"]
        )
    return status_response(door.status_answer, status)


@operations.post(STATUSES_PATH)
def get_transfer_statuses() -> Response:
    """Where are these transfers?"""
    door = current_door()
    asked = read_body(door.statuses_body, any_content_type=door.compat_clients)["transfer_ids"]
    return answer(
        door.statuses_answer,
        statuses_json(asked, transfer_statuses(current(Database), current(SnapshotSource), asked)),
    )


@operations.get(HISTORY_PATH)
def get_transfer_history() -> Response:
    """What did these accounts send and receive?"""
    door = current_door()
    asked = read_query(door.history_query)
    page = transfer_history(
        current(Database),
        current(SnapshotSource),
        asked["accounts"],
        asked["next_page_token"],
        asked["page_size"],
    )
    return answer(door.history_answer, history_json(page))


@operations.get(FIND_PATH)
def get_transfer() -> Response:
    """Which transfers are behind this id or transaction?"""
    door = current_door()
    asked = read_query(door.find_query)
    found = find_transfers(current(Database), current(SnapshotSource), asked["key"], asked.get("chain_id"))
    return answer(door.find_answer, found_json(found))


@operations.get(ESTIMATE_PATH)
@operations.post(ESTIMATE_PATH)
def estimate_amt() -> Response:
    """What would this transfer bring?"""
    door = current_door()
    asked = read_query_or_body(door.estimate_query, any_content_type=door.compat_clients)
    usr_addr = asked.pop("usr_addr", None)
    estimate = estimate_transfer(
        current(Database),
        current(SnapshotSource),
        current(EstimateCounts),
        EstimateRequest(**asked),
        usr_addr,
        caller(),
    )
    return answer(door.estimate_answer, estimate)


@operations.get(EXPLAIN_PATH)
def get_explained_estimate() -> Response:
    """How does this estimate come about, or why is there none?"""
    door = current_door()
    asked = read_query(door.estimate_query)
    usr_addr = asked.pop("usr_addr", None)
    explained = explain_estimate(
        current(Database),
        current(SnapshotSource),
        current(EstimateCounts),
        EstimateRequest(**asked),
        usr_addr,
        caller(),
    )
    return answer(door.explained_answer, explained_json(explained))


@operations.get(LATENCY_PATH)
def get_latest_7_day_transfer_latency() -> Response:
    """How long do transfers between these chains take?"""
    door = current_door()
    asked = read_query(door.latency_query)
    seconds = median_latency(
        current(Database), current(SnapshotSource), asked["src_chain_id"], asked["dst_chain_id"]
    )
    return answer(door.latency_answer, {"median_transfer_latency_in_second": seconds})


@operations.get(LATENCY_STATS_PATH)
def get_transfer_latency_stats() -> Response:
    """How long do transfers between these chains take, and how much does it vary?"""
    door = current_door()
    asked = read_query(door.latency_stats_query)
    stats = latency_stats(
        current(Database),
        current(SnapshotSource),
        asked["src_chain_id"],
        asked["dst_chain_id"],
        asked.get("token_symbol"),
    )
    return answer(door.latency_stats_answer, latency_stats_json(stats))
