"""The transaction that sends a transfer at the price of its estimate (docs/api/getSendTransaction.md).

The contract takes each transfer id once. The id follows from what is sent, by whom, to whom, and the nonce:
the same request with the same nonce is the same transfer.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final, NoReturn

from msgspec import Struct

from app.estimates.rules.checks import Estimate
from app.estimates.rules.inputs import EstimateInputs
from app.estimates.rules.pricing import TransferTerms, transfer_terms
from app.network.rules.terms import ChainTerms, last_moment
from app.transfers.rules.events.contract_ids import (
    burn_transfer_id,
    burn_transfer_id_v1,
    deposit_transfer_id,
    pool_transfer_id,
)
from app.values.codes import BridgeType, Reason
from app.values.contract_calls import Transaction, call_data
from app.values.crypto import checksum_address, parse_evm_address
from app.values.errors import BadRequest, GatewayError
from app.values.times import rfc3339

LONGEST_VALID: Final = timedelta(seconds=60)

FIRST_VERSIONS: Final = (0, 1)
SECOND_VERSION: Final = 2
"""The versions of pegged contracts whose calls and ids are known. Documents write the first one as 0 or 1."""

_NO_ADDRESS: Final = bytes(20)


class Sending(Struct, frozen=True):
    """Who sends and who receives, as requested; ``native``: the source chain's own coin is sent."""

    sender: str
    receiver: str
    nonce: int
    native: bool = False


class Approval(Struct, frozen=True):
    """What the contract must be allowed to take first, and the transaction that allows exactly this."""

    token: str
    spender: str
    amount: int
    transaction: Transaction


class SendQuote(Struct, frozen=True):
    """``approval`` is None for native coin. After ``valid_until`` the estimate may have changed."""

    estimate: Estimate
    transaction: Transaction
    approval: Approval | None
    transfer_id: bytes
    valid_until: datetime

    @property
    def transfer_id_text(self) -> str:
        return f"0x{self.transfer_id.hex()}"

    @property
    def valid_until_text(self) -> str:
        """``valid_until`` cut to milliseconds, so never later."""
        return rfc3339(self.valid_until, "milliseconds")


class _Send(Struct, frozen=True):
    """What the contract is called with. Accounts, token and contract have 20 bytes. ``to_chain`` is the
    number that the call has for the destination chain.
    """

    inputs: EstimateInputs
    bridge_type: BridgeType
    version: int
    to_chain: int
    contract: bytes
    token: bytes
    sender: bytes
    receiver: bytes
    nonce: int
    max_slippage: int

    @property
    def amount(self) -> int:
        return self.inputs.request.amt

    @property
    def is_burn(self) -> bool:
        return self.bridge_type in (BridgeType.BURN_WITHDRAW, BridgeType.BURN_MINT)


def send_quote(inputs: EstimateInputs, answer: Estimate, sending: Sending) -> SendQuote:
    """The transaction that sends the transfer.

    :param answer: the estimate by these inputs.
    :raises GatewayError: there is no transaction for it.
    """
    transfer = transfer_terms(inputs)
    assert transfer is not None  # noqa: S101  without terms there is no estimate
    send = _send(inputs, transfer, sending, answer.max_slippage)
    if sending.native:
        _check_native(send, transfer)
    chain_id, contract, token = transfer.src_chain.id, checksum_address(send.contract), send.token
    approval = None
    if not sending.native:
        data = call_data("approve(address,uint256)", send.contract, send.amount)
        text = checksum_address(token)
        approval = Approval(text, contract, send.amount, Transaction(chain_id, text, data))
    return SendQuote(
        estimate=answer,
        transaction=Transaction(
            chain_id, contract, _data(send, sending.native), str(send.amount) if sending.native else "0"
        ),
        approval=approval,
        transfer_id=_transfer_id(send),
        valid_until=_valid_until(inputs, transfer),
    )


def needs_tolerance(inputs: EstimateInputs) -> bool:
    """Whether the transfer goes through the pools, whose contract takes a slippage."""
    transfer = transfer_terms(inputs)
    return transfer is not None and transfer.pools is not None


def _send(inputs: EstimateInputs, transfer: TransferTerms, sending: Sending, max_slippage: int) -> _Send:
    pair = None if transfer.pools is not None else inputs.pegged
    src, dst = transfer.src_chain, transfer.dst_chain
    token = _evm(transfer.src_token.address, src)
    paid = _evm(transfer.dst_token.address, dst)
    contract = parse_evm_address(src.contract_addr if pair is None else pair.contract) or _NO_ADDRESS
    needed = {"contract": contract, "source token": token, "destination token": paid}
    if _NO_ADDRESS in needed.values():
        unknown = next(what for what, address in needed.items() if address == _NO_ADDRESS)
        _refuse_unknown(transfer, f"address of the {unknown}")
    payers = [dst.contract_addr]
    if pair is not None:
        _evm(src.contract_addr, src)
        payers.append(pair.payer)
        if pair.version not in (*FIRST_VERSIONS, SECOND_VERSION):
            _refuse_unknown(transfer, f"version {pair.version} of the contract")
    of_bridge = {paid, *(_evm(each, dst) for each in payers)}
    sender, receiver = (
        _account(*each) for each in (("sender", sending.sender), ("receiver", sending.receiver))
    )
    if receiver in of_bridge:
        raise BadRequest(
            f"receiver: is a contract of the token or of the bridge on {dst.name}, where the amount would be "
            "lost: send the account that is to be paid"
        )
    return _Send(
        inputs=inputs,
        bridge_type=transfer.bridge_type,
        version=SECOND_VERSION if pair is None else pair.version,
        to_chain=dst.id if pair is None else pair.to_chain,
        contract=contract,
        token=token,
        sender=sender,
        receiver=receiver,
        nonce=sending.nonce,
        max_slippage=max_slippage,
    )


def _evm(address: str, chain: ChainTerms) -> bytes:
    """The address of a contract or token on an EVM chain; the zero address where the document has none."""
    found = _NO_ADDRESS if not address else parse_evm_address(address)
    if found is None:
        raise GatewayError(
            f"{chain.name} is not an EVM chain, and transactions are made for EVM chains only: use "
            "/v2/estimateAmt for the price, and send the transfer with a wallet of this chain",
            reason=Reason.NOT_EVM,
        )
    return found


def _account(name: str, account: str) -> bytes:
    found = parse_evm_address(account)
    if found is None:
        raise GatewayError(
            f"{name} is not an account of an EVM chain: send 0x and 40 hex digits", reason=Reason.NOT_EVM
        )
    return found


def _refuse_unknown(transfer: TransferTerms, what: str) -> NoReturn:
    raise GatewayError(
        f"The gateway does not know the {what} for {transfer.src_token.symbol} from "
        f"{transfer.src_chain.name} to {transfer.dst_chain.name}, and so gives no transaction: choose "
        "another token or chain, or ask the gateway's operator",
        reason=Reason.CONTRACT_UNKNOWN,
    )


def _check_native(send: _Send, transfer: TransferTerms) -> None:
    """Only the token that the contract wraps native coin as can be sent as native coin."""
    chain, symbol = transfer.src_chain, transfer.src_token.symbol
    if send.is_burn:
        why = f"a transfer of {symbol} from {chain.name} burns the token"
    elif not chain.native_wrap:
        why = f"the gateway does not know what the coin of {chain.name} is wrapped as"
    elif parse_evm_address(chain.native_wrap) != send.token:
        why = f"{symbol} is not the wrapped coin of {chain.name}"
    else:
        return
    raise GatewayError(
        f"Native coin cannot be sent here, as {why}: omit native to send {symbol} as a token",
        reason=Reason.NATIVE_REFUSED,
    )


def _data(send: _Send, native: bool) -> str:
    """The call of this kind and version of contract (docs/api/getSendTransaction.md#send-calls)."""
    token, token_type = ((), "") if native else ((send.token,), "address,")
    name = "Native" if native else ""
    if send.bridge_type is BridgeType.POOL:
        return call_data(
            f"send{name}(address,{token_type}uint256,uint64,uint64,uint32)",
            send.receiver, *token, send.amount, send.to_chain, send.nonce, send.max_slippage,
        )  # fmt: skip
    if not send.is_burn:
        return call_data(
            f"deposit{name}({token_type}uint256,uint64,address,uint64)",
            *token, send.amount, send.to_chain, send.receiver, send.nonce,
        )  # fmt: skip
    if send.version == SECOND_VERSION:
        return call_data(
            "burn(address,uint256,uint64,address,uint64)",
            send.token, send.amount, send.to_chain, send.receiver, send.nonce,
        )  # fmt: skip
    return call_data(
        "burn(address,uint256,address,uint64)", send.token, send.amount, send.receiver, send.nonce
    )


def _transfer_id(send: _Send) -> bytes:
    src_chain_id = send.inputs.request.src_chain_id
    common: dict[str, Any] = {
        "token": send.token, "amount": send.amount, "nonce": send.nonce, "src_chain_id": src_chain_id
    }  # fmt: skip
    second = send.version == SECOND_VERSION
    if send.bridge_type is BridgeType.POOL:
        return pool_transfer_id(
            sender=send.sender, receiver=send.receiver, dst_chain_id=send.to_chain, **common
        )
    if not send.is_burn:
        return deposit_transfer_id(
            depositor=send.sender,
            mint_chain_id=send.to_chain,
            mint_account=send.receiver,
            vault=send.contract if second else None,
            **common,
        )
    burned: dict[str, Any] = {"account": send.sender, "to_account": send.receiver, **common}
    if second:
        return burn_transfer_id(to_chain_id=send.to_chain, bridge=send.contract, **burned)
    return burn_transfer_id_v1(**burned)


def _valid_until(inputs: EstimateInputs, transfer: TransferTerms) -> datetime:
    """When the base fee becomes too old or its pin ends, at most a minute from now."""
    longest = inputs.now + LONGEST_VALID
    route = inputs.route if transfer.pools is not None else None
    if route is None or route.base_fee is None:
        return longest
    return min(longest, last_moment(route.base_fee, route.base_fee_max_age_seconds) or longest)
