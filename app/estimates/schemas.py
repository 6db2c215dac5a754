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
    src_chain_id = Uint(32, required=True, metadata=describe("Chain id, from the transfer configs.", 1))
    dst_chain_id = Uint(32, required=True, metadata=describe("Chain id, from the transfer configs.", 56))
    token_symbol = BoundedText(
        MAX_SYMBOL_CHARACTERS,
        required=True,
        metadata=describe("Symbol, from the transfer configs.", "USDT"),
    )
    amt = AmountString(
        required=True,
        metadata=describe(
            "Digits: the amount in the source token's smallest unit.",
            "1000000000",
            pattern="^[0-9]{1,78}$",
        ),
    )
    usr_addr = BoundedText(
        MAX_ADDRESS_CHARACTERS,
        metadata=describe("The user's account, in any letter case."),
    )
    slippage_tolerance = Uint(
        32,
        required=True,
        metadata=describe(
            "Parts per million, from 1 to 999999: 3000 is 0.3 %. A pegged transfer ignores it.",
            3000,
        ),
    )
    is_pegged = Flag(
        metadata=describe(
            "Whether the transfer is pegged. Omitted, the pegged pair configs decide.",
        )
    )


class CompatEstimateQuery(EstimateQuery):
    """The usual one: some clients leave the tolerance out (docs/interface/answers.md#compat-clients)."""

    slippage_tolerance = Uint(
        32,
        metadata=describe(
            "Parts per million, from 1 to 999999: 3000 is 0.3 %. Omitted, it is 0, which passes. A pegged "
            "transfer ignores it.",
            3000,
        ),
    )


_QUERIES: Final = {False: EstimateQuery(), True: CompatEstimateQuery()}


def estimate_query(compat_clients: bool) -> EstimateQuery:
    return _QUERIES[compat_clients]


class EstimateAnswer(Answer):
    eq_value_token_amt = AmountString(
        dump_default="",
        metadata=describe("The destination amount before fees.", "1000001000000000000000"),
    )
    bridge_rate = Rate(
        dump_default=0,
        metadata=describe("Rate, for display only.", 1.000001),
    )
    perc_fee = AmountString(dump_default="", metadata=describe("Protocol fee.", "0"))
    base_fee = AmountString(
        dump_default="",
        metadata=describe("Fixed fee, for gas on the destination chain.", "605437528092011966"),
    )
    slippage_tolerance = fields.Integer(dump_default=0, metadata=describe("That of the request.", 3000))
    max_slippage = fields.Integer(
        dump_default=0,
        metadata=describe("Parts per million, for the on-chain send; 0 if pegged.", 3604),
    )
    estimated_receive_amt = AmountString(
        dump_default="",
        metadata=describe("What arrives: eq_value_token_amt - perc_fee - base_fee.", "999395562471907988034"),
    )
    drop_gas_amt = AmountString(
        dump_default="", metadata=describe("Native coin for the receiver, as configured.", "0")
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
            "Parts per million, from 1 to 999999: 3000 is 0.3 %. A pool transfer needs it, a pegged one "
            "ignores it.",
            3000,
        ),
    )
    sender = SendingAccount(
        MAX_ADDRESS_CHARACTERS,
        required=True,
        metadata=describe(
            "Account that signs. A refund is paid to it.",
            "0x58b529F9084D7eAA598EB3477Fe36064C5B7bbC1",
        ),
    )
    receiver = SendingAccount(
        MAX_ADDRESS_CHARACTERS,
        metadata=describe(
            "Account that is paid. Omitted, the sender.",
            "0x58b529F9084D7eAA598EB3477Fe36064C5B7bbC1",
        ),
    )
    nonce = Nonce(
        metadata=describe(
            "Number up to 2^64-1. Omitted, a random one, which only `data` has.",
            "1764504000000",
            pattern="^[0-9]{1,20}$",
        )
    )
    native = Flag(metadata=describe("true sends the chain's own coin, where the token is its wrapped form."))


class Approval(Shape):
    """What the contract must be allowed to take before the transaction is sent."""

    token = fields.String(
        metadata=describe("Token's contract.", "0xdAC17F958D2ee523a2206206994597C13D831ec7")
    )
    spender = fields.String(
        metadata=describe("Contract that may take it.", "0x5427FEFA711Eff984124bFBB1AB6fbf5E3DA1820")
    )
    amount = AmountString(metadata=describe("The amount of the transfer.", "1000000000"))
    transaction = fields.Nested(Transaction, metadata=describe("The transaction that allows it."))


class SendAnswer(EstimateAnswer):
    """The estimate, and the transaction that sends the transfer at its price."""

    transaction = fields.Nested(Transaction, **_NULLABLE, metadata=describe("Begins the transfer."))
    approval = fields.Nested(
        Approval, **_NULLABLE, metadata=describe("To be sent first; null for native coin.")
    )
    transfer_id = fields.String(
        **_NULLABLE,
        metadata=describe(
            "Id that the contract gives the transfer.",
            "0x3b8a2f0e9c5f1d1c7e0a9f3d2b4c6a8e1f0d9c7b5a3e1f2d4c6b8a0e9f7d5c3b",
        ),
    )
    valid_until = fields.String(
        dump_default="",
        metadata=describe(
            "When this price ends (RFC 3339). Then request it again, with the same nonce.",
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
_EXACT: Final = "An integer, or a fraction `a/b`."


class TermInput(Shape):
    name = fields.String(metadata=describe("Name.", "amt"))
    value = fields.String(metadata=describe(_EXACT, "1000000"))


class ExplainedTerm(Shape):
    name = fields.String(metadata=describe("Name.", "perc_fee"))
    formula = fields.String(metadata=describe("Formula.", "eq_value_token_amt * ppm / 1000000, rounded up"))
    inputs = fields.List(fields.Nested(TermInput))
    value = fields.String(metadata=describe(_EXACT, "0"))
    unit = fields.String(
        attribute="unit.text",
        metadata=describe("Unit.", "smallest units of USDT on BNB Chain"),
    )
    rounding = fields.String(
        attribute="direction", metadata=describe("`up`, `down` or `none`.", "up", enum=["up", "down", "none"])
    )


class ExplainedLimit(Shape):
    name = fields.String(metadata=describe("Name.", "inbound_limit"))
    formula = fields.String(
        metadata=describe(
            "Formula.", "amt is at most liquidity added - relayed - withdrawn of the source pool"
        )
    )
    value = fields.String(metadata=describe("The limit.", "5000000000000"))
    counted = fields.String(metadata=describe("What counts against it, with this transfer.", "1000000"))
    left = fields.String(
        attribute="headroom", metadata=describe("What is left; under 0: it is broken.", "4999999000000")
    )
    unit = fields.String(
        attribute="unit.text", metadata=describe("Unit.", "smallest units of USDT on Ethereum")
    )
    largest_amt = fields.String(
        allow_none=True,
        metadata=describe("Largest amount that passes this limit; null if any does.", "5000000000000"),
    )
    binds = fields.Boolean(
        metadata=describe("Whether it is the tightest upper limit, or a broken lower one.", True)
    )


class ExplainedCheck(Shape):
    name = fields.String(
        attribute="check.public_name", metadata=describe("Name.", "inbound_limit", enum=list(CHECK_NAMES))
    )
    outcome = fields.String(
        metadata=describe(
            "`passed`, `refused`, `not_reached`, or `not_made`: it does not apply.",
            "passed",
            enum=[outcome.value for outcome in CheckOutcome],
        )
    )


class ExplainedRefusal(Shape):
    code = fields.Integer(
        metadata=describe("That of the estimate.", 1005) | enumerated(code for code in ErrCode if code)
    )
    reason = fields.String(
        metadata=describe("That of the estimate.", "inbound_limit", enum=[each.value for each in Reason])
    )
    msg = fields.String(
        metadata=describe("That of the estimate.", "You can transfer up to 5000000 USDT at this moment")
    )
    check = fields.String(
        attribute="check.public_name",
        metadata=describe("The check that refused.", "inbound_limit", enum=list(CHECK_NAMES)),
    )
    largest_passing_amt = fields.String(
        allow_none=True,
        metadata=describe("Nearest amount that passes, in source units.", "5000000000000"),
    )
    smallest_passing_amt = fields.String(
        allow_none=True, metadata=describe("Nearest amount that passes, in source units.")
    )
    largest_passing_tolerance = fields.Integer(
        allow_none=True, metadata=describe("Largest that passes with this amount.")
    )


class PassingAmounts(Shape):
    least_amt = fields.String(metadata=describe("In source units.", "607261"))
    most_amt = fields.String(metadata=describe("In source units.", "5000000000000"))


class ExplainedAnswer(Answer):
    """`err` is null also for a refusal, which is explained."""

    refusal = fields.Nested(
        ExplainedRefusal,
        attribute="explanation.refusal",
        **_NULLABLE,
        metadata=describe("Why there is no estimate."),
    )
    bridge_type = fields.Integer(
        attribute="explanation.bridge_type",
        dump_default=0,
        metadata=describe("BridgeType.", 1) | enumerated(BridgeType),
    )
    rate_model = fields.String(
        attribute="explanation.rate_model",
        dump_default="",
        metadata=describe("`fixed`, `stableswap`, `pegged`; empty if unknown.", "fixed", enum=list(_MODELS)),
    )
    base_fee_source = fields.String(
        attribute="explanation.base_fee_source",
        dump_default="",
        metadata=describe(
            "`configured`, `reported` (by the feed), `pinned` (by an operator); empty if unknown.",
            "reported",
            enum=list(_SOURCES),
        ),
    )
    base_fee_since = Moment(
        attribute="explanation.base_fee_since",
        **_NULLABLE,
        metadata=describe("Since when the fee holds (RFC 3339).", "2026-11-21T12:00:00Z"),
    )
    terms = fields.List(
        fields.Nested(ExplainedTerm),
        attribute="explanation.terms",
        dump_default=list,
        metadata=describe("Every number of the estimate, in order."),
    )
    limits = fields.List(
        fields.Nested(ExplainedLimit),
        attribute="explanation.limits",
        dump_default=list,
        metadata=describe("Every limit that applies."),
    )
    checks = fields.List(
        fields.Nested(ExplainedCheck),
        attribute="explanation.public_checks",
        dump_default=list,
        metadata=describe("Every check, in order."),
    )
    passing = fields.Nested(
        PassingAmounts,
        attribute="explanation.passing",
        **_NULLABLE,
        metadata=describe("Which amounts pass now; null if none."),
    )
    config_version = fields.Integer(
        dump_default=0,
        metadata=describe("Grows with each change of the configuration.", 118),
    )
    config_changed_at = Moment(
        **_NULLABLE, metadata=describe("When it last changed (RFC 3339).", "2026-11-21T09:30:00Z")
    )
    facts_age_seconds = fields.Float(
        attribute="explanation.facts_age_seconds",
        **_NULLABLE,
        metadata=describe("Age of the pools' balances and the reported fee; null if unused.", 0.4),
    )
