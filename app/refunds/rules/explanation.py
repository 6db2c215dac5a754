"""The proof of a refund, explained, ready for JSON: bytes are 0x hex (``wd_onchain`` base64, as the status
answer has it), addresses checksummed, integers that may pass 2^53 decimal strings.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any, Final, TypedDict

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from app.network.rules.quorum import ValidatorSet
from app.refunds.rules.call import ContractCall, DelayedFunds, open_call, refund_call
from app.transfers.rules.refunds.claimable import RefundVerdict, RequestValidation
from app.transfers.rules.refunds.request_checks import (
    CONTRACT_ROLE,
    DOMAIN_TEXT,
    RefundContext,
    domain_separator,
)
from app.transfers.rules.refunds.request_message import RefundRequest, withdraw_id
from app.values.codes import SendKind, TransferHistoryStatus
from app.values.contract_calls import Transaction
from app.values.crypto import checksum_address
from app.values.identifiers import ChainId


class OwnReason(Struct, frozen=True):
    reason: str
    words: str


_PAUSED: Final = OwnReason("paused", "the contract is paused")
_VOLUME_CAP: Final = OwnReason(
    "volume_cap",
    "the contract has paid its volume cap of the token in this epoch: send the call in a later epoch; "
    "a refund of more than the cap itself passes in none until the cap is raised",
)
_SUPPLY_CAP: Final = OwnReason(
    "supply_cap",
    "the refund is minted, and the token's contract sets a supply cap for this bridge that it would exceed: "
    "send the call when others have burned enough, or when the cap is raised",
)
_BALANCE: Final = OwnReason("balance", "the contract holds less of the token than the refund")
_NATIVE_RECEIVER: Final = OwnReason(
    "native_receiver",
    "the token is the wrapped native coin, and the receiver is a contract that does not accept native coin",
)
_DONE: Final = OwnReason(
    "already_done",
    "the contract already paid this request in a transaction that was not reported; a pool bridge "
    "identifies requests by their withdraw id only",
)
_PEGGED_DONE: Final = OwnReason(
    "already_done",
    "the contract already paid this request in a transaction that was not reported",
)

_REASONS: Final[dict[SendKind, tuple[OwnReason, ...]]] = {
    SendKind.POOL: (_PAUSED, _VOLUME_CAP, _BALANCE, _NATIVE_RECEIVER, _DONE),
    SendKind.DEPOSIT: (_PAUSED, _VOLUME_CAP, _BALANCE, _NATIVE_RECEIVER, _PEGGED_DONE),
    SendKind.BURN: (_PAUSED, _VOLUME_CAP, _SUPPLY_CAP, _PEGGED_DONE),
}


def own_reasons(kind: SendKind) -> tuple[OwnReason, ...]:
    """Reasons for which the contract of this kind may refuse a call whose evidence is valid. A pegged bridge
    mints what it pays: it needs no balance and pays no native coin, but the token's contract may have a
    supply cap.
    """
    return _REASONS[kind]


_Is = TransferHistoryStatus
_CLOSED: Final[dict[TransferHistoryStatus, str]] = {
    _Is.TRANSFER_CONFIRMING_YOUR_REFUND: "the refund is already in a block",
    _Is.TRANSFER_REFUNDED: "the refund has been paid",
    _Is.TRANSFER_COMPLETED: "the transfer was completed",
    _Is.TRANSFER_DELAYED: "the release waits in the contract's delay queue",
}
"""Statuses at which nothing can be claimed, whatever the evidence says."""


class Domain(Struct, frozen=True):
    """What binds the signatures to one chain, contract and kind: the text and the 32-byte separator."""

    text: str
    separator: str


class SignerRow(Struct, frozen=True):
    """One validator of the current set; ``signature`` is null where there is none."""

    address: str
    power: str
    signed: bool
    signature: str | None


class OtherRequest(Struct, frozen=True):
    wd_onchain: str
    digest: str | None
    power_signed: str
    reached: bool
    contradictions: tuple[str, ...]


class RefundExplanation(Struct, frozen=True):
    """``proven``: exactly one request has a quorum's signatures. ``valid``: it is proven and the contract
    would take it now, that is, the refund has not been paid or overtaken. What is not known is null.
    ``transaction`` is what a wallet sends while it is valid. ``status`` is the transfer's, null where
    evidence was validated without its transfer. ``request`` maps the message's field names to values as
    text; ``withdraw_id`` is the pool kind's. ``may_refuse`` is what the contract may still object to a valid
    call, ``delayed`` what waits in a delay queue.
    """

    valid: bool
    proven: bool
    status: int | None
    transfer_id: str | None
    kind: str | None
    chain_id: ChainId | None
    contract: str | None
    contract_role: str | None
    call: ContractCall | None
    transaction: Transaction | None
    domain: Domain | None
    digest: str | None
    wd_onchain: str | None
    request: dict[str, str] | None
    withdraw_id: str | None
    contradictions: tuple[str, ...]
    signers: tuple[SignerRow, ...]
    power_signed: str
    power_total: str | None
    quorum: str | None
    validator_set_version: int | None
    validator_set_hash: str | None
    missing: tuple[str, ...]
    not_signed: tuple[str, ...]
    may_refuse: tuple[OwnReason, ...]
    delayed: DelayedFunds | None
    notes: tuple[str, ...]
    other_requests: tuple[OtherRequest, ...]

    def as_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = to_builtins(self)
        return values


def explain_refund(
    verdict: RefundVerdict,
    ctx: RefundContext,
    validators: ValidatorSet | None,
    status: TransferHistoryStatus | None = None,
    delayed: DelayedFunds | None = None,
    *,
    notes: tuple[str, ...] = (),
) -> RefundExplanation:
    """``status`` is the transfer's. Unless it is 8, a proven refund is not valid, because the contract pays a
    refund once, and one that was overtaken (by a release, say) must not be claimed. None: the status does
    not count. ``delayed`` are funds that wait in a delay queue.
    """
    kind, shown, proven = ctx.kind, verdict.foremost, verdict.served is not None
    valid = proven and status in (None, _Is.TRANSFER_REFUND_TO_BE_CONFIRMED)
    call = _call(kind, shown if valid else None, validators)
    return RefundExplanation(
        valid=valid,
        proven=proven,
        status=None if status is None else status.value,
        transfer_id=_hex(ctx.transfer_id),
        kind=kind.value if kind else None,
        chain_id=ctx.src_chain_id,
        contract=checksum_address(ctx.contract) if ctx.contract else None,
        contract_role=CONTRACT_ROLE[kind] if kind else None,
        call=call,
        transaction=_transaction(ctx, call),
        domain=_domain(ctx),
        **_of_request(shown),
        signers=_signer_rows(shown, validators),
        **_of_validators(validators),
        missing=() if valid else _missing(verdict, validators, status, delayed),
        not_signed=tuple(checksum_address(address) for address in verdict.not_signed),
        may_refuse=own_reasons(kind) if kind and valid else (),
        delayed=delayed,
        notes=notes,
        other_requests=tuple(_other(each) for each in verdict.requests if each is not shown),
    )


class _OfRequest(TypedDict):
    digest: str | None
    wd_onchain: str | None
    request: dict[str, str] | None
    withdraw_id: str | None
    contradictions: tuple[str, ...]
    power_signed: str


def _of_request(shown: RequestValidation | None) -> _OfRequest:
    request = shown.request if shown else None
    return {
        "digest": _hex(shown.digest) if shown else None,
        "wd_onchain": b64encode(shown.wd_onchain).decode("ascii") if shown else None,
        "request": _FIELDS[request.kind](request) if request else None,
        "withdraw_id": _hex(withdraw_id(request)) if request else None,
        "contradictions": shown.contradictions if shown else (),
        "power_signed": str(shown.power_signed if shown else 0),
    }


class _OfValidators(TypedDict):
    power_total: str | None
    quorum: str | None
    validator_set_version: int | None
    validator_set_hash: str | None


def _of_validators(validators: ValidatorSet | None) -> _OfValidators:
    return {
        "power_total": str(validators.total_power) if validators else None,
        "quorum": str(validators.quorum) if validators else None,
        "validator_set_version": validators.version if validators else None,
        "validator_set_hash": _hex(validators.contract_hash) if validators else None,
    }


def against_set_hash(shown: RefundExplanation, set_hash: bytes) -> RefundExplanation:
    """Validate again, with the hash of the validator set in the contract (``ssHash()``, 32 bytes)."""
    stored = f"0x{set_hash.hex()}"
    if shown.validator_set_hash in (None, stored):
        return shown
    words = f"the signers and powers hash to {shown.validator_set_hash}, but the contract has {stored}"
    call = replace(shown.call, arguments=(), data=None) if shown.call else None
    return replace(
        shown,
        valid=False,
        proven=False,
        call=call,
        transaction=None,
        missing=(*shown.missing, words),
        may_refuse=(),
    )


def _missing(
    verdict: RefundVerdict,
    validators: ValidatorSet | None,
    status: TransferHistoryStatus | None,
    delayed: DelayedFunds | None,
) -> tuple[str, ...]:
    """Why the contract does not pay now, in words: the transfer's status, else its evidence."""
    if delayed is not None:
        return (f"{delayed.words}, so there is nothing to claim",)
    if status in _CLOSED or (verdict.served and status is not None):
        reason = _CLOSED.get(status, f"the transfer's status is {status.value} ({status.name})")
        return (f"{reason}, so there is nothing to claim",)
    if verdict.requests or status in (None, _Is.TRANSFER_REQUESTING_REFUND):
        return (*verdict.missing, *_not_signed_words(verdict, validators))
    if status is _Is.TRANSFER_TO_BE_REFUNDED:
        return ("the refund was not prepared yet: no refund request is known",)
    if status is _Is.TRANSFER_FAILED:
        return ("the transfer failed before any funds left, so there is nothing to refund",)
    return (f"no refund was requested: the transfer's status is {status.value} ({status.name})",)


def _not_signed_words(verdict: RefundVerdict, validators: ValidatorSet | None) -> tuple[str, ...]:
    if validators is None or not verdict.not_signed:
        return ()
    names = (f"{checksum_address(who)} (power {validators.power_of(who)})" for who in verdict.not_signed)
    return (f"not signed yet: {', '.join(names)}",)


def _call(
    kind: SendKind | None, shown: RequestValidation | None, validators: ValidatorSet | None
) -> ContractCall | None:
    """The call of a refund of this kind, with arguments where ``shown`` is a valid request."""
    if kind is None:
        return None
    if shown and validators:
        return refund_call(kind, shown.wd_onchain, shown.signed, validators)
    return open_call(kind)


def _transaction(ctx: RefundContext, call: ContractCall | None) -> Transaction | None:
    """The transaction of a call that the contract would accept now."""
    if call is None or call.data is None or ctx.src_chain_id is None or ctx.contract is None:
        return None
    return Transaction(ctx.src_chain_id, checksum_address(ctx.contract), call.data)


def _domain(ctx: RefundContext) -> Domain | None:
    if ctx.kind is None or ctx.src_chain_id is None or ctx.contract is None:
        return None
    separator = domain_separator(ctx.kind, ctx.src_chain_id, ctx.contract)
    return Domain(DOMAIN_TEXT[ctx.kind], f"0x{separator.hex()}")


def _signer_rows(shown: RequestValidation | None, validators: ValidatorSet | None) -> tuple[SignerRow, ...]:
    if validators is None:
        return ()
    signed = dict(shown.signed) if shown else {}
    return tuple(
        SignerRow(checksum_address(address), str(power), address in signed, _hex(signed.get(address)))
        for address, power in validators.members
    )


def _other(request: RequestValidation) -> OtherRequest:
    return OtherRequest(
        wd_onchain=b64encode(request.wd_onchain).decode("ascii"),
        digest=_hex(request.digest),
        power_signed=str(request.power_signed),
        reached=request.reached,
        contradictions=request.contradictions,
    )


def _pool_fields(request: RefundRequest) -> dict[str, str]:
    return {
        "chainid": str(request.chain_id),
        "seqnum": str(request.seqnum),
        "receiver": checksum_address(request.receiver),
        "token": checksum_address(request.token),
        "amount": str(request.amount),
        "refid": f"0x{request.ref_id.hex()}",
    }


def _deposit_fields(request: RefundRequest) -> dict[str, str]:
    return {
        "token": checksum_address(request.token),
        "receiver": checksum_address(request.receiver),
        "amount": str(request.amount),
        "burn_account": checksum_address(request.burn_account) if request.burn_account else "",
        "ref_chain_id": str(request.ref_chain_id),
        "ref_id": f"0x{request.ref_id.hex()}",
    }


def _burn_fields(request: RefundRequest) -> dict[str, str]:
    return {
        "token": checksum_address(request.token),
        "account": checksum_address(request.receiver),
        "amount": str(request.amount),
        "depositor": checksum_address(request.depositor) if request.depositor else "",
        "ref_chain_id": str(request.ref_chain_id),
        "ref_id": f"0x{request.ref_id.hex()}",
    }


_FIELDS: Final[dict[SendKind, Callable[[RefundRequest], dict[str, str]]]] = {
    SendKind.POOL: _pool_fields,
    SendKind.DEPOSIT: _deposit_fields,
    SendKind.BURN: _burn_fields,
}


def _hex(value: bytes | None) -> str | None:
    return None if value is None else f"0x{value.hex()}"
