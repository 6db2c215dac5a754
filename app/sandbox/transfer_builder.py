"""One made-up transfer: what is sent, its events one after the other, and the evidence of its refund.

The bridge contracts' rule accepts the signatures. The validators' keys are no secret: each is the Keccak-256
of "sandbox validator" and a number. They sign for made-up transfers here and hold no power anywhere else.
"""

import base64
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Final, Self

from msgspec import Struct

from app.network.rules.validation_facts import Taken
from app.sandbox.catalogue import (
    base_fees,
    block_delays,
    decimals_of,
    network_facts,
    paying_contract,
    token_address,
)
from app.sandbox.reports import Event, block_at, block_event, event, time_to_depth
from app.transfers.rules.events.contract_ids import burn_transfer_id, deposit_transfer_id, pool_transfer_id
from app.transfers.rules.refunds.request_checks import signing_digest
from app.transfers.rules.refunds.request_message import RefundRequest, encode_request
from app.values.codes import SendKind, XferStatus
from app.values.crypto import checksum_address, keccak256, sign_digest
from app.values.identifiers import ChainId

_STEP: Final = timedelta(seconds=15)  # between two that wait for no block
_FEE_PPM: Final = 500  # protocol fee and curve together take about this
_MAX_SLIPPAGE: Final = 5_000


class SendDetails(Struct, frozen=True):
    """The send of a user: ``amount`` in the source token's smallest unit, addresses of 20 bytes."""

    kind: SendKind
    symbol: str
    src_chain_id: int
    dst_chain_id: int
    amount: int
    sender: bytes

    @property
    def token(self) -> bytes:
        return token_address(self.src_chain_id, self.symbol)

    @property
    def contract(self) -> bytes:
        """The contract that takes the send and would pay its refund."""
        return paying_contract(self.kind, self.symbol, self.src_chain_id, self.dst_chain_id)

    @property
    def paid_out(self) -> int:
        """The released amount in the destination token's smallest unit, rounded down.

        :raises KeyError: the sandbox has no such route.
        """
        fee = base_fees()[self.kind, self.symbol, self.src_chain_id, self.dst_chain_id]
        arriving = self.amount * (1_000_000 - _FEE_PPM) // 1_000_000
        chains = ChainId(self.src_chain_id), ChainId(self.dst_chain_id)
        scaled = network_facts().scaled_down(arriving, Taken(self.kind, self.symbol, None, *chains))
        if scaled is None:
            raise KeyError((self.dst_chain_id, self.symbol))
        return scaled - fee

    def contract_id(self, nonce: int) -> str:
        """The transfer id that the contract computes for this send, 0x and 64 hex digits."""
        common = {"amount": self.amount, "nonce": nonce, "src_chain_id": self.src_chain_id}
        if self.kind is SendKind.POOL:
            computed = pool_transfer_id(
                sender=self.sender,
                receiver=self.sender,
                token=self.token,
                dst_chain_id=self.dst_chain_id,
                **common,
            )
        elif self.kind is SendKind.DEPOSIT:
            computed = deposit_transfer_id(
                depositor=self.sender,
                token=self.token,
                mint_chain_id=self.dst_chain_id,
                mint_account=self.sender,
                vault=self.contract,
                **common,
            )
        else:
            computed = burn_transfer_id(
                account=self.sender,
                token=self.token,
                to_chain_id=self.dst_chain_id,
                to_account=self.sender,
                bridge=self.contract,
                **common,
            )
        return f"0x{computed.hex()}"


def user(number: int) -> bytes:
    """The address of a user that cannot be mistaken for a real one: 0x5a5a… and a number."""
    return b"\x5a" * 18 + number.to_bytes(2, "big")


def send_details(kind: SendKind, sends: str, route: tuple[int, int], *, by: int | bytes) -> SendDetails:
    """A send of user ``by``: the number of a made-up one, or 20 bytes.

    :param sends: an amount in whole tokens and a symbol, as people write it ("0.25 USDT").
    :param route: the source chain and the destination chain.
    :raises ValueError: the amount is finer than the token's smallest unit.
    """
    src_chain_id, dst_chain_id = route
    tokens, symbol = sends.split()
    amount = Fraction(tokens) * 10 ** decimals_of(src_chain_id, symbol)
    if amount.denominator != 1:
        raise ValueError(f"{sends} is finer than the smallest unit on chain {src_chain_id}")
    sender = user(by) if isinstance(by, int) else by
    return SendDetails(kind, symbol, src_chain_id, dst_chain_id, int(amount), sender)


def synthetic_hash(text: str) -> str:
    """A 0x hash of 32 bytes that exists on no chain, the same for the same text."""
    return f"0x{keccak256(f'sandbox {text}'.encode()).hex()}"


class TransferBuilder:
    """Builds a transfer's events in the order in which they happen.

    Every method adds one event and returns the builder, so that calls can be chained. The first event is at
    ``start``; each later one a plausible time after the one before.
    """

    def __init__(
        self,
        transfer_id: str,
        details: SendDetails,
        start: datetime,
        *,
        src_tx_hash: str | None = None,
        dst_tx_hash: str | None = None,
    ) -> None:
        self.transfer_id = transfer_id
        self.details = details
        self.events: list[Event] = []
        self._at = start
        self._sent_at = start
        self._src_tx_hash = src_tx_hash or synthetic_hash(f"send {transfer_id}")
        self._dst_tx_hash = dst_tx_hash or synthetic_hash(f"release {transfer_id}")
        self._refund_tx_hash = synthetic_hash(f"refund {transfer_id}")

    @property
    def source_block(self) -> int:
        return block_at(self.details.src_chain_id, self._sent_at).number

    def submitted(self) -> Self:
        sent = self._what_is_sent()
        del sent["kind"]
        return self._add("transfer.submitted", **sent)

    def sent(self) -> Self:
        self._wait(_STEP)
        self._sent_at = self._at
        slippage = {"max_slippage": _MAX_SLIPPAGE} if self.details.kind is SendKind.POOL else {}
        return self._add_on_source(
            "transfer.sent", **self._what_is_sent(), nonce=nonce_at(self._at), **slippage
        )

    def confirmed(self) -> Self:
        """The block of the send is deep enough."""
        self._wait(time_to_depth(self.details.src_chain_id, block_delays()[self.details.src_chain_id]))
        return self._add("transfer.confirmed")

    def reorged(self) -> Self:
        """A reorganisation removes only the source block.

        It is for a chain that has no event of a later block before it.
        """
        self._wait(4 * _STEP)
        chain_id, block = self.details.src_chain_id, self.source_block
        self.events.append(
            event("chain.reorged", f"{chain_id}:{block}", self._at, chain_id=chain_id, from_block=block)
        )
        return self

    def failed(self, reason: str) -> Self:
        """The source transaction reverted or was dropped: no funds were taken."""
        self._wait(_STEP)
        return self._add_on_source("transfer.failed", reason=reason)

    def network_status(self, status: XferStatus) -> Self:
        self._wait(_STEP)
        return self._add("network.status", str(status.value), xfer_status=status.value)

    def delayed(self) -> Self:
        self._wait(_STEP)
        return self._add_on_destination("transfer.delayed", dst_tx_hash=self._dst_tx_hash)

    def released(self, latency: timedelta, *, with_amount: bool = True) -> Self:
        """Funds were paid out, with this latency after the send."""
        self._at = self._sent_at + latency
        amount = {"amount": str(self.details.paid_out)} if with_amount else {}
        return self._add_on_destination("transfer.released", dst_tx_hash=self._dst_tx_hash, **amount)

    def refund_requested(self) -> Self:
        self._wait(_STEP)
        return self._add("refund.requested")

    def refund_prepared(self, wd_onchain: bytes) -> Self:
        self._wait(_STEP)
        return self._add("refund.prepared", wd_onchain=_base64(wd_onchain))

    def refund_signed(self, signature: bytes) -> Self:
        self._wait(_STEP)
        return self._add("refund.signed", signature[:8].hex(), signature=_base64(signature))

    def refund_submitted(self) -> Self:
        self._wait(4 * _STEP)
        return self._add_on_source("refund.submitted", tx_hash=self._refund_tx_hash)

    def refund_failed(self) -> Self:
        """A first withdraw was reported, but did not succeed."""
        tx_hash = synthetic_hash(f"failed refund {self.transfer_id}")
        self._wait(_STEP)
        about = f"{self.transfer_id}:failed"
        chain_id, of_transfer = self.details.src_chain_id, {"transfer_id": self.transfer_id}
        for kind in ("refund.submitted", "refund.failed"):
            fields = {**of_transfer, "tx_hash": tx_hash}
            self.events.append(block_event(kind, about, self._at, chain_id, **fields))
        return self

    def refund_delayed(self) -> Self:
        """The withdraw was taken and is queued by the delay rule: another transaction pays."""
        self._wait(_STEP)
        delayed_id = synthetic_hash(f"delayed refund {self.transfer_id}")
        self._add_on_source("refund.delayed", delayed_id=delayed_id, tx_hash=self._refund_tx_hash)
        self._refund_tx_hash = synthetic_hash(f"paid refund {self.transfer_id}")
        return self

    def refund_completed(self) -> Self:
        """The withdraw is final and paid."""
        self._wait(time_to_depth(self.details.src_chain_id, block_delays()[self.details.src_chain_id]))
        return self._add_on_source("refund.completed", tx_hash=self._refund_tx_hash)

    def _what_is_sent(self) -> dict[str, object]:
        address = checksum_address(self.details.sender)
        return {
            "kind": self.details.kind.value,
            "src_chain_id": self.details.src_chain_id,
            "dst_chain_id": self.details.dst_chain_id,
            "symbol": self.details.symbol,
            "amount": str(self.details.amount),
            "sender": address,
            "receiver": address,
            "src_tx_hash": self._src_tx_hash,
        }

    def _wait(self, time: timedelta) -> None:
        if self.events:
            self._at += time

    def _add(self, kind: str, which: str = "", /, **fields: object) -> Self:
        about = f"{self.transfer_id}:{which}" if which else self.transfer_id
        self.events.append(event(kind, about, self._at, transfer_id=self.transfer_id, **fields))
        return self

    def _add_on_source(self, kind: str, /, **fields: object) -> Self:
        return self._add_in_block(kind, self.details.src_chain_id, fields)

    def _add_on_destination(self, kind: str, /, **fields: object) -> Self:
        return self._add_in_block(kind, self.details.dst_chain_id, fields)

    def _add_in_block(self, kind: str, chain_id: int, fields: dict[str, object]) -> Self:
        self.events.append(
            block_event(kind, self.transfer_id, self._at, chain_id, transfer_id=self.transfer_id, **fields)
        )
        return self


def nonce_at(at: datetime) -> int:
    """The nonce that wallets take: the time in milliseconds."""
    return int(at.timestamp()) * 1000 + at.microsecond // 1000


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


VALIDATOR_KEYS: Final = tuple(keccak256(f"sandbox validator {number}".encode()) for number in range(1, 6))
"""Private keys, in falling order of the power that the network document gives their addresses."""

UNDER_QUORUM: Final = 2
QUORUM: Final = 3
"""How many of the most powerful validators reach two thirds of the power, and how many do not."""


def refund_request(transfer_id: str, details: SendDetails) -> RefundRequest:
    """The request that refunds all of a send to its sender."""
    pool, src_chain_id = details.kind is SendKind.POOL, ChainId(details.src_chain_id)
    ref_id = bytes.fromhex(transfer_id.removeprefix("0x"))
    return RefundRequest(
        kind=details.kind,
        receiver=details.sender,
        token=details.token,
        amount=details.amount,
        ref_id=ref_id,
        chain_id=src_chain_id if pool else None,
        seqnum=int.from_bytes(keccak256(ref_id)[:4], "big") if pool else None,
        ref_chain_id=None if pool else src_chain_id,
    )


def with_evidence(transfer: TransferBuilder, signatures: int) -> TransferBuilder:
    """Add the refund request of a transfer, and the signatures of the most powerful validators."""
    sent = transfer.details
    wd_onchain = encode_request(refund_request(transfer.transfer_id, sent))
    digest = signing_digest(sent.kind, ChainId(sent.src_chain_id), sent.contract, wd_onchain)
    transfer.refund_prepared(wd_onchain)
    for key in VALIDATOR_KEYS[:signatures]:
        transfer.refund_signed(sign_digest(digest, key))
    return transfer
