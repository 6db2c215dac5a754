"""The public shapes of latencies: the median, and further figures."""

from __future__ import annotations

from typing import Any

from marshmallow import fields

from app.http.schemas import Answer, BoundedText, Number, Question, Uint, describe
from app.latency.services import LatencyStats
from app.values.times import rfc3339
from app.values.wire_values import MAX_SYMBOL_CHARACTERS


class LatencyQuery(Question):
    src_chain_id = Uint(64, required=True, metadata=describe("Chain id.", 1))
    dst_chain_id = Uint(64, required=True, metadata=describe("Chain id.", 56))


class LatencyAnswer(Answer):
    median_transfer_latency_in_second = Number(
        dump_default=0,
        metadata=describe("Median of the last 7 days, in seconds.", 612.5),
    )


class LatencyStatsQuery(LatencyQuery):
    token_symbol = BoundedText(
        MAX_SYMBOL_CHARACTERS,
        metadata=describe("Only transfers of this token.", "USDT"),
    )


class LatencyStatsAnswer(Answer):
    """Latencies are in seconds."""

    count = fields.Integer(dump_default=0, metadata=describe("How many transfers count.", 1204))
    window_seconds = fields.Integer(
        dump_default=0,
        metadata=describe(
            "They were released in this many seconds before now: 604800 or less.",
            604800,
        ),
    )
    median = Number(dump_default=0, metadata=describe("Seconds within which half were paid out.", 612.5))
    p90 = Number(dump_default=0, metadata=describe("Seconds within which 90 of 100 were paid out.", 840.25))
    p99 = Number(dump_default=0, metadata=describe("Seconds within which 99 of 100 were paid out.", 2460))
    as_of = fields.String(
        dump_default="",
        metadata=describe(
            "When the gateway accepted its newest event (RFC 3339), or empty.",
            "2026-11-21T12:00:00Z",
        ),
    )


def latency_stats_json(stats: LatencyStats) -> dict[str, Any]:
    return {
        "count": stats.count,
        "window_seconds": stats.window_seconds,
        "median": stats.median,
        "p90": stats.p90,
        "p99": stats.p99,
        "as_of": "" if stats.as_of is None else rfc3339(stats.as_of, "seconds"),
    }
