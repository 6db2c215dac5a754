"""Marshmallow fields of columns' values: rates, fee tiers, bounds of amounts, and how a chain is watched."""

from __future__ import annotations

import re
from typing import Any, Final

from marshmallow import ValidationError, fields

from app.json_documents import Amount, WholeNumber
from app.network.models.document_fields import ListOf, Strict
from app.network.rules.watch_terms import (
    DEFAULT_POLL_SECONDS,
    FINALIZED,
    MAX_POLL_SECONDS,
    MAX_RPC_NAME,
    MIN_POLL_SECONDS,
    RPC_NAME,
    Finality,
)

_RATE: Final = re.compile(r"(0|[1-9][0-9]{0,29})(\.[0-9]{1,36})?", re.ASCII)


class RateValue(fields.Field[str]):
    """A positive decimal number without an exponent, stored as it is written."""

    default_error_messages = {
        "invalid": 'must be a positive decimal string such as "1.000001", '
        "with at most 30 digits before and 36 after the point"
    }

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        if not isinstance(value, str) or not _RATE.fullmatch(value) or not value.strip("0."):
            raise self.make_error("invalid")
        return value


MAX_PPM: Final = 20_000
"""Protocol fees run from 0 to 2 % (docs/interface/estimates.md#fee-tiers)."""

MAX_AMPLIFICATION: Final = 1_000_000
"""The bound that Curve's contracts have for A."""


NEW_RATE: Final = {"model": "fixed", "value": "1"}
NEW_TIERS: Final = [{"from": "0", "ppm": 400}]
"""What a new route begins with."""


class _Tier(Strict):
    start = Amount(required=True, data_key="from")
    ppm = WholeNumber(0, MAX_PPM, required=True)


class Tiers(ListOf):
    """Fee tiers as ``((from, ppm), …)``: at least one, the first from 0, ascending."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(fields.Nested(_Tier), **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        tiers: Any = super()._deserialize(value, attr, data, **kwargs)
        if not tiers:
            raise ValidationError("must have at least one tier, from 0")
        if tiers[0]["start"] != 0:
            raise ValidationError({0: {"from": ["must be 0 in the first tier"]}})
        for index in range(1, len(tiers)):
            if tiers[index]["start"] <= tiers[index - 1]["start"]:
                raise ValidationError({index: {"from": ["must be greater than in the tier before"]}})
        return tuple((tier["start"], tier["ppm"]) for tier in tiers)

    def _serialize(self, value: Any, attr: str | None, obj: Any, **kwargs: Any) -> Any:
        return None if value is None else [{"from": str(start), "ppm": ppm} for start, ppm in value]


class _FixedRate(Strict):
    model = fields.Raw()
    rate_value = RateValue(required=True, data_key="value")


class _CurveRate(Strict):
    model = fields.Raw()
    amplification = WholeNumber(1, MAX_AMPLIFICATION, required=True)


class Rate(fields.Field[dict[str, Any]]):
    """A fixed rate or a StableSwap curve. Keys of the other model are refused as unknown."""

    schemas: Final = {"fixed": _FixedRate(), "stableswap": _CurveRate()}

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValidationError("must be an object")
        model = value.get("model")
        if not isinstance(model, str) or model not in self.schemas:
            raise ValidationError({"model": ['must be "fixed" or "stableswap"']})
        read = self.schemas[model].load(value)
        return {
            "rate_model": model,
            "rate_value": read.get("rate_value"),
            "amplification": read.get("amplification"),
        }

    def _serialize(self, value: Any, attr: str | None, obj: Any, **kwargs: Any) -> Any:
        if value["rate_model"] == "fixed":
            return {"model": "fixed", "value": value["rate_value"]}
        return {"model": value["rate_model"], "amplification": value["amplification"]}


class AmountOrNone(Amount):
    """An amount, or null: for a bound that there is not, or a fee that is not known."""

    def __init__(self, **kwargs: Any) -> None:
        default = {} if kwargs.get("required") else {"load_default": None}
        super().__init__(allow_none=True, **(default | kwargs))


class Most(AmountOrNone):
    """A greatest amount, or null for none: contracts have 0 for that (docs/network.md#bounds)."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        return super()._deserialize(value, attr, data, **kwargs) or None


class Ppm(WholeNumber):
    """Parts per million."""


MAX_DEPTH: Final = 1_000_000
"""Blocks: more than a week on chains with a block a second."""


class BlocksOrFinalized(fields.Field[Finality]):
    """A number of blocks, or the tag by which nodes name the last final block."""

    default_error_messages = {"invalid": f'must be an integer from 0 to {MAX_DEPTH} or "{FINALIZED}"'}

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Finality:
        if value == FINALIZED or (type(value) is int and 0 <= value <= MAX_DEPTH):
            return value  # type: ignore[no-any-return]
        raise self.make_error("invalid")


class Seconds(fields.Field[float]):
    """The seconds between two reads of the newest blocks. A whole number is stored as such."""

    default_error_messages = {
        "invalid": f"must be a number from {MIN_POLL_SECONDS:g} to {MAX_POLL_SECONDS:g}"
    }

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(load_default=_whole(DEFAULT_POLL_SECONDS), **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> float:
        known = type(value) is int or type(value) is float
        if not known or not MIN_POLL_SECONDS <= value <= MAX_POLL_SECONDS:
            raise self.make_error("invalid")
        return _whole(value)

    def _serialize(self, value: float | None, attr: str | None, obj: Any, **kwargs: Any) -> float | None:
        return None if value is None else _whole(value)


def _whole(value: float) -> float:
    return int(value) if value == int(value) else value


class RpcName(fields.Field[str]):
    """The name of an environment variable that holds a node's URL: never the URL itself.

    Keys in URLs would leak through exports and errors, and those who edit the configuration could make the
    server call any address.
    """

    default_error_messages = {
        "file": "must be the name of the variable without _FILE at its end",
        "invalid": "must be the name of an environment variable such as RPC_URL_ETHEREUM (RPC_URL_ and "
        f"capital letters, digits or _; at most {MAX_RPC_NAME} characters), not a URL",
    }

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        if not isinstance(value, str) or len(value) > MAX_RPC_NAME or not RPC_NAME.fullmatch(value):
            raise self.make_error("invalid")
        if value.endswith("_FILE"):
            raise self.make_error("file")
        return value
