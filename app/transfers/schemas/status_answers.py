"""The public shapes of statuses, of one transfer and of several, of their changes, and what fills them."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from marshmallow import ValidationError, fields, pre_load, validate

from app.http.headers import AS_OF, FINAL_BY, NEXT_ACTOR, NEXT_POLL, TERMINAL, meant_headers
from app.http.schemas import (
    TRANSFER_ID_PATTERN,
    TX_HASH_PATTERN,
    Answer,
    Question,
    Ready,
    Shape,
    TransferIdHex,
    TxHash,
    Uint,
    describe,
    enumerated,
)
from app.transfers.rules.progress import LONGEST, FinalBy, NextActor
from app.transfers.rules.published_changes import STATUS_EVENT
from app.transfers.services.status import TransferStatus
from app.values.codes import BridgeType, TransferHistoryStatus, XferStatus
from app.values.errors import GatewayError
from app.values.identifiers import TransferId
from app.values.times import rfc3339
from app.values.wire_values import MAX_STATUSES, MISSING

ID_EXAMPLE: Final = "0x77d7e231b08120217969ded3ff1ed2b40c0028ca1e239b225f535c57808a23f6"
_IDS: Final = f"must be a list of 1 to {MAX_STATUSES} transfer ids"


class StatusBody(Question):
    transfer_id = TransferIdHex(
        required=True,
        metadata=describe(
            "The transfer's id: 64 hex digits, with or without 0x.",
            ID_EXAMPLE,
            pattern=TRANSFER_ID_PATTERN,
        ),
    )


class TransactionBody(Question):
    """Body of a status request that names the transaction of the send
    (docs/api/getTransferStatus.md#by-transaction).
    """

    tx_hash = TxHash(
        required=True,
        metadata=describe(
            "Transaction of the send, in place of the id.",
            "0x5817041ff87994234a74edbff7f25afb659a5519c1ce0b90b7d886aca67eaccc",
            pattern=TX_HASH_PATTERN,
        ),
    )
    src_chain_id = Uint(32, required=True, metadata=describe("Chain of the transaction.", 1))


class AnyStatusQuery(Question):
    """The same in a query: an id, otherwise a transaction."""

    transfer_id = TransferIdHex()
    tx_hash = TxHash()
    src_chain_id = Uint(32)

    @pre_load
    def _one_of_both(self, values: dict[str, Any], **_: Any) -> dict[str, Any]:
        transaction = {"tx_hash", "src_chain_id"}
        by_id = "transfer_id" in values or transaction.isdisjoint(values)
        wanted = {"transfer_id"} if by_id else transaction
        if missing := wanted - values.keys():
            raise ValidationError({name: [MISSING] for name in sorted(missing)})
        return {name: values[name] for name in wanted}


# What a status has, histories and look-ups have too.
STATUS: Final = fields.Integer(
    dump_default=0, metadata=describe("TransferHistoryStatus.", 5) | enumerated(TransferHistoryStatus)
)
WD_ONCHAIN: Final = fields.String(
    allow_none=True,
    dump_default=None,
    metadata=describe("At 8, the withdraw request in base64."),
)
SORTED_SIGS: Final = fields.List(
    fields.String(),
    dump_default=list,
    metadata=describe("At 8, signatures over it in base64, by signer.", []),
)
SIGNERS: Final = fields.List(
    fields.String(),
    dump_default=list,
    metadata=describe("At 8, the whole validator set: base64 of 20 bytes each.", []),
)
POWERS: Final = fields.List(
    fields.String(),
    dump_default=list,
    metadata=describe(
        "At 8, the signers' powers: base64 of big-endian integers.",
        [],
    ),
)
REFUND_REASON: Final = fields.Integer(
    dump_default=0,
    metadata=describe("XferStatus at 6, otherwise 0.", 0) | enumerated(XferStatus),
)
BLOCK_DELAY: Final = fields.Integer(
    dump_default=0, metadata=describe("Blocks that the source chain waits.", 30)
)
SRC_BLOCK_TX_LINK: Final = fields.String(
    dump_default="",
    metadata=describe("Link to an explorer, or empty.", "https://ftmscan.com/tx/0x5817041ff879…"),
)
DST_BLOCK_TX_LINK: Final = fields.String(
    dump_default="",
    metadata=describe("Link to an explorer, or empty.", "https://arbiscan.io/tx/0xe73db1fff740…"),
)
BRIDGE_TYPE: Final = fields.Integer(
    dump_default=0, metadata=describe("BridgeType.", 1) | enumerated(BridgeType)
)


class StatusAnswer(Answer):
    status = STATUS
    wd_onchain = WD_ONCHAIN
    sorted_sigs = SORTED_SIGS
    signers = SIGNERS
    powers = POWERS
    refund_reason = REFUND_REASON
    block_delay = BLOCK_DELAY
    src_block_tx_link = SRC_BLOCK_TX_LINK
    dst_block_tx_link = DST_BLOCK_TX_LINK


class CompatStatusAnswer(StatusAnswer):
    """The usual one: some clients need the type of the bridge (docs/interface/answers.md#compat-clients)."""

    bridge_type = BRIDGE_TYPE


_STATUS_ANSWERS: Final = {False: StatusAnswer(), True: CompatStatusAnswer()}


def status_answer(compat_clients: bool) -> StatusAnswer:
    return _STATUS_ANSWERS[compat_clients]


class ProgressFields(Shape):
    """How far a transfer has come: the headers of a single status as fields."""

    terminal = fields.Boolean(
        dump_default=False,
        metadata=describe(
            "Whether it is over for good: at 2, 5 or 10, and final.",
            True,
        ),
    )
    final_by = fields.String(
        dump_default="",
        metadata=describe(
            "Why it is final: `block`, or `reported` without a block; otherwise empty.",
            FinalBy.BLOCK.value,
            enum=[why.value for why in FinalBy] + [""],
        ),
    )
    next_actor = fields.String(
        dump_default="",
        metadata=describe(
            "Who acts next: `network`, `user` or `nobody`.",
            NextActor.NOBODY.value,
            enum=[actor.value for actor in NextActor] + [""],
        ),
    )
    next_poll_seconds = fields.Integer(
        dump_default=0,
        metadata=describe("When to request it again; 0 if it is over.", 0, maximum=LONGEST),
    )
    as_of = fields.String(
        dump_default="",
        metadata=describe(
            "When the gateway accepted its newest event (RFC 3339), or empty.",
            "2026-11-21T12:00:00Z",
        ),
    )


class StatusChange(Shape):
    """What changed, in the order of ``published_changes.StatusChange.event``."""

    transfer_id = fields.String(
        metadata=describe("The transfer's id.", ID_EXAMPLE, pattern=TRANSFER_ID_PATTERN)
    )
    status = STATUS
    previous_status = fields.Integer(
        metadata=describe("The status before; 0 for an unknown transfer.", 4)
        | enumerated(TransferHistoryStatus)
    )
    refund_reason = REFUND_REASON
    seq = fields.Integer(metadata=describe("The position of the change in the gateway's event log.", 81_234))
    taken_back = fields.Boolean(
        metadata=describe(
            "True if the event behind `previous_status` no longer counts; otherwise left out.", False
        )
    )


class StatusChanged(Shape):
    """The body of a webhook, and the data of a stream's event. Other events have another ``type``."""

    type = fields.String(metadata=describe("Which event it is.", STATUS_EVENT, enum=[STATUS_EVENT]))
    timestamp = fields.String(
        metadata=describe(
            "When the gateway learned of the change.", "2026-11-21T12:00:00.000000Z", format="date-time"
        )
    )
    data = fields.Nested(StatusChange)


class StatusesBody(Question):
    transfer_ids = fields.List(
        TransferIdHex(metadata={"pattern": TRANSFER_ID_PATTERN}),
        required=True,
        validate=validate.Length(1, MAX_STATUSES, error=_IDS),
        error_messages={
            "invalid": _IDS,
            "required": MISSING,
        },
        metadata=describe(f"1 to {MAX_STATUSES} transfer ids.", [ID_EXAMPLE]),
    )


class OneStatus(CompatStatusAnswer, ProgressFields):
    transfer_id = fields.String(metadata=describe("The transfer's id.", ID_EXAMPLE))


class StatusesAnswer(Answer):
    """The status of each transfer, in the order requested."""

    statuses = Ready(fields.Nested(OneStatus), dump_default=list)


_ONE_STATUS: Final = OneStatus()


def statuses_json(
    transfer_ids: list[TransferId], statuses: list[TransferStatus | GatewayError]
) -> dict[str, Any]:
    """The statuses in the shape of :class:`StatusesAnswer`. An error that several have is written once."""
    errors = {status for status in statuses if isinstance(status, GatewayError)}
    refused = {error: _ONE_STATUS.dump(_refusal(error)) for error in errors}
    return {
        "statuses": [
            (refused[status] if isinstance(status, GatewayError) else _one_status(status))
            | {"transfer_id": f"0x{transfer_id.hex()}"}
            for transfer_id, status in zip(transfer_ids, statuses, strict=True)
        ]
    }


def _one_status(status: TransferStatus) -> dict[str, Any]:
    answer: dict[str, Any] = _ONE_STATUS.dump(status)
    return answer | progress_json(status)


def progress_json(status: TransferStatus) -> dict[str, Any]:
    progress = status.progress
    known = (
        {}
        if progress is None
        else {
            "terminal": progress.terminal,
            "final_by": "" if progress.final_by is None else progress.final_by.value,
            "next_actor": progress.next_actor.value,
            "next_poll_seconds": progress.next_poll_seconds,
        }
    )
    return known | {"as_of": "" if status.as_of is None else rfc3339(status.as_of, "seconds")}


def _refusal(error: GatewayError) -> dict[str, Any]:
    return {"err": {"code": error.code, "msg": error.msg}}


def progress_headers(status: TransferStatus) -> list[tuple[str, str]]:
    """Names and values of the headers of a single status (docs/interface/progress.md#progress)."""
    progress = status.progress
    headers: list[tuple[str, str]] = []
    if progress is not None:
        headers = [
            (TERMINAL, "true" if progress.terminal else "false"),
            (NEXT_ACTOR, progress.next_actor.value),
        ]
        if progress.final_by is not None:
            headers.append((FINAL_BY, progress.final_by.value))
        if progress.next_poll_seconds:
            headers.append((NEXT_POLL, str(progress.next_poll_seconds)))
    if status.as_of is not None:
        headers.append((AS_OF, _written(status.as_of)))
    return [*headers, *meant_headers(status.meant, status.meant_count)]


# Many answers in a row have the same time, and formatting it costs more than all else.
@lru_cache(maxsize=64)
def _written(at: datetime) -> str:
    return rfc3339(at, "seconds")
