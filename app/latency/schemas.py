"""The public shapes of latencies: the median, and further figures."""

from __future__ import annotations

from typing import Any

from marshmallow import fields

from app.http.schemas import Answer, BoundedText, Number, Question, Uint, describe
from app.latency.services import LatencyStats
from app.values.times import rfc3339
from app.values.wire_values import MAX_SYMBOL_CHARACTERS


class LatencyQuery(Question):
    src_chain_id = Uint(64, required=True, metadata=describe("Source chain id.", 1))
    dst_chain_id = Uint(64, required=True, metadata=describe("Destination chain id.", 56))


class LatencyAnswer(Answer):
    median_transfer_latency_in_second = Number(
        dump_default=0,
        metadata=describe("Median of the transfers released in the last 7 days, in seconds.", 612.5),
    )


class LatencyStatsQuery(LatencyQuery):
    token_symbol = BoundedText(
        MAX_SYMBOL_CHARACTERS,
        metadata=describe("Only transfers of this token. If omitted, those of all tokens.", "USDT"),
    )


class LatencyStatsAnswer(Answer):
    """Latencies are in seconds."""

    count = fields.Integer(dump_default=0, metadata=describe("Number of transfers.", 1204))
    window_seconds = fields.Integer(
        dump_default=0,
        metadata=describe(
            "They were released in the last so many seconds: 604800, or fewer for a token of a busy pair.",
            604800,
        ),
    )
    median = Number(dump_default=0, metadata=describe("Median.", 612.5))
    p90 = Number(dump_default=0, metadata=describe("90 of 100 transfers took at most as long.", 840.25))
    p99 = Number(dump_default=0, metadata=describe("99 of 100 transfers took at most as long.", 2460))
    as_of = fields.String(
        dump_default="",
        metadata=describe(
            "When the gateway received its newest event (RFC 3339); empty before the first.",
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
