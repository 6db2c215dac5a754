"""The public shapes of estimates and of their explanations. Amounts and terms are strings."""

from __future__ import annotations

from typing import Any, Final

from marshmallow import ValidationError, fields
from msgspec import structs

from app.estimates.rules.explanation import CHECK_NAMES, CheckOutcome
from app.estimates.rules.sending import SendQuote
from app.http.schemas import (
    AmountString,
    Answer,
    BoundedText,
    Flag,
    Question,
    Rate,
    Shape,
    Transaction,
    Uint,
    describe,
    enumerated,
)
from app.values.codes import BridgeType, ErrCode, Reason
from app.values.times import rfc3339
from app.values.wire_values import (
    MAX_ADDRESS_CHARACTERS,
    MAX_SYMBOL_CHARACTERS,
    parse_nonce,
    sending_account,
)

_NULLABLE: Final[dict[str, Any]] = {"allow_none": True, "dump_default": None}


class EstimateQuery(Question):
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
    """The usual one: some clients leave the tolerance out (docs/interface/answers.md#compat-clients)."""

    slippage_tolerance = Uint(
        32,
        metadata=describe(
            "Tolerated slippage in parts per million: 3000 is 0.3 %. If omitted, it is 0, which is "
            "accepted. A value that is sent must be from 1 to 999999; otherwise a pool transfer gets code "
            "1012.",
            3000,
        ),
    )


_QUERIES: Final = {False: EstimateQuery(), True: CompatEstimateQuery()}


def estimate_query(compat_clients: bool) -> EstimateQuery:
    return _QUERIES[compat_clients]


class EstimateAnswer(Answer):
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


class Nonce(fields.String):
    """A number of 64 bits: a decimal string in the request, an ``int`` in Python."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        try:
            return parse_nonce(str(value))
        except ValueError as error:
            raise ValidationError(str(error)) from None


class SendingAccount(BoundedText):
    """Who sends or receives, as ``wire_values.sending_account`` reads it."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        account = super()._deserialize(value, attr, data, **kwargs)
        try:
            return sending_account(account)
        except ValueError as error:
            raise ValidationError(str(error)) from None


class SendQuery(EstimateQuery):
    """The estimate's parameters with `sender` in place of `usr_addr`, and what a transaction needs."""

    class Meta(EstimateQuery.Meta):
        """Options of this request."""

        exclude = ("usr_addr",)

    slippage_tolerance = Uint(
        32,
        metadata=describe(
            "Tolerated slippage in parts per million, an integer from 1 to 999999: 3000 is 0.3 %. A pool "
            "transfer needs it, a pegged one ignores it.",
            3000,
        ),
    )
    sender = SendingAccount(
        MAX_ADDRESS_CHARACTERS,
        required=True,
        metadata=describe(
            "Account that signs and sends the transaction. A refund is paid to it.",
            "0x58b529F9084D7eAA598EB3477Fe36064C5B7bbC1",
        ),
    )
    receiver = SendingAccount(
        MAX_ADDRESS_CHARACTERS,
        metadata=describe(
            "Account that is paid on the destination chain; the sender if omitted. Send it for a contract "
            "wallet, which may not exist there, and for an exchange, whose deposit address differs.",
            "0x58b529F9084D7eAA598EB3477Fe36064C5B7bbC1",
        ),
    )
    nonce = Nonce(
        metadata=describe(
            "Number up to 2^64-1, as a decimal string. The same request with the same nonce is the same "
            "transfer, which the contract takes once. If omitted, a random one.",
            "1764504000000",
            pattern="^[0-9]{1,20}$",
        )
    )
    native = Flag(
        metadata=describe(
            "true to send the source chain's own coin, where the token is the one that it is wrapped as."
        )
    )


class Approval(Shape):
    """What the contract must be allowed to take before the transaction is sent."""

    token = fields.String(
        metadata=describe("Token's contract.", "0xdAC17F958D2ee523a2206206994597C13D831ec7")
    )
    spender = fields.String(
        metadata=describe("Contract to allow it to.", "0x5427FEFA711Eff984124bFBB1AB6fbf5E3DA1820")
    )
    amount = AmountString(metadata=describe("Exactly the amount of the transfer.", "1000000000"))
    transaction = fields.Nested(
        Transaction, metadata=describe("The transaction that allows it. It is not needed twice.")
    )


class SendAnswer(EstimateAnswer):
    """The estimate, and the transaction that sends the transfer at its price."""

    transaction = fields.Nested(
        Transaction, **_NULLABLE, metadata=describe("Begins the transfer. null on an error.")
    )
    approval = fields.Nested(
        Approval, **_NULLABLE, metadata=describe("Sent first. null for native coin, and on an error.")
    )
    transfer_id = fields.String(
        **_NULLABLE,
        metadata=describe(
            "Id that the contract gives the transfer. null on an error.",
            "0x3b8a2f0e9c5f1d1c7e0a9f3d2b4c6a8e1f0d9c7b5a3e1f2d4c6b8a0e9f7d5c3b",
        ),
    )
    valid_until = fields.String(
        dump_default="",
        metadata=describe(
            "Until when the transaction can be sent at this price (RFC 3339): the base fee's maximum age, "
            "the end of a pinned one, at most a minute. Then request it again, with the same nonce.",
            "2026-11-30T12:01:00.000Z",
        ),
    )


def send_json(quote: SendQuote) -> dict[str, Any]:
    return structs.asdict(quote.estimate) | {
        "transaction": quote.transaction,
        "approval": quote.approval,
        "transfer_id": quote.transfer_id_text,
        "valid_until": quote.valid_until_text,
    }


class Moment(fields.String):
    """A time to the second; null where it is not known."""

    def _serialize(self, value: Any, attr: str | None, obj: Any, **kwargs: Any) -> Any:
        return None if value is None else rfc3339(value, "seconds")


_MODELS: Final = ("fixed", "stableswap", "pegged", "")
_SOURCES: Final = ("configured", "reported", "pinned", "")
_EXACT: Final = "An integer, or an exact fraction written `a/b`."


class TermInput(Shape):
    name = fields.String(
        metadata=describe("Its name: a term's, or that of what was asked or configured.", "amt")
    )
    value = fields.String(metadata=describe(_EXACT, "1000000"))


class ExplainedTerm(Shape):
    name = fields.String(metadata=describe("Its name.", "perc_fee"))
    formula = fields.String(
        metadata=describe("How it is worked out.", "eq_value_token_amt * ppm / 1000000, rounded up")
    )
    inputs = fields.List(fields.Nested(TermInput))
    value = fields.String(metadata=describe(_EXACT, "0"))
    unit = fields.String(
        attribute="unit.text",
        metadata=describe("What it is counted in.", "smallest units of USDT on BNB Chain"),
    )
    rounding = fields.String(
        attribute="direction", metadata=describe("How it is rounded.", "up", enum=["up", "down", "none"])
    )


class ExplainedLimit(Shape):
    name = fields.String(metadata=describe("Its name.", "inbound_limit"))
    formula = fields.String(
        metadata=describe(
            "What it says.", "amt is at most liquidity added - relayed - withdrawn of the source pool"
        )
    )
    value = fields.String(metadata=describe("The limit.", "5000000000000"))
    counted = fields.String(metadata=describe("What counts against it, this transfer included.", "1000000"))
    left = fields.String(
        attribute="headroom", metadata=describe("What is left; negative: it is broken.", "4999999000000")
    )
    unit = fields.String(
        attribute="unit.text", metadata=describe("Their unit.", "smallest units of USDT on Ethereum")
    )
    largest_amt = fields.String(
        allow_none=True,
        metadata=describe("The largest amount that this limit alone allows; null if any.", "5000000000000"),
    )
    binds = fields.Boolean(
        metadata=describe("Whether no upper limit is tighter; of a lower one, whether it is broken.", True)
    )


class ExplainedCheck(Shape):
    name = fields.String(
        attribute="check.public_name", metadata=describe("Its name.", "inbound_limit", enum=list(CHECK_NAMES))
    )
    outcome = fields.String(
        metadata=describe(
            "`not_reached`: an earlier check refused; `not_made`: it does not apply to this transfer.",
            "passed",
            enum=[outcome.value for outcome in CheckOutcome],
        )
    )


class ExplainedRefusal(Shape):
    code = fields.Integer(
        metadata=describe("ErrCode of the estimate.", 1005) | enumerated(code for code in ErrCode if code)
    )
    reason = fields.String(
        metadata=describe(
            "X-Gateway-Reason of the estimate.", "inbound_limit", enum=[each.value for each in Reason]
        )
    )
    msg = fields.String(
        metadata=describe("`msg` of the estimate.", "You can transfer up to 5000000 USDT at this moment")
    )
    check = fields.String(
        attribute="check.public_name",
        metadata=describe("The check that refused.", "inbound_limit", enum=list(CHECK_NAMES)),
    )
    largest_passing_amt = fields.String(
        allow_none=True,
        metadata=describe("The next smaller amount that passes, in source units.", "5000000000000"),
    )
    smallest_passing_amt = fields.String(
        allow_none=True, metadata=describe("The next larger amount that passes, in source units.")
    )
    largest_passing_tolerance = fields.Integer(
        allow_none=True, metadata=describe("The largest slippage_tolerance that passes with this amount.")
    )


class PassingAmounts(Shape):
    least_amt = fields.String(metadata=describe("The smallest.", "607261"))
    most_amt = fields.String(metadata=describe("The largest.", "5000000000000"))


class ExplainedAnswer(Answer):
    """`err` is null also for a refusal, which is explained."""

    refusal = fields.Nested(
        ExplainedRefusal,
        attribute="explanation.refusal",
        **_NULLABLE,
        metadata=describe("Why there is no estimate; null if there is one."),
    )
    bridge_type = fields.Integer(
        attribute="explanation.bridge_type",
        dump_default=0,
        metadata=describe("BridgeType; 0 where no way is known.", 1) | enumerated(BridgeType),
    )
    rate_model = fields.String(
        attribute="explanation.rate_model",
        dump_default="",
        metadata=describe("Where the rate is from; empty if no way is known.", "fixed", enum=list(_MODELS)),
    )
    base_fee_source = fields.String(
        attribute="explanation.base_fee_source",
        dump_default="",
        metadata=describe(
            "Where the base fee is from: the configuration, the event feed, or an operator who set it for a "
            "time; empty where it is not known.",
            "reported",
            enum=list(_SOURCES),
        ),
    )
    base_fee_since = Moment(
        attribute="explanation.base_fee_since",
        **_NULLABLE,
        metadata=describe(
            "Since when it has this value (RFC 3339); null if unknown.", "2026-11-21T12:00:00Z"
        ),
    )
    terms = fields.List(
        fields.Nested(ExplainedTerm),
        attribute="explanation.terms",
        dump_default=list,
        metadata=describe("Every number of the estimate, as far as it can be worked out, in this order."),
    )
    limits = fields.List(
        fields.Nested(ExplainedLimit),
        attribute="explanation.limits",
        dump_default=list,
        metadata=describe("Every limit that applies, also those that are not reached."),
    )
    checks = fields.List(
        fields.Nested(ExplainedCheck),
        attribute="explanation.public_checks",
        dump_default=list,
        metadata=describe("Every check in the order in which they are made."),
    )
    passing = fields.Nested(
        PassingAmounts,
        attribute="explanation.passing",
        **_NULLABLE,
        metadata=describe("The amounts that pass now, whatever was asked for; null if none."),
    )
    config_version = fields.Integer(
        dump_default=0,
        metadata=describe("A number that grows with each change of the configuration.", 118),
    )
    config_changed_at = Moment(
        **_NULLABLE, metadata=describe("When it last changed (RFC 3339).", "2026-11-21T09:30:00Z")
    )
    facts_age_seconds = fields.Float(
        attribute="explanation.facts_age_seconds",
        **_NULLABLE,
        metadata=describe(
            "How long ago the pools' balances and the reported fee were read; null if they do not count.", 0.4
        ),
    )
