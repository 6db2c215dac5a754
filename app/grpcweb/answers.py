"""Answers as protobuf messages: the same values as over HTTP (docs/interface.md#grpc-fields)."""

from __future__ import annotations

from base64 import b64decode
from typing import Any, Final

from google.protobuf.json_format import ParseDict

from app.domain.amounts import rate_as_number
from app.domain.estimate.estimate import Estimate
from app.grpcweb.gateway_pb2 import (
    Chain,
    EstimateAmtResponse,
    GetLatest7DayTransferLatencyForQueryResponse,
    GetTransferConfigsResponse,
    GetTransferStatusResponse,
    Token,
    TransferHistory,
    TransferHistoryResponse,
    WithdrawEstimate,
)
from app.runtime.snapshot import TransferConfigs
from app.services.transfers.history import HistoryPage, Leg, ListedTransfer
from app.services.transfers.status import TransferStatus

MAX_FLOAT: Final = (2 - 2**-23) * 2.0**127
"""The largest ``float`` of protobuf. A larger rate is sent as this one, not as infinity."""


def estimate_answer(estimate: Estimate) -> EstimateAmtResponse:
    """The estimate, its amounts as decimal strings."""
    return EstimateAmtResponse(
        eq_value_token_amt=str(estimate.eq_value_token_amt),
        bridge_rate=min(rate_as_number(estimate.bridge_rate), MAX_FLOAT),
        perc_fee=str(estimate.perc_fee),
        slippage_tolerance=estimate.slippage_tolerance,
        max_slippage=estimate.max_slippage,
        base_fee=str(estimate.base_fee),
        estimated_receive_amt=str(estimate.estimated_receive_amt),
        drop_gas_amt=str(estimate.drop_gas_amt),
    )


def withdraw_estimate(estimate: Estimate) -> WithdrawEstimate:
    """What withdrawing from one chain brings, its amounts as decimal strings."""
    whole = estimate_answer(estimate)
    return WithdrawEstimate(
        **{name: getattr(whole, name) for name in WithdrawEstimate.DESCRIPTOR.fields_by_name}
    )


_STATUS_FIELDS: Final = frozenset(GetTransferStatusResponse.DESCRIPTOR.fields_by_name) - {"err"}


def status_answer(status: TransferStatus) -> GetTransferStatusResponse:
    """The status, its evidence as the bytes behind the base64."""
    values: dict[str, Any] = {name: getattr(status, name) for name in _STATUS_FIELDS}
    values["wd_onchain"] = b64decode(status.wd_onchain or "")
    for name in ("sorted_sigs", "signers", "powers"):
        values[name] = [b64decode(text) for text in values[name]]
    return GetTransferStatusResponse(**values)


def history_answer(page: HistoryPage) -> TransferHistoryResponse:
    """The page; its messages have no accounts."""
    return TransferHistoryResponse(
        history=[_listed(transfer) for transfer in page.transfers],
        next_page_token=page.next_page_token,
        current_size=len(page.transfers),
    )


def _listed(transfer: ListedTransfer) -> TransferHistory:
    status = transfer.status
    values: dict[str, Any] = {
        "transfer_id": "0x" + transfer.transfer_id.hex(),
        "src_send_info": _leg(transfer.sent),
        "dst_received_info": _leg(transfer.received),
        "ts": transfer.began_ms,
        "src_block_tx_link": status.src_block_tx_link,
        "dst_block_tx_link": status.dst_block_tx_link,
        "status": status.status,
        "refund_reason": status.refund_reason,
        "update_ts": transfer.updated_ms,
        "bridge_type": status.bridge_type,
    }
    return TransferHistory(**values)


_CHAIN_FIELDS: Final = tuple(field.name for field in Chain.DESCRIPTOR.fields)
_TOKEN_FIELDS: Final = tuple(field.name for field in Token.DESCRIPTOR.fields)


def _leg(leg: Leg) -> dict[str, Any]:
    """Of chain and token what the messages have: the configs have further fields."""
    return {
        "chain": {name: leg.chain[name] for name in _CHAIN_FIELDS},
        "token": {name: leg.token[name] for name in _TOKEN_FIELDS},
        "amount": str(leg.amount),
    }


def latency_answer(seconds: float) -> GetLatest7DayTransferLatencyForQueryResponse:
    """The median."""
    return GetLatest7DayTransferLatencyForQueryResponse(median_transfer_latency_in_second=seconds)


def configs_answer(configs: TransferConfigs) -> GetTransferConfigsResponse:
    """The configs, as far as the messages have fields. This takes milliseconds, the others microseconds."""
    return ParseDict(dict(configs.answer), GetTransferConfigsResponse(), ignore_unknown_fields=True)
