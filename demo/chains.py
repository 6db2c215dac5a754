"""Two local chains with a pool and pegged tokens: where the contracts stand, and the calls that people make.

A third chain, ``ELSEWHERE``, is only named: a token of it is pegged on both, so that a burn on one is minted
on the other. Everything stands at the same addresses on both chains. A call only says what to send; it is in
no block until somebody mines it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from app.domain.codes import SendKind
from app.domain.crypto import keccak256, minimal_big_endian
from app.domain.keys import ChainId
from app.domain.refund.request import RefundRequest, encode_request
from demo.anvil import Anvil, RpcError
from demo.contracts import Call, Contract, created_address, creation
from demo.validators import BRIDGE, POOL_PAYOUT, POOL_REFUND, VAULT, Validators

LEFT, RIGHT, ELSEWHERE = 7001, 7002, 7003
DEPLOYER: Final = b"\xde" * 20
USERS: Final = tuple(bytes([0xA0 + n]) * 20 for n in range(8))
PLENTY: Final = 10**30
NAMES: Final = {
    "pool": "PoolBridge",
    "vault": "TokenVaultV2",
    "vault1": "TokenVaultV1",
    "bridge": "PeggedBridgeV2",
    "bridge1": "PeggedBridgeV1",
    "usdx": "Token",
    "peg": "Token",
    "old": "Token",
    "tri": "Token",
    "coin": "WrappedCoin",
}
"""What stands on each chain, in the order in which it is put there."""

_ADDRESSES = {name: created_address(DEPLOYER, place) for place, name in enumerate(NAMES)}


def at(name: str) -> Contract:
    """A contract, on either chain."""
    return Contract(NAMES[name], _ADDRESSES[name])


POOL, VAULT_V2, VAULT_V1, BRIDGE_V2, BRIDGE_V1 = (at(name) for name in list(NAMES)[:5])
USDX, PEG, OLD, TRI, COIN = (at(name) for name in list(NAMES)[5:])


def deployment(validators: Validators) -> Iterator[Call]:
    """The transactions that put everything on a chain and give the contracts what they hold."""
    for name in NAMES.values():
        yield creation(name, DEPLOYER)
    for contract in (POOL, VAULT_V2, VAULT_V1, BRIDGE_V2, BRIDGE_V1):
        yield rotation(contract, validators)
    yield POOL.call(DEPLOYER, "setWrapped", COIN.address)
    for contract in (POOL, VAULT_V2, VAULT_V1):
        for token in (USDX, PEG, OLD, COIN):
            yield token.call(DEPLOYER, "mint", contract.address, PLENTY)
    for token in (PEG, OLD, TRI):
        for user in USERS:
            yield token.call(DEPLOYER, "mint", user, PLENTY)


def prepare(node: Anvil, validators: Validators, at: int | None = None) -> None:
    """Put everything on a new chain, in its first block.

    :raises RpcError: a transaction did not succeed.
    """
    for address in (POOL.address, COIN.address, *USERS):
        node.give(address, PLENTY)
    sent = [call.send(node) for call in deployment(validators)]
    node.mine(at)
    for tx_hash in sent:
        receipt = node.receipt(tx_hash)
        if receipt is None or receipt["status"] != "0x1":
            raise RpcError(f"{tx_hash} did not succeed")


def rotation(contract: Contract, validators: Validators) -> Call:
    """A contract's whole new validator set."""
    return contract.call(DEPLOYER, "updateSigners", validators.signers, validators.signer_powers)


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
    token: Contract = field(default=USDX)

    @property
    def contract(self) -> Contract:
        """What takes the funds."""
        if self.kind is SendKind.POOL:
            return POOL
        deposit = self.kind is SendKind.DEPOSIT
        return at(("vault" if deposit else "bridge") + ("" if self.version == 2 else "1"))

    @property
    def id(self) -> bytes:
        """The transfer id (docs/interface.md#transfer-ids)."""
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
        """The transfer id in hex."""
        return f"0x{self.id.hex()}"

    def call(self) -> Call:
        """What the user sends."""
        contract, token = self.contract, self.token.address
        if self.kind is SendKind.POOL:
            rest = (self.to_chain, self.nonce, self.max_slippage)
            if self.native:
                return contract.call(self.sender, "sendNative", self.receiver, *rest, value=self.amount)
            return contract.call(self.sender, "send", self.receiver, token, self.amount, *rest)
        function = "deposit" if self.kind is SendKind.DEPOSIT else "burn"
        to = () if (function, self.version) == ("burn", 1) else (self.to_chain,)
        return contract.call(self.sender, function, token, self.amount, *to, self.receiver, self.nonce)

    def payout(self, validators: Validators, amount: int | None = None, by: bytes = DEPLOYER) -> Call:
        """What a relayer sends on the destination chain.

        :param amount: of the destination's units, if another.
        """
        paid = self.amount if amount is None else amount
        if self.kind is SendKind.POOL:
            fields: list[bytes | int] = [
                self.sender,
                self.receiver,
                self.token.address,
                minimal_big_endian(paid),
                self.chain,
                self.to_chain,
                self.id,
            ]
            request = b"".join(_field(place, value) for place, value in enumerate(fields, start=1))
            arguments = validators.call_arguments(self.to_chain, POOL.address, POOL_PAYOUT, request)
            return POOL.call(by, "relay", *arguments)
        # A deposit is minted; a burn is paid by the vault, or minted where its token is pegged, too.
        minted = self.kind is SendKind.DEPOSIT or self.token == TRI
        request = self._pegged_request(SendKind.BURN if minted else SendKind.DEPOSIT, self.receiver, paid)
        contract = at(("bridge" if minted else "vault") + ("" if self.version == 2 else "1"))
        function, purpose = ("mint", BRIDGE) if minted else ("withdraw", VAULT)
        arguments = validators.call_arguments(self.to_chain, contract.address, purpose, request)
        return contract.call(by, function, *arguments)

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

    def refund_request(self, seqnum: int = 0, amount: int | None = None) -> bytes:
        """What the validators sign to pay it back: ``wd_onchain``."""
        paid = self.amount if amount is None else amount
        if self.kind is not SendKind.POOL:
            return self._pegged_request(self.kind, self.sender, paid)
        return encode_request(
            RefundRequest(
                kind=SendKind.POOL, receiver=self.sender, token=self.token.address, amount=paid,
                ref_id=self.id, chain_id=ChainId(self.chain), seqnum=seqnum or self.nonce,
            )
        )  # fmt: skip

    @property
    def refund_purpose(self) -> str:
        """What a refund is for, as its digest names it."""
        return {SendKind.POOL: POOL_REFUND, SendKind.DEPOSIT: VAULT, SendKind.BURN: BRIDGE}[self.kind]

    def refund(self, validators: Validators, request: bytes | None = None) -> Call:
        """What the user sends to be paid back, with everybody's signature."""
        function = "mint" if self.kind is SendKind.BURN else "withdraw"
        wanted = request or self.refund_request()
        address, purpose = self.contract.address, self.refund_purpose
        arguments = validators.call_arguments(self.chain, address, purpose, wanted)
        return self.contract.call(self.sender, function, *arguments)


def liquidity_withdrawal(
    chain: int, provider: bytes, amount: int, seqnum: int, validators: Validators
) -> Call:
    """A provider takes out what it gave: a withdraw that refers to no transfer."""
    request = RefundRequest(
        kind=SendKind.POOL,
        receiver=provider,
        token=USDX.address,
        amount=amount,
        ref_id=b"",
        chain_id=ChainId(chain),
        seqnum=seqnum,
    )
    arguments = validators.call_arguments(chain, POOL.address, POOL_REFUND, encode_request(request))
    return POOL.call(provider, "withdraw", *arguments)
