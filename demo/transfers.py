"""Transfers between the two local chains: their ids, and the calls that users and relayers make."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from app.transfers.rules.refunds.request_message import RefundRequest, encode_request
from app.values.codes import SendKind
from app.values.crypto import keccak256, minimal_big_endian
from app.values.identifiers import ChainId
from demo.chains import DECIMALS, DEPLOYER, POOL, TRI, USDX, at
from demo.contracts import Call, Contract
from demo.validators import BRIDGE, POOL_PAYOUT, POOL_REFUND, VAULT, Validators

_WHOLE: Final = 1_000_000
"""In parts per million."""


def _number(value: int, size: int = 32) -> bytes:
    return value.to_bytes(size, "big")


def _field(number: int, value: bytes | int) -> bytes:
    """A field of a protobuf message whose number is under 16; nothing for a default."""
    if isinstance(value, int):
        return bytes([number << 3]) + _varint(value) if value else b""
    return bytes([number << 3 | 2]) + _varint(len(value)) + value if value else b""


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


@dataclass(frozen=True)
class Send:
    """A transfer that somebody begins on one of the two chains.

    :param to_chain: where it is to arrive.
    :param version: of the pegged contracts.
    :param moved_ppm: by how much the price gets worse on the way.
    :param token: as its log names it; None takes what is usual for the kind.
    """

    kind: SendKind
    chain: int
    to_chain: int
    amount: int
    nonce: int
    sender: bytes
    receiver: bytes
    version: int = 2
    native: bool = False
    max_slippage: int = 5000
    moved_ppm: int = 0
    token: Contract = field(default=USDX)

    @property
    def contract(self) -> Contract:
        if self.kind is SendKind.POOL:
            return POOL
        deposit = self.kind is SendKind.DEPOSIT
        return at(("vault" if deposit else "bridge") + ("" if self.version == 2 else "1"))

    @property
    def id(self) -> bytes:
        """The transfer id (docs/interface/contracts.md#transfer-ids)."""
        middle = (
            self.sender
            + self.receiver
            + self.token.address
            + _number(self.amount)
            + _number(self.to_chain, 8)
            if self.kind is SendKind.POOL
            else self.sender + self.token.address + _number(self.amount)
        )
        if self.kind is SendKind.POOL:
            return keccak256(middle + _number(self.nonce, 8) + _number(self.chain, 8))
        to = b"" if self.kind is SendKind.BURN and self.version == 1 else _number(self.to_chain, 8)
        tail = self.receiver + _number(self.nonce, 8) + _number(self.chain, 8)
        return keccak256(middle + to + tail + (b"" if self.version == 1 else self.contract.address))

    @property
    def text(self) -> str:
        return f"0x{self.id.hex()}"

    def call(self) -> Call:
        contract, token = self.contract, self.token.address
        if self.kind is SendKind.POOL:
            rest = (self.amount, self.to_chain, self.nonce, self.max_slippage)
            if self.native:
                return contract.call(self.sender, "sendNative", self.receiver, *rest, value=self.amount)
            return contract.call(self.sender, "send", self.receiver, token, *rest)
        function = "deposit" if self.kind is SendKind.DEPOSIT else "burn"
        to = () if (function, self.version) == ("burn", 1) else (self.to_chain,)
        return contract.call(self.sender, function, token, self.amount, *to, self.receiver, self.nonce)

    @property
    def arriving(self) -> int:
        """What is paid out, in the destination token's units; there are no fees."""
        left = _WHOLE - self.moved_ppm
        if self.token != USDX:
            return self.amount * left // _WHOLE
        units = {chain: int(10**decimals) for chain, decimals in DECIMALS.items()}
        return self.amount * units[self.to_chain] * left // units[self.chain] // _WHOLE

    @property
    def _minted(self) -> bool:
        """A deposit is minted; a burn is paid by the vault, or minted where its token is pegged, too."""
        return self.kind is SendKind.DEPOSIT or self.token == TRI

    @property
    def payer(self) -> Contract:
        """What pays it out on the destination chain."""
        if self.kind is SendKind.POOL:
            return POOL
        return at(("bridge" if self._minted else "vault") + ("" if self.version == 2 else "1"))

    @property
    def payout_id(self) -> bytes:
        """The id of the relay, the mint or the vault's withdrawal."""
        if self.kind is not SendKind.POOL:
            return self._pegged_id(self.payer, self.receiver, self.arriving)
        chains = _number(self.chain, 8) + _number(self.to_chain, 8)
        what = self.token.address + _number(self.arriving)
        return keccak256(self.sender + self.receiver + what + chains + self.id)

    @property
    def refund_id(self) -> bytes:
        """The id of the payout that pays it back (docs/interface/contracts.md#withdraw-ids)."""
        if self.kind is not SendKind.POOL:
            return self._pegged_id(self.contract, self.sender, self.amount)
        numbers = _number(self.chain, 8) + _number(self.nonce, 8)
        return keccak256(numbers + self.sender + self.token.address + _number(self.amount))

    def _pegged_id(self, contract: Contract, receiver: bytes, amount: int) -> bytes:
        """As our contracts make it, of the whole request."""
        what = self.token.address + _number(amount)
        own = contract.address if self.version == 2 else b""
        return keccak256(receiver + what + self.sender + _number(self.chain, 8) + self.id + own)

    def payout(self, validators: Validators) -> Call:
        """What a relayer sends on the destination chain."""
        contract, chain = self.payer, self.to_chain
        if self.kind is SendKind.POOL:
            fields: list[bytes | int] = [
                self.sender,
                self.receiver,
                self.token.address,
                minimal_big_endian(self.arriving),
                self.chain,
                chain,
                self.id,
            ]
            request = b"".join(_field(place, value) for place, value in enumerate(fields, start=1))
            function, purpose = "relay", POOL_PAYOUT
        else:
            kind = SendKind.BURN if self._minted else SendKind.DEPOSIT
            request = self._pegged_request(kind, self.receiver, self.arriving)
            function, purpose = ("mint", BRIDGE) if self._minted else ("withdraw", VAULT)
        arguments = validators.call_arguments(chain, contract.address, purpose, request)
        return contract.call(DEPLOYER, function, *arguments)

    def execution(self, *, refund: bool = False) -> Call:
        """What anybody sends to have a queued payout, or the queued refund, paid."""
        contract = self.contract if refund else self.payer
        queued = self.refund_id if refund else self.payout_id
        return contract.call(DEPLOYER, "executeDelayedTransfer", queued)

    def _pegged_request(self, kind: SendKind, receiver: bytes, amount: int) -> bytes:
        request = RefundRequest(
            kind=kind,
            receiver=receiver,
            token=self.token.address,
            amount=amount,
            ref_id=self.id,
            ref_chain_id=ChainId(self.chain),
        )
        deposit = kind is SendKind.DEPOSIT
        whose = (
            replace(request, burn_account=self.sender) if deposit else replace(request, depositor=self.sender)
        )
        return encode_request(whose)

    @property
    def refund_request(self) -> bytes:
        """What the validators sign to pay it back: ``wd_onchain``."""
        if self.kind is not SendKind.POOL:
            return self._pegged_request(self.kind, self.sender, self.amount)
        return _pool_request(
            self.chain, self.sender, token=self.token, amount=self.amount, seqnum=self.nonce, ref_id=self.id
        )

    @property
    def refund_purpose(self) -> str:
        """What a refund is for, as its digest names it."""
        return {SendKind.POOL: POOL_REFUND, SendKind.DEPOSIT: VAULT, SendKind.BURN: BRIDGE}[self.kind]

    def refund(self, validators: Validators) -> Call:
        """What the user sends to be paid back, with everybody's signature."""
        function = "mint" if self.kind is SendKind.BURN else "withdraw"
        arguments = validators.call_arguments(
            self.chain, self.contract.address, self.refund_purpose, self.refund_request
        )
        return self.contract.call(self.sender, function, *arguments)


def _pool_request(
    chain: int, receiver: bytes, *, token: Contract, amount: int, seqnum: int, ref_id: bytes
) -> bytes:
    return encode_request(
        RefundRequest(
            kind=SendKind.POOL,
            receiver=receiver,
            token=token.address,
            amount=amount,
            ref_id=ref_id,
            chain_id=ChainId(chain),
            seqnum=seqnum,
        )
    )


def liquidity_withdrawal(
    chain: int, provider: bytes, amount: int, seqnum: int, validators: Validators
) -> Call:
    """A provider takes out what it gave: a withdraw that refers to no transfer."""
    request = _pool_request(chain, provider, token=USDX, amount=amount, seqnum=seqnum, ref_id=b"")
    arguments = validators.call_arguments(chain, POOL.address, POOL_REFUND, request)
    return POOL.call(provider, "withdraw", *arguments)
