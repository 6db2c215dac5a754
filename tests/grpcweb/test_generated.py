"""Generated code equals proto/, docs/grpc-web.md#grpc-fields and the codes of the gateway."""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path

import pytest
from google.protobuf.descriptor import FieldDescriptor

from app.grpcweb import gateway_pb2 as pb
from app.grpcweb.service import methods
from app.values.codes import BridgeType, ErrCode, TransferHistoryStatus, XferStatus
from scripts.proto import HOMES, ROOT, generate
from tests.grpcweb.wire import METHODS

FILE = pb.DESCRIPTOR
TYPES = {
    getattr(FieldDescriptor, f"TYPE_{name.upper()}"): name
    for name in ("uint32", "uint64", "int32", "string", "bytes", "bool", "float", "double")
}

WIRE = """
EstimateAmtRequest: src_chain_id=1 uint32, dst_chain_id=2 uint32, token_symbol=3 string, amt=4 string,
  usr_addr=5 string, slippage_tolerance=6 uint32, is_pegged=7 bool
EstimateAmtResponse: err=1 ErrMsg, eq_value_token_amt=2 string, bridge_rate=3 float, perc_fee=4 string,
  slippage_tolerance=5 uint32, max_slippage=6 uint32, base_fee=7 string, estimated_receive_amt=8 string,
  drop_gas_amt=9 string
GetSendTransactionRequest: src_chain_id=1 uint32, dst_chain_id=2 uint32, token_symbol=3 string,
  amt=4 string, sender=5 string, slippage_tolerance=6 uint32, is_pegged=7 bool, receiver=8 string,
  nonce=9 string, native=10 bool
GetSendTransactionResponse: err=1 ErrMsg, eq_value_token_amt=2 string, bridge_rate=3 float,
  perc_fee=4 string, slippage_tolerance=5 uint32, max_slippage=6 uint32, base_fee=7 string,
  estimated_receive_amt=8 string, drop_gas_amt=9 string, transaction=10 Transaction, approval=11 Approval,
  transfer_id=12 string, valid_until=13 string
Transaction: chain_id=1 uint32, to=2 string, data=3 string, value=4 string
Approval: token=1 string, spender=2 string, amount=3 string, transaction=4 Transaction
GetTransferStatusRequest: transfer_id=1 string
GetTransferStatusResponse: err=1 ErrMsg, status=2 TransferHistoryStatus, wd_onchain=3 bytes,
  sorted_sigs=4 bytes[], signers=5 bytes[], powers=6 bytes[], refund_reason=7 XferStatus,
  block_delay=8 uint32, src_block_tx_link=9 string, dst_block_tx_link=10 string, bridge_type=11 BridgeType
ErrMsg: code=1 ErrCode, msg=2 string
GetLatest7DayTransferLatencyForQueryRequest: src_chain_id=1 uint64, dst_chain_id=2 uint64
GetLatest7DayTransferLatencyForQueryResponse: err=1 ErrMsg, median_transfer_latency_in_second=2 double
GetTransferConfigsRequest:
GetTransferConfigsResponse: err=1 ErrMsg, chains=2 Chain[], chain_token=3 ChainTokenEntry[],
  farming_reward_contract_addr=4 string, pegged_pair_configs=5 PeggedPairConfig[],
  blocked_bridge_direct=6 BlockedBridgeDirect[]
BlockedBridgeDirect: symbol=1 string, src_chain_id=2 uint64, dst_chain_id=3 uint64
Chain: id=1 uint32, name=2 string, icon=3 string, block_delay=4 uint32, gas_token_symbol=5 string,
  explore_url=6 string, contract_addr=8 string, drop_gas_amt=9 string, suggested_base_fee=10 double,
  drop_gas_cost_amt=11 string, drop_gas_balance_alert=12 string, suggested_gas_cost=13 uint64
ChainTokenInfo: token=1 TokenInfo[]
TokenInfo: token=1 Token, name=2 string, icon=3 string, inbound_lmt=4 string, inbound_epoch_cap=5 string,
  transfer_disabled=6 bool
Token: symbol=1 string, address=2 string, decimal=3 int32, xfer_disabled=4 bool
PeggedPairConfig: org_chain_id=1 uint32, org_token=2 TokenInfo, pegged_chain_id=3 uint32,
  pegged_token=4 TokenInfo, pegged_deposit_contract_addr=5 string, pegged_burn_contract_addr=6 string,
  canonical_token_contract_addr=7 string, vault_version=8 uint32, bridge_version=9 uint32
TransferHistoryRequest: next_page_token=1 string, page_size=2 uint64, addr=3 string, acct_addr=4 string[]
TransferHistoryResponse: err=1 ErrMsg, history=2 TransferHistory[], next_page_token=3 string,
  current_size=4 uint64
TransferHistory: transfer_id=1 string, src_send_info=2 TransferInfo, dst_received_info=3 TransferInfo,
  ts=4 uint64, src_block_tx_link=5 string, dst_block_tx_link=6 string, status=7 TransferHistoryStatus,
  refund_reason=8 XferStatus, update_ts=9 uint64, bridge_type=10 BridgeType
TransferInfo: chain=1 Chain, token=2 Token, amount=3 string
WithdrawLiquidityRequest: withdraw_req=1 bytes, sig=2 bytes, estimated_received_amt=3 string,
  method_type=4 WithdrawMethodType
WithdrawLiquidityResponse: err=1 ErrMsg, seq_num=2 uint64
EstimateWithdrawAmtRequest: src_withdraws=1 WithdrawSource[], dst_chain_id=2 uint32, token_symbol=3 string,
  usr_addr=4 string
WithdrawSource: chain_id=1 uint32, amount=2 string, slippage_tolerance=3 uint32
EstimateWithdrawAmtResponse: err=1 ErrMsg, req_amt=2 ReqAmtEntry[]
WithdrawEstimate: eq_value_token_amt=1 string, bridge_rate=2 float, perc_fee=3 string, base_fee=4 string,
  slippage_tolerance=5 uint32, max_slippage=6 uint32
GetTokenInfoRequest: chain_id=1 uint32, token_symbol=2 string
GetTokenInfoResponse: err=1 ErrMsg, token_info=2 TokenInfo
GetTokenBoundRequest: chain_id=1 uint64, token_addr=2 string
GetTokenBoundResponse: value=1 string, err=2 ErrMsg
"""
"""The messages of docs/grpc-web.md#grpc-fields, in the short form that ``written`` gives."""


def written(name: str) -> str:
    """A message as one line of the list above."""
    fields = []
    for field in FILE.message_types_by_name[name].fields:
        of = field.message_type or field.enum_type
        kind = of.name if of else TYPES[field.type]
        fields.append(f"{field.name}={field.number} {kind}{'[]' if field.is_repeated else ''}")
    return f"{name}: {', '.join(fields)}".strip()


def test_generating_again_changes_nothing(tmp_path: Path) -> None:
    for home in HOMES.values():
        (tmp_path / home).mkdir(parents=True, exist_ok=True)
    generate(tmp_path)
    made = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(made) == 2 * len(HOMES) == 2 * len(list((ROOT / "proto").glob("*.proto")))
    for path in made:
        assert (ROOT / path.relative_to(tmp_path)).read_text() == path.read_text(), "run `make proto`"


def test_messages_are_those_of_the_interface() -> None:
    lines = WIRE.replace("\n  ", " ").strip().splitlines()
    assert {line.partition(":")[0] for line in lines} == set(FILE.message_types_by_name), (
        "WIRE has each message of proto/gateway.proto"
    )
    for line in lines:
        assert written(line.partition(":")[0]) == line


def test_token_map_is_by_chain_id() -> None:
    key, value = pb.GetTransferConfigsResponse.ChainTokenEntry.DESCRIPTOR.fields
    assert value.message_type
    assert (TYPES[key.type], value.message_type.name) == ("uint32", "ChainTokenInfo")


def test_grpc_web_serves_every_declared_method() -> None:
    service = FILE.services_by_name["Web"]
    assert service.full_name == "sgn.gateway.v1.Web"
    named = {method.name: (method.input_type.name, method.output_type.name) for method in service.methods}
    ours = {
        name: (request.DESCRIPTOR.name, answer.DESCRIPTOR.name) for name, (request, answer) in METHODS.items()
    }
    assert named == ours, "METHODS of tests/grpcweb/wire.py has each method of proto/gateway.proto"
    assert {name: method.answer.DESCRIPTOR.name for name, method in methods().items()} == {
        name: answer for name, (_, answer) in ours.items()
    }


@pytest.mark.parametrize(
    ("values", "prefix"),
    [(TransferHistoryStatus, ""), (XferStatus, ""), (ErrCode, ""), (BridgeType, "BRIDGE_TYPE_")],
)
def test_proto_enums_equal_python_enums(values: type[IntEnum], prefix: str) -> None:
    ours = {f"{prefix}{value.name}": value.value for value in values}
    assert {value.name: value.number for value in FILE.enum_types_by_name[values.__name__].values} == ours
