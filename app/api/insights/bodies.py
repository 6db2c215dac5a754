"""The plain data that fills the shapes of explained estimates and of figures about latencies."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from app.api.insights.checks import check_name, check_outcomes
from app.domain.amounts import MAX_UINT256
from app.domain.codes import BridgeType
from app.domain.estimate.explain import Refusal
from app.domain.estimate.inputs import BaseFee
from app.domain.estimate.limits import Limit
from app.domain.estimate.range import PassingRange
from app.domain.estimate.terms import Term
from app.domain.times import rfc3339
from app.services.estimates.explain import ExplainedEstimate
from app.services.latency_stats import LatencyStats


def latency_stats_json(stats: LatencyStats) -> dict[str, Any]:
    """The figures in the shape of :class:`LatencyStatsAnswer`."""
    return {
        "count": stats.count,
        "window_seconds": stats.window_seconds,
        "median": stats.median,
        "p90": stats.p90,
        "p99": stats.p99,
        "as_of": _time(stats.as_of) or "",
    }


def explained_json(explained: ExplainedEstimate) -> dict[str, Any]:
    """The explanation in the shape of :class:`ExplainedAnswer`."""
    explanation = explained.explanation
    return {
        "refusal": _refusal(explanation.refusal) if explanation.refusal else None,
        "bridge_type": explanation.bridge_type,
        "rate_model": explained.rate_model,
        "base_fee_source": _fee_source(explanation.bridge_type, explained.base_fee),
        "base_fee_since": _time(explained.base_fee.since) if explained.base_fee else None,
        "terms": [_term(term) for term in explanation.terms],
        "limits": [_limit(limit) for limit in explanation.limits],
        "checks": [
            {"name": name, "outcome": outcome.value} for name, outcome in check_outcomes(explanation.checks)
        ],
        "passing": _passing(explained.passing) if explained.passing else None,
        "config_version": explained.config_version,
        "config_changed_at": _time(explained.config_changed_at),
        "facts_age_seconds": None if explained.facts_age is None else round(explained.facts_age, 3),
    }


def _refusal(refusal: Refusal) -> dict[str, Any]:
    return {
        "code": refusal.code,
        "reason": refusal.reason.value,
        "msg": refusal.msg,
        "check": check_name(refusal.check),
        "largest_passing_amt": _text(refusal.largest_passing_amt),
        "smallest_passing_amt": _text(refusal.smallest_passing_amt),
        "largest_passing_tolerance": refusal.largest_passing_tolerance,
    }


def _fee_source(bridge_type: BridgeType, fee: BaseFee | None) -> str:
    if fee is None:
        return "" if bridge_type in (BridgeType.POOL, BridgeType.UNDEFINED) else "configured"
    if fee.pinned_until is not None:
        return "pinned"
    return "reported" if fee.reported else "configured"


def _term(term: Term) -> dict[str, Any]:
    return {
        "name": term.name,
        "formula": term.formula,
        "inputs": [{"name": name, "value": str(value)} for name, value in term.inputs],
        "value": str(term.value),
        "unit": term.unit,
        "rounding": term.rounding if term.rounding in ("up", "down") else "none",
    }


def _limit(limit: Limit) -> dict[str, Any]:
    return {
        "name": limit.name,
        "formula": limit.formula,
        "value": str(limit.value),
        "counted": str(limit.counted),
        "left": str(limit.headroom),
        "unit": limit.unit,
        "largest_amt": _text(limit.largest_amt),
        "binds": limit.binds,
    }


def _passing(passing: PassingRange) -> dict[str, Any]:
    most = MAX_UINT256 if passing.most is None else passing.most
    return {"least_amt": str(passing.least), "most_amt": str(most)}


def _text(amount: int | None) -> str | None:
    return None if amount is None else str(amount)


def _time(at: datetime | None) -> str | None:
    return None if at is None else rfc3339(at, "seconds")
