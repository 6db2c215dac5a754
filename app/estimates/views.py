"""The public operations of estimates, of their explanations and of the transactions that follow from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.db.database import Database
from app.estimates.rules.checks import Estimate
from app.estimates.rules.inputs import EstimateRequest
from app.estimates.rules.sending import Sending, SendQuote
from app.estimates.services import (
    EstimateCounts,
    ExplainedEstimate,
    Withdrawals,
    estimate_transfer,
    estimate_withdrawals,
    explain_estimate,
    random_nonce,
    send_transfer,
    token_bound,
)
from app.http.application import current
from app.http.requests import caller
from app.network.snapshot import SnapshotSource
from app.values.ip_addresses import IPAddress


def estimate_amt(requested: dict[str, Any]) -> Estimate:
    return estimate_transfer(*_arguments(requested))


def get_explained_estimate(requested: dict[str, Any]) -> ExplainedEstimate:
    return explain_estimate(*_arguments(requested))


def get_send_transaction(requested: dict[str, Any]) -> SendQuote:
    sender, nonce = requested.pop("sender"), requested.pop("nonce", None)
    sending = Sending(
        sender=sender,
        receiver=requested.pop("receiver", sender),
        nonce=random_nonce() if nonce is None else nonce,
        native=requested.pop("native", False),
    )
    return send_transfer(*_parts(), _estimate_request(requested), sending, caller())


def _arguments(
    requested: dict[str, Any],
) -> tuple[Database, SnapshotSource, EstimateCounts, EstimateRequest, str | None, IPAddress | None]:
    user = requested.pop("usr_addr", None)
    return *_parts(), _estimate_request(requested), user, caller()


def _parts() -> tuple[Database, SnapshotSource, EstimateCounts]:
    return current(Database), current(SnapshotSource), current(EstimateCounts)


def _estimate_request(requested: dict[str, Any]) -> EstimateRequest:
    if "slippage_tolerance" not in requested:  # some clients send none (COMPAT_CLIENTS)
        requested |= {"slippage_tolerance": 0, "tolerance_left_out": True}
    return EstimateRequest(**requested)


def estimate_withdraw_amt(requested: dict[str, Any]) -> Mapping[int, Estimate]:
    return estimate_withdrawals(
        current(Database),
        current(SnapshotSource),
        current(EstimateCounts),
        Withdrawals(requested["src_withdraws"], requested["dst_chain_id"], requested["token_symbol"]),
        requested["usr_addr"],
        caller(),
    )


def get_token_bound(requested: dict[str, Any]) -> int | None:
    return token_bound(
        current(Database), current(SnapshotSource), requested["chain_id"], requested["token_addr"]
    )
