"""How long transfers take. Each view parses the request, calls a service, dumps the answer."""

from __future__ import annotations

from typing import Final

from flask import Blueprint, Response

from app.db.database import Database
from app.http.interface import Answers
from app.http.public import answer
from app.http.requests import read_query
from app.latency.schemas import (
    LatencyAnswer,
    LatencyQuery,
    LatencyStatsAnswer,
    LatencyStatsQuery,
    latency_stats_json,
)
from app.latency.services import latency_stats, median_latency
from app.network.snapshot import SnapshotSource
from app.parts import current

LATENCY_PATH: Final = "/getLatest7DayTransferLatencyForQuery"
LATENCY_STATS_PATH: Final = "/getTransferLatencyStats"

_LATENCY_QUERY: Final = LatencyQuery()
_LATENCY_ANSWER: Final = LatencyAnswer()
_STATS_QUERY: Final = LatencyStatsQuery()
_STATS_ANSWER: Final = LatencyStatsAnswer()

ANSWERS: Final[Answers] = {LATENCY_PATH: _LATENCY_ANSWER, LATENCY_STATS_PATH: _STATS_ANSWER}


def add_operations(operations: Blueprint) -> None:
    """Answer these paths."""
    operations.get(LATENCY_PATH)(get_latest_7_day_transfer_latency)
    operations.get(LATENCY_STATS_PATH)(get_transfer_latency_stats)


def get_latest_7_day_transfer_latency() -> Response:
    """How long do transfers between these chains take?"""
    asked = read_query(_LATENCY_QUERY)
    chains = asked["src_chain_id"], asked["dst_chain_id"]
    seconds = median_latency(current(Database), current(SnapshotSource), *chains)
    return answer(_LATENCY_ANSWER, {"median_transfer_latency_in_second": seconds})


def get_transfer_latency_stats() -> Response:
    """How long do transfers between these chains take, and how much does it vary?"""
    asked = read_query(_STATS_QUERY)
    of = asked["src_chain_id"], asked["dst_chain_id"], asked.get("token_symbol")
    stats = latency_stats(current(Database), current(SnapshotSource), *of)
    return answer(_STATS_ANSWER, latency_stats_json(stats))
