"""The public shapes of explained estimates and of figures about latencies. Amounts and terms are strings."""

from __future__ import annotations

from typing import Any, Final

from marshmallow import fields

from app.api.fields import BoundedText, Number
from app.api.insights.checks import CHECK_NAMES
from app.api.schemas import Answer, LatencyQuery, Shape, describe, enumerated
from app.domain.codes import BridgeType, ErrCode, Reason
from app.domain.estimate.explain import CheckOutcome
from app.domain.wire_values import MAX_SYMBOL_CHARACTERS

_NULLABLE: Final[dict[str, Any]] = {"allow_none": True, "dump_default": None}
_MODELS: Final = ("fixed", "stableswap", "pegged", "")
_SOURCES: Final = ("configured", "reported", "pinned", "")
_EXACT: Final = "An integer, or an exact fraction written `a/b`."


class LatencyStatsQuery(LatencyQuery):
    """Parameters of a question about latencies."""

    token_symbol = BoundedText(
        MAX_SYMBOL_CHARACTERS,
        metadata=describe("Only transfers of this token. If omitted, those of all tokens.", "USDT"),
    )


class LatencyStatsAnswer(Answer):
    """How long transfers took, in seconds."""

    count = fields.Integer(dump_default=0, metadata=describe("Number of transfers.", 1204))
    window_seconds = fields.Integer(
        dump_default=0,
        metadata=describe(
            "They were released in the last so many seconds: 604800, or fewer for a token of a busy pair.",
            604800,
        ),
    )
    median = Number(dump_default=0, metadata=describe("Median.", 612.5))
    p90 = Number(dump_default=0, metadata=describe("90 of 100 transfers took at most as long.", 840.25))
    p99 = Number(dump_default=0, metadata=describe("99 of 100 transfers took at most as long.", 2460))
    as_of = fields.String(
        dump_default="",
        metadata=describe(
            "When the gateway received its newest event (RFC 3339); empty before the first.",
            "2026-11-21T12:00:00Z",
        ),
    )


class TermInput(Shape):
    """A number that a term is worked out from."""

    name = fields.String(
        metadata=describe("Its name: a term's, or that of what was asked or configured.", "amt")
    )
    value = fields.String(metadata=describe(_EXACT, "1000000"))


class ExplainedTerm(Shape):
    """One number of the estimate."""

    name = fields.String(metadata=describe("Its name.", "perc_fee"))
    formula = fields.String(
        metadata=describe("How it is worked out.", "eq_value_token_amt * ppm / 1000000, rounded up")
    )
    inputs = fields.List(fields.Nested(TermInput))
    value = fields.String(metadata=describe(_EXACT, "0"))
    unit = fields.String(metadata=describe("What it is counted in.", "smallest units of USDT on BNB Chain"))
    rounding = fields.String(metadata=describe("How it is rounded.", "up", enum=["up", "down", "none"]))


class ExplainedLimit(Shape):
    """One limit, and what this transfer leaves of it."""

    name = fields.String(metadata=describe("Its name.", "inbound_limit"))
    formula = fields.String(
        metadata=describe(
            "What it says.", "amt is at most liquidity added - relayed - withdrawn of the source pool"
        )
    )
    value = fields.String(metadata=describe("The limit.", "5000000000000"))
    counted = fields.String(metadata=describe("What counts against it, this transfer included.", "1000000"))
    left = fields.String(metadata=describe("What is left; negative: it is broken.", "4999999000000"))
    unit = fields.String(metadata=describe("Their unit.", "smallest units of USDT on Ethereum"))
    largest_amt = fields.String(
        allow_none=True,
        metadata=describe("The largest amount that this limit alone allows; null if any.", "5000000000000"),
    )
    binds = fields.Boolean(
        metadata=describe("Whether no upper limit is tighter; of a lower one, whether it is broken.", True)
    )


class ExplainedCheck(Shape):
    """One check."""

    name = fields.String(metadata=describe("Its name.", "inbound_limit", enum=list(CHECK_NAMES)))
    outcome = fields.String(
        metadata=describe(
            "`not_reached`: an earlier check refused; `not_made`: it does not apply to this transfer.",
            "passed",
            enum=[outcome.value for outcome in CheckOutcome],
        )
    )


class ExplainedRefusal(Shape):
    """Why there is no estimate: what `estimateAmt` answers, which check refused, and what would pass."""

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
        metadata=describe("The check that refused.", "inbound_limit", enum=list(CHECK_NAMES))
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
    """The amounts that pass, in source units."""

    least_amt = fields.String(metadata=describe("The smallest.", "607261"))
    most_amt = fields.String(metadata=describe("The largest.", "5000000000000"))


class ExplainedAnswer(Answer):
    """How an estimate comes about. `err` is null for a refusal, too: it is what is explained."""

    refusal = fields.Nested(
        ExplainedRefusal,
        **_NULLABLE,
        metadata=describe("Why there is no estimate; null if there is one."),
    )
    bridge_type = fields.Integer(
        dump_default=0,
        metadata=describe("BridgeType; 0 where no way is known.", 1) | enumerated(BridgeType),
    )
    rate_model = fields.String(
        dump_default="",
        metadata=describe("Where the rate is from; empty if no way is known.", "fixed", enum=list(_MODELS)),
    )
    base_fee_source = fields.String(
        dump_default="",
        metadata=describe(
            "Where the base fee is from: the configuration, the event feed, or an operator who set it for a "
            "time; empty where it is not known.",
            "reported",
            enum=list(_SOURCES),
        ),
    )
    base_fee_since = fields.String(
        **_NULLABLE,
        metadata=describe(
            "Since when it has this value (RFC 3339); null if unknown.", "2026-11-21T12:00:00Z"
        ),
    )
    terms = fields.List(
        fields.Nested(ExplainedTerm),
        dump_default=list,
        metadata=describe("Every number of the estimate, as far as it can be worked out, in this order."),
    )
    limits = fields.List(
        fields.Nested(ExplainedLimit),
        dump_default=list,
        metadata=describe("Every limit that applies, also those that are not reached."),
    )
    checks = fields.List(
        fields.Nested(ExplainedCheck),
        dump_default=list,
        metadata=describe("Every check in the order in which they are made."),
    )
    passing = fields.Nested(
        PassingAmounts,
        **_NULLABLE,
        metadata=describe("The amounts that pass now, whatever was asked for; null if none."),
    )
    config_version = fields.Integer(
        dump_default=0,
        metadata=describe("A number that grows with each change of the configuration.", 118),
    )
    config_changed_at = fields.String(
        **_NULLABLE, metadata=describe("When it last changed (RFC 3339).", "2026-11-21T09:30:00Z")
    )
    facts_age_seconds = fields.Float(
        **_NULLABLE,
        metadata=describe(
            "How long ago the pools' balances and the reported fee were read; null if they do not count.", 0.4
        ),
    )
