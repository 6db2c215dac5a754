"""The public shapes: every query string, body and answer. The OpenAPI document is made from them.

``dump_default`` is a field's zero value. An error is the schema dumped with nothing but ``err``, so it has
every field (docs/interface.md#json-envelope).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Any, Final

from marshmallow import EXCLUDE, Schema, fields, post_load

from app.api.fields import AmountString, BoundedText, Flag, Number, Rate, TransferIdHex, TxHash, Uint
from app.values.codes import BridgeType, ErrCode, TransferHistoryStatus, XferStatus
from app.values.wire_values import MAX_ADDRESS_CHARACTERS, MAX_SYMBOL_CHARACTERS

TRANSFER_ID_PATTERN: Final = "^(0[xX])?[0-9a-fA-F]{64}$"
TX_HASH_PATTERN: Final = "^[0-9A-Za-z_-]{1,128}$"


def describe(description: str, example: Any = None, **more: Any) -> dict[str, Any]:
    """What the OpenAPI document says about a field."""
    return {"description": description} | ({} if example is None else {"example": example}) | more


class Question(Schema):
    """What clients send. Unknown fields are ignored."""

    class Meta:
        """Options of every question."""

        unknown = EXCLUDE


class EstimateQuery(Question):
    """Parameters of an estimate."""

    src_chain_id = Uint(
        32, required=True, metadata=describe("Source chain id, from the transfer configs.", 1)
    )
    dst_chain_id = Uint(
        32, required=True, metadata=describe("Destination chain id, from the transfer configs.", 56)
    )
    token_symbol = BoundedText(
        MAX_SYMBOL_CHARACTERS,
        required=True,
        metadata=describe("Token symbol, from the transfer configs.", "USDT"),
    )
    amt = AmountString(
        required=True,
        metadata=describe(
            "Amount in the source token's smallest unit: 1,000 USDT with 6 decimals are 1000000000. "
            "Digits only, up to 2^256-1.",
            "1000000000",
            pattern="^[0-9]{1,78}$",
        ),
    )
    usr_addr = BoundedText(
        MAX_ADDRESS_CHARACTERS,
        metadata=describe("The user's wallet address. Any text; letter case does not matter."),
    )
    slippage_tolerance = Uint(
        32,
        required=True,
        metadata=describe(
            "Tolerated slippage in parts per million, an integer from 1 to 999999: 3000 is 0.3 %. "
            "Outside this range, a pool transfer gets code 1012; a pegged transfer ignores it.",
            3000,
        ),
    )
    is_pegged = Flag(
        metadata=describe(
            "true for a transfer of a pegged token. If omitted, the pegged pair configs decide. "
            "Also written 1, 0, t or f, in any case.",
        )
    )


class CompatEstimateQuery(EstimateQuery):
    """The usual one: some clients leave the tolerance out (docs/interface.md#compat-clients)."""

    slippage_tolerance = Uint(
        32,
        metadata=describe(
            "Tolerated slippage in parts per million: 3000 is 0.3 %. If omitted, it is 0, which is "
            "accepted. A value that is sent must be from 1 to 999999; otherwise a pool transfer gets code "
            "1012.",
            3000,
        ),
    )

    @post_load
    def _default_to_zero(self, values: dict[str, Any], **_: Any) -> dict[str, Any]:
        left_out = "slippage_tolerance" not in values
        return {"slippage_tolerance": 0, "tolerance_left_out": left_out} | values


class LatencyQuery(Question):
    """Parameters of a latency question."""

    src_chain_id = Uint(64, required=True, metadata=describe("Source chain id.", 1))
    dst_chain_id = Uint(64, required=True, metadata=describe("Destination chain id.", 56))


class StatusBody(Question):
    """Body of a status question."""

    transfer_id = TransferIdHex(
        required=True,
        metadata=describe(
            "The transfer's id: 32 bytes in hex, with or without 0x, in any case.",
            "0x77d7e231b08120217969ded3ff1ed2b40c0028ca1e239b225f535c57808a23f6",
            pattern=TRANSFER_ID_PATTERN,
        ),
    )


class TransactionBody(Question):
    """Body of a status question that names the transaction of the send (docs/interface.md#by-transaction)."""

    tx_hash = TxHash(
        required=True,
        metadata=describe(
            "Transaction of the send. If it sent several transfers, the first one is returned.",
            "0x5817041ff87994234a74edbff7f25afb659a5519c1ce0b90b7d886aca67eaccc",
            pattern=TX_HASH_PATTERN,
        ),
    )
    src_chain_id = Uint(32, required=True, metadata=describe("The chain of the transaction.", 1))


class Shape(Schema):
    """Any object in an answer. Clients must expect fields that are added later, so none are ruled out."""

    class Meta:
        """Options of every object in an answer."""

        unknown = EXCLUDE


def enumerated(values: Iterable[IntEnum]) -> dict[str, Any]:
    """An enum's numbers and, for generated clients, its names."""
    members = list(values)
    return {
        "enum": [value.value for value in members],
        "x-enum-varnames": [value.name for value in members],
    }


class Err(Shape):
    """Why there is no answer."""

    code = fields.Integer(
        required=True,
        metadata=describe("ErrCode.", 500) | enumerated(code for code in ErrCode if code),
    )
    msg = fields.String(
        required=True,
        metadata=describe("For people: what is wrong, and what to send instead.", "amount should > 0"),
    )


class Answer(Shape):
    """What every answer has."""

    err = fields.Nested(
        Err, allow_none=True, dump_default=None, metadata=describe("null when the call succeeded.")
    )


class PlainAnswer(Answer):
    """Nothing but ``err``: the answer to a path that does not exist."""


class WatchedChainShape(Shape):
    """How far a chain is read that the gateway reads itself."""

    chain_id = fields.Integer(metadata=describe("The chain.", 1))
    state = fields.String(
        metadata=describe(
            "`reading`; `standing`: its newest block is old; `not_read`: no watcher reads it; `stopped`: an "
            "operator has to resume it.",
            "reading",
        )
    )
    head = fields.Integer(allow_none=True, metadata=describe("Newest block that a node reported.", 21000000))
    head_at = fields.DateTime("iso", allow_none=True, metadata=describe("Time of that block."))
    read_to = fields.Integer(allow_none=True, metadata=describe("Last block read.", 20999999))
    backfill_left = fields.Integer(allow_none=True, metadata=describe("Older blocks still to be read.", 0))
    reread_to = fields.Integer(
        allow_none=True,
        metadata=describe("Last block up to which every final block was read a second time.", 20999900),
    )
    reread_at = fields.DateTime("iso", allow_none=True, metadata=describe("When that block was reached."))
    proven_to = fields.Integer(
        allow_none=True,
        metadata=describe(
            "Last block up to which two nodes agreed, or the logs match the blocks' headers.", 20999900
        ),
    )
    proven_at = fields.DateTime("iso", allow_none=True, metadata=describe("When that block was reached."))


class StaleFeedShape(Shape):
    """A chain of which nothing new was told for longer than its operator allows."""

    chain_id = fields.Integer(metadata=describe("The chain.", 1))
    newest_at = fields.DateTime(
        "iso", allow_none=True, metadata=describe("Time of its newest accepted event. null: there is none.")
    )
    max_age_seconds = fields.Integer(metadata=describe("How old that may be.", 600))


class ReadyAnswer(Answer):
    """Whether the gateway can serve, how far it has read watched chains, and which feeds are stale."""

    watching = fields.List(
        fields.Nested(WatchedChainShape),
        dump_default=[],
        metadata=describe("Chains configured to be watched. Their state never causes a 503."),
    )
    stale_feeds = fields.List(
        fields.Nested(StaleFeedShape),
        dump_default=[],
        metadata=describe(
            "Chains in service whose newest event is older than FEED_MAX_AGE_SECONDS allows. Where "
            "FEED_STALE is fail, one is enough for a 503."
        ),
    )


class VersionAnswer(Answer):
    """Which version of the gateway answers."""

    version = fields.String(
        dump_default="", metadata=describe("The release, by Semantic Versioning.", "0.1.0")
    )
    commit = fields.String(
        dump_default=None,
        allow_none=True,
        metadata=describe(
            "The commit that it was built from; null where the build did not say.", "3f9c1d2e4b5a"
        ),
    )
    schema = fields.String(
        dump_default="",
        metadata=describe("The revision of the database's schema that this release is made for.", "0031"),
    )
    api_versions = fields.List(
        fields.String(),
        dump_default=[],
        metadata=describe("Versions of the operations that are served here, as in their paths.", ["v2"]),
    )


class EstimateAnswer(Answer):
    """What the transfer would bring. Amounts are strings in smallest units."""

    eq_value_token_amt = AmountString(
        dump_default="",
        metadata=describe("The amount sent, in destination units, before fees.", "1000001000000000000000"),
    )
    bridge_rate = Rate(
        dump_default=0,
        metadata=describe("Rate between the chains, for display; it is not used in calculations.", 1.000001),
    )
    perc_fee = AmountString(dump_default="", metadata=describe("Protocol fee, in destination units.", "0"))
    base_fee = AmountString(
        dump_default="",
        metadata=describe("Fee for the destination chain's gas, in destination units.", "605437528092011966"),
    )
    slippage_tolerance = fields.Integer(
        dump_default=0, metadata=describe("Echo of the request's slippage_tolerance.", 3000)
    )
    max_slippage = fields.Integer(
        dump_default=0,
        metadata=describe(
            "Parts per million, for the on-chain send of a pool transfer; 0 for a pegged one.", 3604
        ),
    )
    estimated_receive_amt = AmountString(
        dump_default="",
        metadata=describe(
            "eq_value_token_amt - perc_fee - base_fee, in destination units.", "999395562471907988034"
        ),
    )
    drop_gas_amt = AmountString(
        dump_default="", metadata=describe("Native gas token dropped on the destination chain.", "0")
    )


# What a status has, histories and look-ups have too.
STATUS: Final = fields.Integer(
    dump_default=0, metadata=describe("TransferHistoryStatus.", 5) | enumerated(TransferHistoryStatus)
)
WD_ONCHAIN: Final = fields.String(
    allow_none=True,
    dump_default=None,
    metadata=describe("Serialized on-chain withdraw request, base64. Filled while status is 8."),
)
SORTED_SIGS: Final = fields.List(
    fields.String(),
    dump_default=list,
    metadata=describe("Signatures over wd_onchain, base64, sorted by signer. Filled while status is 8.", []),
)
SIGNERS: Final = fields.List(
    fields.String(),
    dump_default=list,
    metadata=describe(
        "The source chain's whole validator set, base64 of 20 bytes. Filled while status is 8.", []
    ),
)
POWERS: Final = fields.List(
    fields.String(),
    dump_default=list,
    metadata=describe(
        "Each signer's power, base64 of a big-endian integer without leading zeros; 0 is one zero byte. "
        "Filled while status is 8.",
        [],
    ),
)
REFUND_REASON: Final = fields.Integer(
    dump_default=0,
    metadata=describe("XferStatus, while status is 6; otherwise 0.", 0) | enumerated(XferStatus),
)
BLOCK_DELAY: Final = fields.Integer(
    dump_default=0, metadata=describe("Blocks that the transfer waits on the source chain.", 30)
)
SRC_BLOCK_TX_LINK: Final = fields.String(
    dump_default="",
    metadata=describe(
        "Link to the source transaction in an explorer.", "https://ftmscan.com/tx/0x5817041ff879…"
    ),
)
DST_BLOCK_TX_LINK: Final = fields.String(
    dump_default="",
    metadata=describe(
        "Link to the destination transaction in an explorer.", "https://arbiscan.io/tx/0xe73db1fff740…"
    ),
)
BRIDGE_TYPE: Final = fields.Integer(
    dump_default=0, metadata=describe("BridgeType.", 1) | enumerated(BridgeType)
)


class StatusAnswer(Answer):
    """Where a transfer is, and the evidence for a refund where one is to be confirmed."""

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
    """The usual one: some clients need the type of the bridge (docs/interface.md#compat-clients)."""

    bridge_type = BRIDGE_TYPE


class LatencyAnswer(Answer):
    """How long transfers took."""

    median_transfer_latency_in_second = Number(
        dump_default=0,
        metadata=describe("Median of the transfers released in the last 7 days, in seconds.", 612.5),
    )
