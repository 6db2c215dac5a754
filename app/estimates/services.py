"""Estimates of transfers and withdrawals, their explanation, and counts of their outcomes."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, Engine, delete

from app.db.database import Database
from app.db.upserts import add_up
from app.estimates.models import EstimateCount
from app.estimates.queries import EstimateFacts, estimate_facts
from app.estimates.rules.checks import Estimate, estimate
from app.estimates.rules.explanation import Explanation, explain
from app.estimates.rules.inputs import EstimateInputs, EstimateRequest
from app.estimates.rules.pricing import Priced, is_pegged, price_transfer
from app.estimates.rules.refusals import amount_zero, chain_unknown
from app.estimates.rules.sending import Sending, SendQuote, needs_tolerance, send_quote
from app.network.rules.pools import PoolState
from app.network.rules.terms import NetworkTerms, RouteBlock, base_fee_now
from app.network.snapshot import NetworkSnapshot, SnapshotSource
from app.observability.counters import NOTHING_COUNTED, BatchedCounts, Counters
from app.transfers.queries.logged import is_sandbox
from app.values.codes import BridgeType, ErrCode, Reason
from app.values.errors import BadRequest, GatewayError
from app.values.identifiers import ChainId, PoolKey, RouteKey
from app.values.ip_addresses import IPAddress
from app.values.times import MINUTE, Epoch, minute_of
from app.values.wire_values import MISSING


def cached_facts(
    database: Database, route: RouteKey, src: PoolState, now: datetime
) -> tuple[EstimateFacts, float]:
    """The facts of a route, and how many seconds ago they were read. Without an epoch cap of ``src``, the
    source pool, the volume is 0.
    """
    # Cached by the epoch of ``now``: the volume of an epoch that has ended is never counted.
    capped = src.epoch_cap is not None and src.epoch_seconds
    epoch = Epoch.at(now, src.epoch_seconds) if capped and src.epoch_seconds else None
    return database.cached.run_read(
        (estimate_facts, route, epoch), lambda: database.public.run_read(estimate_facts, route, epoch)
    )


def estimate_transfer(
    database: Database,
    snapshots: SnapshotSource,
    estimate_counts: EstimateCounts,
    request: EstimateRequest,
    usr_addr: str | None,
    caller: IPAddress | None,
) -> Estimate:
    """The estimate by the present configuration, pools and fees. It is counted by its outcome.

    :param usr_addr: the user's account on any chain, None where it was left out.
    :param caller: the IP address of the caller (docs/interface/callers.md#caller), None where not known.
    :raises EstimateRefused: with the code of the first check that fails.
    :raises Unavailable: when the configuration is too old to be trusted.
    """
    try:
        answer = estimate(estimate_inputs(database, snapshots, request, _accounts(usr_addr), caller))
    except Exception as error:
        estimate_counts.refused(error)
        raise
    estimate_counts.answered()
    return answer


def _accounts(usr_addr: str | None) -> tuple[str, ...]:
    return (usr_addr,) if usr_addr else ()


def send_transfer(
    database: Database,
    snapshots: SnapshotSource,
    estimate_counts: EstimateCounts,
    request: EstimateRequest,
    sending: Sending,
    caller: IPAddress | None,
) -> SendQuote:
    """The transaction that sends a transfer at the price of its estimate. It is counted as an estimate is.

    :raises GatewayError: the estimate is refused, or there is no transaction for it.
    :raises Unavailable: when the configuration is too old to be trusted.
    """
    try:
        inputs = estimate_inputs(database, snapshots, request, (sending.sender, sending.receiver), caller)
        if request.tolerance_left_out and needs_tolerance(inputs):
            raise BadRequest.naming(
                {"slippage_tolerance": f"{MISSING}: a transfer through the pools needs it"}
            )
        answer = estimate(inputs)
        made_up, _ = database.cached.run_read((is_sandbox,), lambda: database.public.run_read(is_sandbox))
        if made_up:
            raise GatewayError(
                "This gateway is a sandbox: its contracts are real and its fees are not, so it gives no "
                "transaction. Try transactions with make demo, or with a gateway that is not a sandbox",
                reason=Reason.SANDBOX,
            )
        quote = send_quote(inputs, answer, sending)
    except Exception as error:
        estimate_counts.refused(error)
        raise
    estimate_counts.answered()
    return quote


def random_nonce() -> int:
    """A nonce that no other transfer of the sender has. Others can store it as a signed number of 64 bits."""
    return secrets.randbits(63)


def estimate_inputs(
    database: Database,
    snapshots: SnapshotSource,
    request: EstimateRequest,
    accounts: Collection[str],
    caller: IPAddress | None,
    snapshot: NetworkSnapshot | None = None,
) -> EstimateInputs:
    """Everything that the estimate depends on: the configuration (None: the present one), and pools and fees,
    cached or read now.

    :param accounts: of the user, on any chain.
    """
    snapshot = snapshot or snapshots.current()
    now, terms = database.clock(), snapshot.terms
    facts, age = _facts(database, terms, request, now)
    return replace(
        inputs_with(terms, request, facts, now),
        caller_blocked=caller is not None and snapshot.blocked_networks.blocks(caller, now),
        address_blocked=any(snapshot.blocked_addresses.blocks(account, now) for account in accounts),
        facts_age=age,
    )


def _facts(
    database: Database, terms: NetworkTerms, request: EstimateRequest, now: datetime
) -> tuple[EstimateFacts | None, float | None]:
    """The reported facts where the transfer goes through pools, and how many seconds ago they were read."""
    key = request.route_key
    src_pool, routed = terms.pools.get(key.src), key in terms.routes
    by_pair = is_pegged(request.is_pegged, joined=key in terms.pegged, routed=routed)
    if not routed or src_pool is None or key.dst not in terms.pools or by_pair:
        return None, None
    return cached_facts(database, key, src_pool, now)


def inputs_with(
    terms: NetworkTerms, request: EstimateRequest, facts: EstimateFacts | None, now: datetime
) -> EstimateInputs:
    """As :func:`estimate_inputs`, in any configuration, for a caller who is not blocked.

    :param facts: what was reported of the route; None: the route and its pools are as configured.
    """
    key = request.route_key
    src, dst = key.src, key.dst
    route, src_pool, dst_pool = terms.routes.get(key), terms.pools.get(src), terms.pools.get(dst)
    if facts is not None and route is not None and src_pool is not None and dst_pool is not None:
        route = replace(route, base_fee=base_fee_now(route.pin, facts.reported_fee, route.base_fee, now))
        src_pool, dst_pool = src_pool.moved_by(facts.src, facts.epoch_volume), dst_pool.moved_by(facts.dst)
    return EstimateInputs(
        request=request,
        now=now,
        src_chain=terms.chains.get(request.src_chain_id),
        dst_chain=terms.chains.get(request.dst_chain_id),
        src_token=terms.tokens.get(src),
        dst_token=terms.tokens.get(dst),
        route=route,
        pegged=terms.pegged.get(key),
        block=terms.blocks.get(key, RouteBlock.NONE),
        src_pool=src_pool,
        dst_pool=dst_pool,
        symbol_chains=terms.symbol_chains.get(key.symbol, ()),
        open_destinations=terms.destinations.get(src, ()),
        spelling=None if src in terms.tokens else terms.spellings.get(src.in_any_case),
    )


def token_bound(
    database: Database, snapshots: SnapshotSource, chain_id: ChainId | int, token_addr: str
) -> int | None:
    """The least amount that the inbound limit and the caps of the token's pool leave; at least 0. It is the
    largest amount that an estimate from this chain does not refuse with 1005 or 1017.

    :param token_addr: as in the transfer configs, in any case.
    :returns: in the token's smallest units; None where it has no pool, which then bounds nothing.
    :raises GatewayError: the chain or its token is not known.
    """
    snapshot = snapshots.current()
    if chain_id not in snapshot.terms.chains:
        raise chain_unknown(chain_id)
    symbol = _symbol(snapshot.configs.answer["chain_token"][str(chain_id)]["token"], token_addr)
    pool = snapshot.terms.pools.get(PoolKey(ChainId(chain_id), symbol))
    if pool is None:
        return None
    here = RouteKey(symbol, ChainId(chain_id), ChainId(chain_id))
    facts, _ = cached_facts(database, here, pool, database.clock())
    return max(0, pool.moved_by(facts.src, facts.epoch_volume).rest)


def _symbol(tokens: list[dict[str, Any]], address: str) -> str:
    for each in tokens:
        if each["token"]["address"].lower() == address.lower():
            return str(each["token"]["symbol"])
    raise GatewayError(
        "this chain has no token with this address: use the addresses in /v2/getTransferConfigs",
        reason=Reason.TOKEN_NOT_ON_SRC,
    )


class ExplainedEstimate(Struct, frozen=True):
    """``config_version`` grows with each change of the configuration, the last at ``config_changed_at``."""

    explanation: Explanation
    config_version: int
    config_changed_at: datetime | None


def explain_estimate(
    database: Database,
    snapshots: SnapshotSource,
    estimate_counts: EstimateCounts,
    request: EstimateRequest,
    usr_addr: str | None,
    caller: IPAddress | None,
) -> ExplainedEstimate:
    """How ``estimate_transfer`` would answer the same request now. A refusal is explained, not raised.

    It is counted by its outcome, as the estimate is: a client may request nothing else, and an operator has
    to see that its users are refused.

    :raises Unavailable: when the configuration is too old to be trusted.
    """
    try:
        explained = _explained(database, snapshots, request, usr_addr, caller)
    except Exception as error:
        estimate_counts.refused(error)
        raise
    refusal = explained.explanation.refusal
    if refusal is None:
        estimate_counts.answered()
    else:
        estimate_counts.refused_for(refusal.code, refusal.reason)
    return explained


def _explained(
    database: Database,
    snapshots: SnapshotSource,
    request: EstimateRequest,
    usr_addr: str | None,
    caller: IPAddress | None,
) -> ExplainedEstimate:
    snapshot = snapshots.current()
    inputs = estimate_inputs(database, snapshots, request, _accounts(usr_addr), caller, snapshot)
    # A blocked caller gets no numbers, as in the estimate, and does not see which checks were made.
    blocked = inputs.caller_blocked or inputs.address_blocked
    priced = Priced(replace(inputs, facts_age=None)) if blocked else price_transfer(inputs)
    # The number of each part only grows, so no two configurations have the same sum.
    parts = snapshot.versions.values()
    version = sum(part.version for part in parts)
    changed_at = max((part.changed_at for part in parts), default=None)
    return ExplainedEstimate(explain(priced), version, changed_at)


class Withdrawal(Struct, frozen=True):
    """A withdrawal from one chain: amount in its token's smallest unit, tolerance in ppm."""

    chain_id: ChainId | int
    amount: int
    slippage_tolerance: int


class Withdrawals(Struct, frozen=True):
    """Withdrawals of one token to one chain, each from another chain."""

    sources: Sequence[Withdrawal]
    dst_chain_id: ChainId | int
    symbol: str


def estimate_withdrawals(
    database: Database,
    snapshots: SnapshotSource,
    estimate_counts: EstimateCounts,
    withdrawals: Withdrawals,
    usr_addr: str | None,
    caller: IPAddress | None,
) -> Mapping[int, Estimate]:
    """The estimate of each withdrawal, by its source chain.

    From a chain to itself it is a refund: the amount, without rate, fees and slippage. That holds also while
    the chain or the token is disabled, which may be the reason for the refund. Any other withdrawal is
    estimated as a transfer.

    :raises GatewayError: with the first withdrawal that is refused.
    """
    return {
        each.chain_id: _refund(snapshots, each)
        if each.chain_id == withdrawals.dst_chain_id
        else estimate_transfer(
            database, snapshots, estimate_counts, _transfer(each, withdrawals), usr_addr, caller
        )
        for each in withdrawals.sources
    }


def _transfer(withdrawal: Withdrawal, withdrawals: Withdrawals) -> EstimateRequest:
    return EstimateRequest(
        src_chain_id=ChainId(withdrawal.chain_id),
        dst_chain_id=ChainId(withdrawals.dst_chain_id),
        token_symbol=withdrawals.symbol,
        amt=withdrawal.amount,
        slippage_tolerance=withdrawal.slippage_tolerance,
        is_pegged=None,
    )


def _refund(snapshots: SnapshotSource, withdrawal: Withdrawal) -> Estimate:
    if withdrawal.chain_id not in snapshots.current().terms.chains:
        raise chain_unknown(withdrawal.chain_id)
    if withdrawal.amount <= 0:
        raise amount_zero()
    return Estimate(
        eq_value_token_amt=withdrawal.amount,
        bridge_rate=Fraction(1),
        perc_fee=0,
        base_fee=0,
        slippage_tolerance=withdrawal.slippage_tolerance,
        max_slippage=0,
        estimated_receive_amt=withdrawal.amount,
        drop_gas_amt=0,
        bridge_type=BridgeType.UNDEFINED,
    )


RETENTION: Final = timedelta(days=7)
PRUNE_EVERY: Final = 60
"""Minutes between two deletions of what is older than ``RETENTION``."""

ANSWERED: Final = (int(ErrCode.ERROR_CODE_UNDEFINED), "")
"""Code and reason under which estimates that were given are counted."""

_FAILED: Final = (int(ErrCode.ERROR_CODE_COMMON), Reason.INTERNAL.value)

CountedOutcome = tuple[int, str]
"""``err.code`` and reason of an answer to an estimate; ``ANSWERED`` for an estimate."""


class EstimateCounts(BatchedCounts[CountedOutcome]):
    what = "estimates"

    def __init__(
        self,
        engine: Engine,
        clock: Callable[[], datetime],
        seconds: float,
        counters: Counters = NOTHING_COUNTED,
    ) -> None:
        """``counters`` count each outcome as well, independently of ``seconds``."""
        super().__init__(engine, clock, seconds)
        self._counters = counters
        self._pruned: int | None = None

    def _add(self, counted: CountedOutcome) -> None:
        self._counters.estimate(counted[1])
        super()._add(counted)

    def answered(self) -> None:
        self._add(ANSWERED)

    def refused(self, error: Exception) -> None:
        """Any exception but ``GatewayError`` counts as internal."""
        if isinstance(error, GatewayError):
            self.refused_for(error.code, error.reason)
        else:
            self._add(_FAILED)

    def refused_for(self, code: ErrCode, reason: Reason) -> None:
        self._add((int(code), reason.value))

    def _write(self, connection: Connection, counts: Mapping[CountedOutcome, int]) -> None:
        minute = minute_of(self._clock())
        rows: list[dict[str, Any]] = [
            {"minute": minute, "code": code, "reason": reason, "count": count}
            for (code, reason), count in sorted(counts.items())
        ]
        add_up(connection, EstimateCount, rows)
        if self._pruned is None or minute - self._pruned >= PRUNE_EVERY:
            oldest = minute - RETENTION // MINUTE
            connection.execute(delete(EstimateCount).where(EstimateCount.minute < oldest))
            self._pruned = minute
