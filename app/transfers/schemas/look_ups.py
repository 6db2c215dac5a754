"""The public shapes of histories and look-ups, and what fills them.

Integers of 64 bits are strings in their answers: many readers of JSON end at 53 bits.
"""

from __future__ import annotations

from itertools import chain
from typing import Any, Final

from marshmallow import ValidationError, fields, post_load, validate
from msgspec import to_builtins

from app.http.schemas import (
    TX_HASH_PATTERN,
    Answer,
    PageToken,
    Question,
    Ready,
    Shape,
    TxHash,
    Uint,
    describe,
)
from app.network.schemas import Chain, Token
from app.transfers.rules.certainty import Certainty, Level, ReportedBy
from app.transfers.schemas.status_answers import (
    BLOCK_DELAY,
    BRIDGE_TYPE,
    DST_BLOCK_TX_LINK,
    ID_EXAMPLE,
    POWERS,
    REFUND_REASON,
    SIGNERS,
    SORTED_SIGS,
    SRC_BLOCK_TX_LINK,
    STATUS,
    WD_ONCHAIN,
    ProgressFields,
    progress_json,
)
from app.transfers.services.lookups import (
    MAX_PAGE,
    FoundTransfers,
    HistoryPage,
    Leg,
    ListedTransfer,
    TransferKnowledge,
)
from app.transfers.services.status import TransferStatus
from app.values.times import rfc3339
from app.values.wire_values import MAX_ACCOUNTS, MAX_ADDRESS_CHARACTERS, MISSING, parse_accounts

_ACCOUNT_PATTERN: Final = r"^[^\u0000]*[^\u0000 \t\n\r\f\v,][^\u0000]*$"
MAX_LANGUAGE: Final = 35
"""Characters of the longest tags that registries have."""

_MILLISECONDS: Final = "milliseconds since 1970."


class HistoryQuery(Question):
    acct_addr_list = fields.List(
        fields.String(metadata={"maxLength": MAX_ADDRESS_CHARACTERS, "pattern": _ACCOUNT_PATTERN}),
        data_key="acct_addr[]",
        required=True,
        metadata=describe(
            f"Up to {MAX_ACCOUNTS} accounts, repeated or with commas. `acct_addr` and `addr` are accepted, "
            "too.",
            ["0x1619DE6B6B20eD217a58d00f37B9d47C7663feca"],
            minItems=1,
            maxItems=MAX_ACCOUNTS,
        ),
    )
    page_size = Uint(
        64,
        load_default=0,
        metadata=describe(
            f"More than {MAX_PAGE} count as {MAX_PAGE}. Omitted or 0, the list is empty.",
            10,
        ),
    )
    next_page_token = PageToken(
        load_default=lambda: None,  # a default that the OpenAPI document does not show
        metadata=describe(
            "That of the page before. Omitted or empty, the newest page.",
            pattern="^[0-9]{0,19}$",
        ),
    )


class AnyHistoryQuery(HistoryQuery):
    """With every spelling of accounts that clients use."""

    acct_addr_list = fields.List(fields.String(), data_key="acct_addr[]")
    acct_addr = fields.List(fields.String())
    addr = fields.String()

    @post_load
    def _accounts(self, values: dict[str, Any], **_: Any) -> dict[str, Any]:
        lists = (values.pop(name, ()) for name in ("acct_addr_list", "acct_addr"))
        try:
            return values | {"accounts": parse_accounts(chain.from_iterable(lists), values.pop("addr", ""))}
        except ValueError as error:
            raise ValidationError({"acct_addr": [str(error)]}) from None


class TransferInfo(Shape):
    chain = fields.Nested(Chain, metadata=describe("A `ChainConfig` up to `suggested_gas_cost`."))
    token = fields.Nested(Token, metadata=describe("As in the transfer configs."))
    amount = fields.String(metadata=describe("In the token's smallest unit.", "1000000"))


class HistoryTransfer(Shape):
    transfer_id = fields.String(metadata=describe("The transfer's id.", ID_EXAMPLE))
    src_send_info = fields.Nested(TransferInfo, metadata=describe("What was sent."))
    dst_received_info = fields.Nested(TransferInfo, metadata=describe("What was paid out."))
    ts = fields.String(metadata=describe(f"When it was announced or sent: {_MILLISECONDS}", "1794153600000"))
    src_block_tx_link = SRC_BLOCK_TX_LINK
    dst_block_tx_link = DST_BLOCK_TX_LINK
    status = STATUS
    refund_reason = REFUND_REASON
    sender = fields.String(metadata=describe("Account."))
    receiver = fields.String(metadata=describe("Account."))
    update_ts = fields.String(
        metadata=describe(f"When its newest event happened: {_MILLISECONDS}", "1794153660000")
    )
    bridge_type = BRIDGE_TYPE
    dst_deadline = fields.String(metadata=describe('Always "0".', "0"))


class HistoryAnswer(Answer):
    history = Ready(fields.Nested(HistoryTransfer), dump_default=list)
    next_page_token = fields.String(
        dump_default="", metadata=describe("For the next page; empty after an empty page.", "1794153600000")
    )
    current_size = fields.String(
        dump_default="0", metadata=describe("Number of transfers on this page.", "10")
    )


class FindQuery(Question):
    key = TxHash(
        required=True,
        metadata=describe(
            "A transfer's id, or the hash of its send, payout or refund. `transfer_id` means the same.",
            ID_EXAMPLE,
            pattern=TX_HASH_PATTERN,
        ),
    )
    chain_id = Uint(
        32,
        metadata=describe("Only transfers from or to this chain."),
    )
    lang = fields.String(
        validate=validate.Length(max=MAX_LANGUAGE, error=f"must have at most {MAX_LANGUAGE} characters"),
        metadata=describe(
            "A language such as `es`, for `words`.",
            "es",
            maxLength=MAX_LANGUAGE,
        ),
    )


class AnyFindQuery(FindQuery):
    """With the name that the key has elsewhere: clients send what they have as ``transfer_id``."""

    key = TxHash()
    transfer_id = TxHash()

    @post_load
    def _one_key(self, values: dict[str, Any], **_: Any) -> dict[str, Any]:
        otherwise = values.pop("transfer_id", None)
        if "key" not in values and otherwise is None:
            raise ValidationError({"key": [MISSING]})
        return {"key": otherwise} | values


class StatusCertainty(Shape):
    level = fields.String(
        metadata=describe(
            "`proven`, `reported` or `unknown`.",
            Level.PROVEN.value,
            enum=[level.value for level in Level],
        ),
    )
    event = fields.String(
        metadata=describe(
            "Type of the event, or empty.",
            "transfer.released",
        )
    )
    reported_by = fields.String(
        metadata=describe(
            "`gateway`, which read the chain, `reporter`, or empty.",
            ReportedBy.GATEWAY.value,
            enum=[who.value for who in ReportedBy] + [""],
        ),
    )
    chain_id = fields.Integer(allow_none=True, metadata=describe("Chain of the event.", 56))
    block = fields.Integer(allow_none=True, metadata=describe("Block of the event.", 45_000_000))
    as_of_block = fields.Integer(
        allow_none=True,
        metadata=describe(
            "Newest block of that chain, proven or reported.",
            45_000_100,
        ),
    )


class TransferWords(Shape):
    lang = fields.String(metadata=describe("Language.", "es"))
    headline = fields.String(metadata=describe("What happens.", "Pagada en BNB Chain"))
    now = fields.String(metadata=describe("Where the money is."))
    next = fields.String(metadata=describe("What happens next."))
    certainty = fields.String(metadata=describe("How sure the status is."))


class FoundTransfer(HistoryTransfer, ProgressFields):
    wd_onchain = WD_ONCHAIN
    sorted_sigs = SORTED_SIGS
    signers = SIGNERS
    powers = POWERS
    block_delay = BLOCK_DELAY
    certainty = fields.Nested(StatusCertainty, metadata=describe("How sure the status is."))
    words = fields.Nested(TransferWords, allow_none=True, metadata=describe("In words; null without `lang`."))


class ReadTo(Shape):
    block = fields.Integer(allow_none=True, metadata=describe("Highest block.", 21_000_000))
    at = fields.String(metadata=describe("Time of the newest event (RFC 3339).", "2026-11-21T12:00:00Z"))


class FindAnswer(Answer):
    state = fields.String(
        dump_default=TransferKnowledge.UNKNOWN.value,
        metadata=describe(
            "`known`, `unknown`, or `announced`: only a submission.",
            "known",
            enum=[state.value for state in TransferKnowledge],
        ),
    )
    transfers = Ready(fields.Nested(FoundTransfer), dump_default=list)
    read_to = fields.Dict(
        keys=fields.String(),
        values=fields.Nested(ReadTo),
        dump_default=dict,
        metadata=describe("By chain id: how far the chain was read."),
    )


def history_json(page: HistoryPage) -> dict[str, Any]:
    return {
        "history": [_history_transfer(transfer) for transfer in page.transfers],
        "next_page_token": page.next_page_token,
        "current_size": str(len(page.transfers)),
    }


def found_json(found: FoundTransfers) -> dict[str, Any]:
    return {
        "state": found.state.value,
        "transfers": [
            _history_transfer(each.listed)
            | _evidence_json(each.listed.status)
            | progress_json(each.listed.status)
            | {
                "certainty": _certainty_json(each.certainty),
                "words": to_builtins(each.words) if each.words else None,
            }
            for each in found.transfers
        ],
        "read_to": {
            str(chain_id): {"block": read.block, "at": rfc3339(read.at)}
            for chain_id, read in sorted(found.read_to.items())
        },
    }


def _history_transfer(transfer: ListedTransfer) -> dict[str, Any]:
    status = transfer.status
    return {
        "transfer_id": f"0x{transfer.transfer_id.hex()}",
        "src_send_info": _leg(transfer.sent),
        "dst_received_info": _leg(transfer.received),
        "ts": str(transfer.began_ms),
        "src_block_tx_link": status.src_block_tx_link,
        "dst_block_tx_link": status.dst_block_tx_link,
        "status": status.status,
        "refund_reason": status.refund_reason,
        "sender": transfer.sender,
        "receiver": transfer.receiver,
        "update_ts": str(transfer.updated_ms),
        "bridge_type": status.bridge_type,
        "dst_deadline": "0",
    }


def _evidence_json(status: TransferStatus) -> dict[str, Any]:
    return {
        "wd_onchain": status.wd_onchain,
        "sorted_sigs": status.sorted_sigs,
        "signers": status.signers,
        "powers": status.powers,
        "block_delay": status.block_delay,
    }


def _certainty_json(certainty: Certainty) -> dict[str, Any]:
    return {
        "level": certainty.level.value,
        "event": certainty.event,
        "reported_by": certainty.reported_by.value if certainty.reported_by else "",
        "chain_id": certainty.chain_id,
        "block": certainty.block,
        "as_of_block": certainty.as_of_block,
    }


def _leg(leg: Leg) -> dict[str, Any]:
    return {"chain": leg.chain, "token": leg.token, "amount": str(leg.amount)}
