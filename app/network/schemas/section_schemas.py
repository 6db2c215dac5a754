"""The shape of the network document: one marshmallow schema for each section.

Loading gives the columns of a row, dumping gives its document form back. ``attribute`` names the
column where the document has another name for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from marshmallow import ValidationError, fields, post_load, pre_dump, pre_load, validates_schema

from app.json_documents import Amount, Signer, Text, Time, WholeNumber
from app.network.models import NAME_LENGTH, PASSED_LENGTH, SYMBOL_LENGTH
from app.network.schemas.config_fields import CHAIN_FIELDS, PAIR_FIELDS, TOKEN_FIELDS, TOP_FIELDS, TOP_TEXTS
from app.network.schemas.document_fields import (
    AnyJson,
    Cidr,
    ConfiguredAccount,
    ExplorerUrl,
    Extra,
    Flag,
    Label,
    LinkPath,
    ListOf,
    Name,
    PlainNumber,
    Rate,
    Strict,
    Tiers,
    Url,
)
from app.network.schemas.watch_fields import BlocksOrFinalized, RpcNames, Seconds
from app.values.identifiers import MAX_CHAIN_ID

DOCUMENT_VERSION: Final = 1
MAX_UINT32: Final = 2**32 - 1
MAX_DECIMALS: Final = 36
MAX_TEXT: Final = 1024
MAX_SLIPPAGE_PPM: Final = 999_999

MAX_CONTRACTS: Final = 32
"""Further contracts of one side of a pegged pair."""

MAX_BLOCK: Final = 2**63 - 1


def _chain_id(**kwargs: Any) -> WholeNumber:
    return WholeNumber(1, MAX_CHAIN_ID, required=True, **kwargs)


def _symbol() -> Label:
    return Label(SYMBOL_LENGTH, required=True)


def _note() -> Text:
    return Text(MAX_TEXT, least=0, load_default="")


def _amount(default: int | None = None) -> Amount:
    """An amount that must be given, or that has a default."""
    return Amount(required=True) if default is None else Amount(load_default=default)


def _cap() -> Amount:
    """An amount, or null for none; also of a fee that is not known."""
    return Amount(allow_none=True, load_default=None)


class _Most(Amount):
    """A greatest amount, or null for none: contracts have 0 for that (docs/network.md#bounds)."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        return super()._deserialize(value, attr, data, **kwargs) or None


def _most() -> Amount:
    return _Most(allow_none=True, load_default=None)


def _check_bounds(data: Mapping[str, Any], least: str, most: str) -> None:
    low, high = data.get(least), data.get(most)
    if low is not None and high is not None and low > high:
        raise ValidationError(f"must be at least {least}", most)


def _passed(default: str = "") -> Text:
    """A text that clients are told as it stands."""
    return Text(PASSED_LENGTH, least=0, load_default=default)


def _contract(**kwargs: Any) -> ConfiguredAccount:
    """A contract, or an empty text where there is none."""
    return ConfiguredAccount(least=0, **kwargs)


class ChainSchema(Strict):
    """``chains``."""

    chain_id = _chain_id(data_key="id")
    name = Name(NAME_LENGTH, required=True)
    icon = Url(least=0, load_default="")
    block_delay = WholeNumber(0, MAX_UINT32, required=True)
    gas_token_symbol = _symbol()
    explore_url = ExplorerUrl(required=True)
    contract_addr = _contract(required=True)
    drop_gas_amt = _amount(0)
    minimal_max_slippage = WholeNumber(0, MAX_SLIPPAGE_PPM, required=True)
    disabled = Flag(load_default=False)
    disabled_reason = _note()
    tx_path = LinkPath()
    drop_gas_cost_amt = _passed("0")
    drop_gas_balance_alert = _passed("0")
    suggested_gas_cost = _passed("0")
    flat_usd_fee = PlainNumber(load_default=0)
    farming_reward_contract_addr = _contract(load_default="")
    transfer_agent_contract_addr = _contract(load_default="")
    watch_from_block = WholeNumber(0, MAX_BLOCK, allow_none=True, load_default=None)
    finality = BlocksOrFinalized(allow_none=True, load_default=None)
    poll_seconds = Seconds()
    rpc = RpcNames()
    extra = Extra(CHAIN_FIELDS)


class TokenSchema(Strict):
    """``tokens``."""

    chain_id = _chain_id()
    symbol = _symbol()
    name = Name(NAME_LENGTH, required=True)
    icon = Url(least=0, load_default="")
    address = ConfiguredAccount(required=True)
    decimal = WholeNumber(0, MAX_DECIMALS, required=True)
    xfer_disabled = Flag(load_default=False)
    pool_disabled = Flag(load_default=False)
    transfer_disabled = Flag(load_default=False)
    min_send = _cap()
    max_send = _most()
    liq_add_disabled = Flag(load_default=False)
    liq_rm_disabled = Flag(load_default=False)
    liq_agg_rm_src_disabled = Flag(load_default=False)
    delay_threshold = _passed()
    delay_period = WholeNumber(0, MAX_UINT32, load_default=0)
    extra = Extra(TOKEN_FIELDS)

    @validates_schema
    def _check_sends(self, data: dict[str, Any], **_kwargs: Any) -> None:
        _check_bounds(data, "min_send", "max_send")


class PoolSchema(Strict):
    """``pools``."""

    chain_id = _chain_id()
    symbol = _symbol()
    liquidity_added = _amount()
    liquidity_sent = _amount(0)
    liquidity_relayed = _amount(0)
    liquidity_withdrawn = _amount(0)
    total_cap = _cap()
    epoch_cap = _cap()
    epoch_seconds = WholeNumber(1, MAX_UINT32, required=True)


class RouteSchema(Strict):
    """``routes``. The rate is three columns of the row."""

    symbol = _symbol()
    src_chain_id = _chain_id()
    dst_chain_id = _chain_id()
    rate = Rate(required=True)
    base_fee = Amount(required=True, allow_none=True)
    base_fee_max_age_seconds = WholeNumber(1, MAX_UINT32, allow_none=True, load_default=None)
    pinned_base_fee = _cap()
    pinned_until = Time(allow_none=True, load_default=None)
    perc_fee_tiers = Tiers(required=True, allow_none=True)

    @validates_schema
    def _check_pin(self, data: dict[str, Any], **_kwargs: Any) -> None:
        fee, until = data.get("pinned_base_fee"), data.get("pinned_until")
        if fee is None and until is not None:
            raise ValidationError(
                "is missing, but pinned_until is given: set both or neither", "pinned_base_fee"
            )
        if fee is not None and until is None:
            raise ValidationError(
                "is missing, but pinned_base_fee is given: set both or neither", "pinned_until"
            )

    @post_load
    def _split_rate(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        data.update(data.pop("rate"))
        return data

    @pre_dump
    def _join_rate(self, row: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        return row | {"rate": row}


class RouteBlockSchema(Strict):
    """``route_blocks``."""

    symbol = _symbol()
    src_chain_id = _chain_id()
    dst_chain_id = _chain_id()
    both_directions = Flag(required=True)
    reason = _note()
    expires_at = Time(allow_none=True, load_default=None)


class Accounts(ListOf):
    """Different accounts or contracts, none at all included."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(ConfiguredAccount(), **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        accounts: Any = super()._deserialize(value, attr, data, **kwargs)
        if len(accounts) > MAX_CONTRACTS:
            raise ValidationError(f"must have at most {MAX_CONTRACTS} entries")
        for index, account in enumerate(accounts):
            if account in accounts[:index]:
                raise ValidationError({index: ["is given twice"]})
        return accounts


class PairTokenSchema(Strict):
    """What a pair says of one of its tokens. A key that is left out, or null, is as the chain has it."""

    name = Name(NAME_LENGTH)
    address = ConfiguredAccount()
    icon = Url(least=0)
    decimal = WholeNumber(0, MAX_DECIMALS)
    xfer_disabled = Flag()
    extra = Extra(TOKEN_FIELDS)

    @pre_load
    def _leave_out(self, data: Any, **_kwargs: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {
            key: value
            for key, value in data.items()
            if value is not None and not (key == "xfer_disabled" and value is False)
        }

    @post_load
    def _without_nothing(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        return {key: value for key, value in data.items() if key != "extra" or value}


def _pair_token() -> fields.Nested:
    return fields.Nested(PairTokenSchema, load_default=dict)


class PeggedPairSchema(Strict):
    """``pegged_pairs``."""

    symbol = _symbol()
    org_chain_id = _chain_id()
    pegged_chain_id = _chain_id()
    org_token = _pair_token()
    pegged_token = _pair_token()
    pegged_deposit_contract_addr = _contract(required=True)
    pegged_burn_contract_addr = _contract(required=True)
    deposit_contracts = Accounts(load_default=list)
    burn_contracts = Accounts(load_default=list)
    canonical_token_contract_addr = _contract(load_default="")
    migration_peg_burn_contract_addr = _contract(load_default="")
    vault_version = WholeNumber(0, MAX_UINT32, required=True)
    bridge_version = WholeNumber(0, MAX_UINT32, required=True)
    deposit_base_fee = Amount(allow_none=True, load_default=0)
    burn_base_fee = Amount(allow_none=True, load_default=0)
    perc_fee_tiers = Tiers(required=True, allow_none=True)
    min_deposit = _cap()
    max_deposit = _most()
    min_burn = _cap()
    max_burn = _most()
    extra = Extra(PAIR_FIELDS)

    @validates_schema
    def _check_sends(self, data: dict[str, Any], **_kwargs: Any) -> None:
        _check_bounds(data, "min_deposit", "max_deposit")
        _check_bounds(data, "min_burn", "max_burn")


class BlockedAddressSchema(Strict):
    """``blocked_addresses``."""

    address = ConfiguredAccount(required=True)
    reason = _note()
    source = _note()
    expires_at = Time(allow_none=True, load_default=None)


class BlockedNetworkSchema(Strict):
    """``blocked_networks``."""

    cidr = Cidr(required=True)
    reason = _note()
    expires_at = Time(allow_none=True, load_default=None)


class ValidatorSchema(Strict):
    """``validators``: the opening sets. Rotations that the feed reports are kept elsewhere."""

    chain_id = _chain_id()
    signer = Signer(required=True)
    power = _amount()


class ConfigFieldSchema(Strict):
    """``config_fields``: fields beside the lists of the transfer configs."""

    name = Label(SYMBOL_LENGTH, required=True)
    value = AnyJson(required=True, allow_none=True)

    @validates_schema
    def _check_known(self, data: dict[str, Any], **_kwargs: Any) -> None:
        name = data.get("name")
        if name in TOP_FIELDS:
            raise ValidationError("is a list of its own in the answer", "name")
        if name in TOP_TEXTS and not isinstance(data.get("value"), str):
            raise ValidationError("must be a text", "value")


def _list_of(schema: type[Strict]) -> ListOf:
    return ListOf(fields.Nested(schema), load_default=list)


class NetworkDocumentSchema(Strict):
    """The whole document. A list that is missing is empty."""

    version = WholeNumber(DOCUMENT_VERSION, DOCUMENT_VERSION, required=True)
    chains = _list_of(ChainSchema)
    tokens = _list_of(TokenSchema)
    pools = _list_of(PoolSchema)
    routes = _list_of(RouteSchema)
    route_blocks = _list_of(RouteBlockSchema)
    pegged_pairs = _list_of(PeggedPairSchema)
    blocked_addresses = _list_of(BlockedAddressSchema)
    blocked_networks = _list_of(BlockedNetworkSchema)
    validators = _list_of(ValidatorSchema)
    config_fields = _list_of(ConfigFieldSchema)
