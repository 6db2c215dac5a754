"""The operations that explain estimates and latencies, in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from app.api.door import EXPLAIN_PATH, LATENCY_STATS_PATH, ApiDoor
from app.api.openapi.insight_examples import EXPLAIN_EXAMPLES, LATENCY_STATS_EXAMPLES
from app.api.openapi.responses import READ, responses


def insight_operations(door: ApiDoor) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each path, without its prefix, and its operations by method."""
    yield EXPLAIN_PATH, {"get": _explain(door)}
    yield LATENCY_STATS_PATH, {"get": _latency_stats(door)}


def _explain(door: ApiDoor) -> dict[str, Any]:
    return {
        "operationId": "explainEstimate",
        "tags": ["Transfers"],
        "summary": "Explain an estimate",
        "description": (
            "Returns how `estimateAmt` comes to its answer to the same parameters: every number with its "
            "formula, inputs and rounding, every limit with what is left of it, and the amounts that pass. "
            "If the estimate is refused, `refusal` has its code, reason and message, the check that refused "
            "and the nearest amounts that pass; `err` is null. A blocked caller gets no numbers."
        ),
        "parameters": [{"in": "query", "schema": door.estimate_query}],
        "responses": responses(door.explained_answer, EXPLAIN_EXAMPLES, *READ),
    }


def _latency_stats(door: ApiDoor) -> dict[str, Any]:
    return {
        "operationId": "getTransferLatencyStats",
        "tags": ["Transfers"],
        "summary": "Get the median and percentiles of transfer times",
        "description": (
            "Returns the exact median and the 90th and 99th percentiles (nearest rank) of the time from send "
            "to release, in seconds, of the transfers between the two chains that were released in the last "
            "7 days. Of a token of a very busy pair the window is shorter, as `window_seconds` says."
        ),
        "parameters": [{"in": "query", "schema": door.latency_stats_query}],
        "responses": responses(door.latency_stats_answer, LATENCY_STATS_EXAMPLES, *READ),
    }
