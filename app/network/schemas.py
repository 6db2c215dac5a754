"""The shapes of the network document and of the transfer configs, as the tables declare their columns.

Loading a row of the document gives its columns, dumping gives its document form back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from marshmallow import ValidationError, fields, post_load, pre_dump, validates_schema

from app.db.models import Base
from app.http.schemas import Answer, BoundedText, Question, ReadyObject, Shape, Uint, describe
from app.json_documents import WholeNumber
from app.network import models
from app.network.models.columns import Declared, declared, published_columns
from app.network.models.document_fields import Flag, ListOf, PlainNumber, Strict
from app.values.wire_values import MAX_SYMBOL_CHARACTERS

DOCUMENT_VERSION: Final = 1

TOP_FIELDS: Final = frozenset(
    {"err", "chains", "chain_token", "pegged_pair_configs", "blocked_bridge_direct"}
)
"""Fields of the transfer configs themselves that come from the sections of the document."""

TOP_TEXTS: Final = frozenset({"farming_reward_contract_addr"})
"""Further ones of known type, which ``config_fields`` may set."""


class _BoundRow(Strict):
    """A row whose columns bound each other, or are given together."""

    columns: Mapping[str, Declared] = {}

    @validates_schema
    def _check_columns(self, data: dict[str, Any], **_kwargs: Any) -> None:
        for name, each in self.columns.items():
            least, both = data.get(each.least), data.get(each.both)
            if each.least and least is not None and data.get(name) is not None and least > data[name]:
                raise ValidationError(f"must be at least {each.least}", name)
            if each.both and both is not None and data.get(name) is None:
                raise ValidationError(f"is missing, but {each.both} is given: set both or neither", name)


class _RouteSchema(_BoundRow):
    """The rate is three columns of the row."""

    @post_load
    def _split_rate(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        data.update(data.pop("rate"))
        return data

    @pre_dump
    def _join_rate(self, row: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        return row | {"rate": row}


class _ConfigFieldSchema(Strict):
    @validates_schema
    def _check_known(self, data: dict[str, Any], **_kwargs: Any) -> None:
        name = data.get("name")
        if name in TOP_FIELDS:
            raise ValidationError("is a list of its own in the answer", "name")
        if name in TOP_TEXTS and not isinstance(data.get("value"), str):
            raise ValidationError("must be a text", "value")


_OWN_RULES: Final[Mapping[type[Base], type[Strict]]] = {
    models.Route: _RouteSchema,
    models.ConfigField: _ConfigFieldSchema,
}


def row_schema(model: type[Base]) -> Strict:
    columns = declared(model)
    bound = {name: each for name, each in columns.items() if each.least or each.both}
    base = _OWN_RULES.get(model) or (_BoundRow if bound else Strict)
    shapes = {name: each.shape for name, each in columns.items()}
    schema: Strict = type(f"{model.__name__}Schema", (base,), {"columns": bound, **shapes})()
    return schema


def document_schema(rows: Mapping[str, Strict]) -> Strict:
    """A list that is missing is empty. ``rows`` are the schemas of the rows by section."""
    version = WholeNumber(DOCUMENT_VERSION, DOCUMENT_VERSION, required=True)
    lists = {name: ListOf(fields.Nested(schema), load_default=list) for name, schema in rows.items()}
    schema: Strict = type("NetworkDocumentSchema", (Strict,), {"version": version, **lists})()
    return schema


_ANSWERED: Final[tuple[tuple[type[fields.Field[Any]], type[fields.Field[Any]]], ...]] = (
    (Flag, fields.Boolean),
    (WholeNumber, fields.Integer),
    (PlainNumber, fields.Float),
)
"""Fields of answers by the shapes of their columns; any other is answered as a text."""


def _answered(*tables: type[Base], briefly: bool | None = None) -> dict[str, fields.Field[Any]]:
    """The fields that clients get of the tables' rows.

    :param briefly: only those that messages have as well, or only the others; None: all of them.
    """
    return {
        name: next((answer for of, answer in _ANSWERED if isinstance(each.shape, of)), fields.String)(
            metadata=describe(published.text, published.example) | _bound(each.shape)
        )
        for name, (_, each, published) in published_columns(*tables).items()
        if briefly in (None, published.briefly)
    }


def _bound(shape: fields.Field[Any]) -> dict[str, int]:
    return {"maximum": shape.high} if isinstance(shape, WholeNumber) else {}


def _shape(name: str, shown: dict[str, Any], base: type[Shape] = Shape) -> type[Shape]:
    return type(name, (base,), shown)


Chain: Final = _shape("Chain", _answered(models.Chain, briefly=True))
ChainConfig: Final = _shape("ChainConfig", _answered(models.Chain, briefly=False), Chain)
Token: Final = _shape("Token", _answered(models.Token, briefly=True))
TokenInfo: Final = _shape(
    "TokenInfo", {"token": fields.Nested(Token), **_answered(models.Token, models.Pool, briefly=False)}
)


class ChainTokens(Shape):
    token = fields.List(fields.Nested(TokenInfo))


PeggedPair: Final = _shape(
    "PeggedPair",
    {
        "org_chain_id": fields.Integer(metadata=describe("Original chain.", 1)),
        "org_token": fields.Nested(TokenInfo),
        "pegged_chain_id": fields.Integer(metadata=describe("Chain that mints the pegged token.", 56)),
        "pegged_token": fields.Nested(TokenInfo),
        **_answered(models.PeggedPair),
    },
)


class BlockedDirection(Shape):
    symbol = fields.String(metadata=describe("Symbol.", "USDT"))
    src_chain_id = fields.String(metadata=describe("Chain id.", "1"))
    dst_chain_id = fields.String(metadata=describe("Chain id.", "137"))


class ConfigsAnswer(Answer):
    chains = fields.List(fields.Nested(ChainConfig), dump_default=list)
    chain_token = fields.Dict(
        keys=fields.String(),
        values=fields.Nested(ChainTokens),
        dump_default=dict,
        metadata=describe("By chain id."),
    )
    farming_reward_contract_addr = fields.String(dump_default="", metadata=describe("Address, or empty."))
    pegged_pair_configs = fields.List(fields.Nested(PeggedPair), dump_default=list)
    blocked_bridge_direct = fields.List(fields.Nested(BlockedDirection), dump_default=list)
    redirect_to_aggregators_config = fields.List(
        fields.Raw(), dump_default=list, metadata=describe("As configured.")
    )


class TokenInfoQuery(Question):
    chain_id = Uint(32, required=True, metadata=describe("Chain id, from the transfer configs.", 1))
    token_symbol = BoundedText(
        MAX_SYMBOL_CHARACTERS,
        required=True,
        metadata=describe("Symbol, from the transfer configs. Letter case matters.", "USDT"),
    )


class TokenInfoAnswer(Answer):
    token_info = ReadyObject(
        TokenInfo,
        allow_none=True,
        dump_default=None,
        metadata=describe("As in the transfer configs."),
    )
