"""The methods of the service. Each reads the message, calls a service and makes the answer."""

from __future__ import annotations

from typing import Final

from google.protobuf.message import Message

from app.domain.amounts import parse_uint256
from app.domain.errors import BadRequest
from app.domain.estimate.inputs import EstimateRequest
from app.domain.wire_values import (
    parse_accounts,
    parse_page_token,
    parse_transfer_id,
    required,
    token_symbol,
    user_address,
)
from app.grpcweb import gateway_pb2 as pb
from app.grpcweb.answers import (
    configs_answer,
    estimate_answer,
    history_answer,
    latency_answer,
    status_answer,
)
from app.grpcweb.calls import Call, Method
from app.grpcweb.questions import Rules, read_question
from app.grpcweb.withdrawals import withdrawal_methods
from app.http.progress import progress_headers
from app.runtime.snapshot import TransferConfigs
from app.services.estimates.estimate import estimate_transfer
from app.services.latency import median_latency
from app.services.network.transfer_configs import transfer_configs
from app.services.transfers.history import transfer_history
from app.services.transfers.status import transfer_status

_ESTIMATE_RULES: Final[Rules] = {
    "token_symbol": required(token_symbol),
    "amt": required(parse_uint256),
    "usr_addr": lambda text: user_address(text) or None,
    "is_pegged": lambda flag: flag or None,  # false counts as left out (docs/interface.md#grpc-fields)
}
_STATUS_RULES: Final[Rules] = {"transfer_id": parse_transfer_id}
_HISTORY_RULES: Final[Rules] = {"next_page_token": parse_page_token}


def estimate_amt(call: Call) -> Message:
    """What would this transfer bring?"""
    asked = read_question(pb.EstimateAmtRequest, call.message, _ESTIMATE_RULES)
    usr_addr = asked.pop("usr_addr")
    return estimate_answer(estimate_transfer(call.gateway, EstimateRequest(**asked), usr_addr, call.caller))


def get_transfer_status(call: Call) -> Message:
    """Where is this transfer?"""
    asked = read_question(pb.GetTransferStatusRequest, call.message, _STATUS_RULES)
    status = transfer_status(call.gateway, asked["transfer_id"])
    call.headers.extend(progress_headers(status.progress, status.as_of))
    return status_answer(status)


def get_latest_7_day_transfer_latency(call: Call) -> Message:
    """How long do transfers between these chains take?"""
    asked = read_question(pb.GetLatest7DayTransferLatencyForQueryRequest, call.message, {})
    return latency_answer(median_latency(call.gateway, asked["src_chain_id"], asked["dst_chain_id"]))


def transfer_history_page(call: Call) -> Message:
    """What did these accounts send and receive?"""
    asked = read_question(pb.TransferHistoryRequest, call.message, _HISTORY_RULES)
    try:
        accounts = parse_accounts(asked["acct_addr"], asked["addr"])
    except ValueError as fault:
        raise BadRequest.naming({"acct_addr": str(fault)}) from None
    page = transfer_history(call.gateway, accounts, asked["next_page_token"], asked["page_size"])
    return history_answer(page)


class _Configs:
    """What can be transferred where? The message is made again when the network changes."""

    def __init__(self) -> None:
        self._made: tuple[TransferConfigs, Message] | None = None

    def __call__(self, call: Call) -> Message:
        """The message of the configs as they are now."""
        read_question(pb.GetTransferConfigsRequest, call.message, {})
        configs = transfer_configs(call.gateway)
        made = self._made
        if made is None or made[0] is not configs:
            made = self._made = (configs, configs_answer(configs))
        return made[1]


def methods() -> dict[str, Method]:
    """The methods that are answered, by name; any other is unimplemented."""
    configs = Method(_Configs(), pb.GetTransferConfigsResponse)
    return {
        "EstimateAmt": Method(estimate_amt, pb.EstimateAmtResponse),
        "GetTransferStatus": Method(get_transfer_status, pb.GetTransferStatusResponse),
        "GetLatest7DayTransferLatencyForQuery": Method(
            get_latest_7_day_transfer_latency, pb.GetLatest7DayTransferLatencyForQueryResponse
        ),
        "TransferHistory": Method(transfer_history_page, pb.TransferHistoryResponse),
        "GetTransferConfigs": configs,
        "GetTransferConfigsForAll": configs,
        **withdrawal_methods(),
    }
