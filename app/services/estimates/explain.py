"""An estimate explained to its caller: what it is made of, or which check refuses it and what would pass."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from app.domain.blocking import IPAddress
from app.domain.codes import BridgeType
from app.domain.estimate.estimate import Explanation, explain
from app.domain.estimate.explain import CheckOutcome
from app.domain.estimate.inputs import BaseFee, EstimateInputs, EstimateRequest, FixedRate
from app.domain.estimate.range import PassingRange, passing_range
from app.domain.estimate.refusals import Check
from app.runtime.gateway import Gateway
from app.runtime.snapshot import NetworkSnapshot
from app.services.estimates.estimate import estimate_inputs

BLOCKED: Final = frozenset({Check.CALLER_NETWORK, Check.ADDRESS})
"""Who is refused by one of these gets no numbers: the estimate gives none either."""


@dataclass(frozen=True, slots=True)
class ExplainedEstimate:
    """Everything behind one answer.

    ``rate_model``: ``fixed``, ``stableswap`` or ``pegged``; empty where no route or pair is known.
    ``base_fee`` is that of the route; None for a pegged transfer, and where it is not known. ``passing`` has
    the amounts that pass, whatever was asked for; None where none does. ``config_version`` grows with each
    change of the configuration, the last at ``config_changed_at``. ``facts_age``: how many seconds ago pools
    and reported fee were read; None where they do not count.
    """

    explanation: Explanation
    rate_model: str
    base_fee: BaseFee | None
    passing: PassingRange | None
    config_version: int
    config_changed_at: datetime | None
    facts_age: float | None


def explain_estimate(
    gateway: Gateway, request: EstimateRequest, usr_addr: str | None, caller: IPAddress | None
) -> ExplainedEstimate:
    """How ``estimate_transfer`` would answer the same question now. A refusal is explained, not raised.

    It is counted by how it ends, as the estimate is: an explanation has all that an estimate has, so a client
    may ask for nothing else, and an operator has to see that its users are refused. Somebody who asks for an
    estimate and then for its explanation has asked twice, as those do who ask for the same estimate again.

    :raises Unavailable: when the configuration is too old to be trusted.
    """
    try:
        explained = _explained(gateway, request, usr_addr, caller)
    except Exception as error:
        gateway.estimate_counts.refused(error)
        raise
    refusal = explained.explanation.refusal
    if refusal is None:
        gateway.estimate_counts.answered()
    else:
        gateway.estimate_counts.refused_for(refusal.code, refusal.reason)
    return explained


def _explained(
    gateway: Gateway, request: EstimateRequest, usr_addr: str | None, caller: IPAddress | None
) -> ExplainedEstimate:
    snapshot = gateway.snapshots.current()
    inputs = estimate_inputs(gateway, request, usr_addr, caller, snapshot)
    explanation = explain(inputs)
    if explanation.refusal is not None and explanation.refusal.check in BLOCKED:
        return ExplainedEstimate(_bare(explanation), "", None, None, *_version(snapshot), None)
    by_pools = explanation.bridge_type is BridgeType.POOL and inputs.route is not None
    return ExplainedEstimate(
        explanation,
        _rate_model(inputs, explanation),
        inputs.route.base_fee if by_pools and inputs.route is not None else None,
        passing_range(inputs),
        *_version(snapshot),
        inputs.facts_age,
    )


def _bare(explanation: Explanation) -> Explanation:
    """Without anything of the transfer: not even which checks are made for it is told."""
    checks = tuple(
        replace(each, outcome=CheckOutcome.NOT_REACHED) if each.outcome is CheckOutcome.NOT_MADE else each
        for each in explanation.checks
    )
    return replace(explanation, bridge_type=BridgeType.UNDEFINED, terms=(), limits=(), checks=checks)


def _rate_model(inputs: EstimateInputs, explanation: Explanation) -> str:
    if explanation.bridge_type is BridgeType.UNDEFINED:
        return ""
    if explanation.bridge_type is not BridgeType.POOL or inputs.route is None:
        return "pegged"
    return "fixed" if isinstance(inputs.route.rate, FixedRate) else "stableswap"


def _version(snapshot: NetworkSnapshot) -> tuple[int, datetime | None]:
    """Each part has a number that grows, so that no two configurations have the same sum of them."""
    parts = snapshot.versions.values()
    return sum(part.version for part in parts), max((part.changed_at for part in parts), default=None)
