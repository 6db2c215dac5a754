"""The shape of each event type on the wire: one marshmallow schema a type."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from marshmallow import EXCLUDE, Schema, ValidationError, fields, validate, validates_schema

from app.json_documents import Account, Amount, Signer, Text, Time, WholeNumber
from app.transfers.event_types import EventType
from app.values.amounts import is_uint256
from app.values.codes import SendKind, XferStatus
from app.values.identifiers import MAX_CHAIN_ID, MAX_UINT64
from app.values.wire_values import parse_transfer_id, parse_tx_hash

MAX_ID = 256
"""Characters of an event id: two hashes of 32 bytes, a chain, a log index and a type need up to 171."""

MAX_BLOCK = 2**63 - 1
MAX_SYMBOL = 64
MAX_REQUEST_BYTES = 4096
MAX_SUBJECT = 96
"""Characters of what an event is about: a route of two chain ids and a symbol has up to 92."""


class TransferId(fields.Field[bytes]):
    """32 bytes in hex, with or without 0x, in any case."""

    default_error_messages = {"invalid": "must be 32 bytes in hex, with or without 0x"}

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> bytes:
        try:
            return parse_transfer_id(value)
        except ValueError:
            raise self.make_error("invalid") from None


class TxHash(fields.Field[str]):
    """A transaction or block hash. 32 bytes in hex are kept in lower case with 0x.

    Not every chain is an EVM: other hashes are letters and digits, which is also all that may
    go into a link.
    """

    default_error_messages = {"invalid": "must be a hash: 32 bytes in hex, or up to 128 letters and digits"}

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        try:
            return parse_tx_hash(value)
        except ValueError:
            raise self.make_error("invalid") from None


class Base64(fields.Field[bytes]):
    """Bytes in standard padded base64."""

    default_error_messages = {"invalid": "must be 1 to {most} bytes in standard base64 with padding"}

    def __init__(self, most: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.most = most

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> bytes:
        if not isinstance(value, str):
            raise self.make_error("invalid", most=self.most)
        try:
            decoded = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raise self.make_error("invalid", most=self.most) from None
        # Decoders agree on one spelling only: stray bits after the last byte are refused.
        if not 0 < len(decoded) <= self.most or base64.b64encode(decoded).decode() != value:
            raise self.make_error("invalid", most=self.most)
        return decoded


class Nonce(fields.Field[str]):
    """An integer or a string; kept as a string."""

    default_error_messages = {"invalid": "must be an integer or a string of 1 to 80 characters"}

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        text = str(value) if type(value) is int and is_uint256(abs(value)) else value
        if not isinstance(text, str) or not 1 <= len(text) <= 80 or "\x00" in text:
            raise self.make_error("invalid")
        return text


class Choice(fields.Field[Any]):
    """One value of an enum."""

    default_error_messages = {"invalid": "must be one of {choices}"}

    def __init__(self, choices: Mapping[Any, Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.choices = choices

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        # JSON's true equals 1 and 1.0 equals 1 in Python; neither is meant.
        if isinstance(value, str | int) and not isinstance(value, bool) and value in self.choices:
            return self.choices[value]
        raise self.make_error("invalid", choices=", ".join(map(str, self.choices)))


def _chain_id(**kwargs: Any) -> WholeNumber:
    return WholeNumber(1, MAX_CHAIN_ID, **kwargs)


def _optional(field: fields.Field[Any]) -> fields.Field[Any]:
    field.required, field.allow_none = False, True
    return field


class EventSchema(Schema):
    """What every event has. Unknown fields are ignored."""

    class Meta:
        """Unknown fields are left out, and so are not compared."""

        unknown = EXCLUDE

    id = Text(MAX_ID, required=True)
    at = Time(required=True)


class _OfTransfer(EventSchema):
    transfer_id = TransferId(required=True)


class _InBlock(EventSchema):
    block = _optional(WholeNumber(0, MAX_BLOCK))
    block_hash = _optional(TxHash())
    log_index = _optional(WholeNumber(0, MAX_BLOCK))


class _OfTransferInBlock(_OfTransfer, _InBlock):
    pass


class _Placed(_OfTransferInBlock):
    chain_id = _optional(WholeNumber(0, MAX_UINT64))


class _OfChain(_InBlock):
    chain_id = _chain_id(required=True)


class _Submitted(_OfTransfer):
    src_chain_id = _chain_id(required=True)
    dst_chain_id = _optional(WholeNumber(0, MAX_UINT64))
    symbol = _optional(Text(MAX_SYMBOL))
    amount = _optional(Amount())
    sender = _optional(Account())
    receiver = _optional(Account())
    src_tx_hash = _optional(TxHash())


class _Sent(_OfTransferInBlock):
    kind = Choice({kind.value: kind for kind in SendKind}, required=True)
    src_chain_id = _chain_id(required=True)
    dst_chain_id = WholeNumber(0, MAX_UINT64, required=True)
    symbol = _optional(Text(MAX_SYMBOL))
    token = _optional(Account())
    amount = Amount(required=True)
    sender = Account(required=True)
    receiver = Account(required=True)
    nonce = _optional(Nonce())
    max_slippage = _optional(WholeNumber(0, 2**32 - 1))
    src_tx_hash = TxHash(required=True)
    contract = _optional(Account())


class _Failed(_Placed):
    reason = _optional(Text(1024, least=0))


class _NetworkStatus(_OfTransfer):
    xfer_status = Choice({int(s): s for s in XferStatus if s}, required=True)


class _Delayed(_Placed):
    dst_tx_hash = _optional(TxHash())
    delayed_id = _optional(TxHash())


class _Released(_Placed):
    dst_tx_hash = TxHash(required=True)
    amount = _optional(Amount())


class _Prepared(_OfTransfer):
    wd_onchain = Base64(MAX_REQUEST_BYTES, required=True)


class _Signed(_OfTransfer):
    signature = Base64(MAX_REQUEST_BYTES, required=True)


class _RefundByTransaction(_Placed):
    tx_hash = TxHash(required=True)


class _RefundDelayed(_Placed):
    delayed_id = TxHash(required=True)
    tx_hash = _optional(TxHash())


class _RefundCompleted(_Placed):
    tx_hash = _optional(TxHash())


class _Liquidity(_OfChain):
    symbol = Text(MAX_SYMBOL, required=True)
    amount = Amount(required=True)


class _LiquidityWithdrawn(_Liquidity):
    withdraw_id = _optional(TransferId())


class _WithdrawDone(_OfChain):
    withdraw_id = TransferId(required=True)
    ref_id = _optional(TransferId())


class _FeeUpdated(EventSchema):
    symbol = Text(MAX_SYMBOL, required=True)
    src_chain_id = _chain_id(required=True)
    dst_chain_id = _chain_id(required=True)
    base_fee = Amount(required=True)


class _Validators(_OfChain):
    signers = fields.List(Signer(), required=True)
    powers = fields.List(Amount(), required=True)

    @validates_schema
    def _possible(self, data: dict[str, Any], **_kwargs: Any) -> None:
        if len(data["signers"]) != len(data["powers"]):
            raise ValidationError("must have as many entries as signers", "powers")
        if len(set(data["signers"])) != len(data["signers"]):
            raise ValidationError("must not name a signer twice", "signers")


class _Head(_OfChain):
    block = WholeNumber(0, MAX_BLOCK, required=True)


class _Reorged(EventSchema):
    chain_id = _chain_id(required=True)
    from_block = WholeNumber(0, MAX_BLOCK, required=True)


class _Retracted(EventSchema):
    targets = fields.List(Text(MAX_ID), required=True, validate=validate.Length(1, 10_000))
    subjects = _optional(fields.List(Text(MAX_SUBJECT)))
    reason = Text(1024, required=True)

    @validates_schema
    def _told_apart(self, data: dict[str, Any], **_kwargs: Any) -> None:
        subjects = data.get("subjects")
        if subjects is not None and len(subjects) != len(data["targets"]):
            raise ValidationError("must have as many entries as targets", "subjects")


_T = EventType
SCHEMAS: dict[EventType, Schema] = {
    _T.TRANSFER_SUBMITTED: _Submitted(),
    _T.TRANSFER_SENT: _Sent(),
    _T.TRANSFER_CONFIRMED: _Placed(),
    _T.TRANSFER_FAILED: _Failed(),
    _T.NETWORK_STATUS: _NetworkStatus(),
    _T.TRANSFER_DELAYED: _Delayed(),
    _T.TRANSFER_RELEASED: _Released(),
    _T.REFUND_REQUESTED: _OfTransfer(),
    _T.REFUND_PREPARED: _Prepared(),
    _T.REFUND_SIGNED: _Signed(),
    _T.REFUND_SUBMITTED: _RefundByTransaction(),
    _T.REFUND_FAILED: _RefundByTransaction(),
    _T.REFUND_DELAYED: _RefundDelayed(),
    _T.REFUND_COMPLETED: _RefundCompleted(),
    _T.LIQUIDITY_ADDED: _Liquidity(),
    _T.LIQUIDITY_WITHDRAWN: _LiquidityWithdrawn(),
    _T.WITHDRAW_DONE: _WithdrawDone(),
    _T.FEE_UPDATED: _FeeUpdated(),
    _T.VALIDATORS_UPDATED: _Validators(),
    _T.CHAIN_HEAD: _Head(),
    _T.CHAIN_REORGED: _Reorged(),
}
"""What reporters may send: every event type but the operators' own."""

OPERATOR_SCHEMAS = SCHEMAS | {_T.EVENTS_RETRACTED: _Retracted()}
"""What an operator may take from an exported log."""
