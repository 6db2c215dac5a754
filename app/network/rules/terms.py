"""The configured network as the domain's terms, indexed by what requests name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum
from fractions import Fraction
from itertools import permutations
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from app.network.rules.pools import PoolState, opening_counters
from app.network.rules.validation_facts import Row, pool_key, route_key
from app.network.rules.watch_terms import Finality
from app.values.amounts import parse_decimal
from app.values.codes import BridgeType
from app.values.identifiers import ChainId, PoolKey, RouteKey


class ChainTerms(Struct, frozen=True):
    """The terms of transfers from or to a chain.

    ``minimal_max_slippage`` is in parts per million and counts where the chain is the source,
    ``drop_gas_amt`` where it is the destination. ``contract_addr`` is the pool bridge, ``native_wrap`` the
    token that native coin is wrapped as; empty where none is known.
    """

    id: ChainId
    name: str
    disabled: bool = False
    minimal_max_slippage: int = 0
    drop_gas_amt: int = 0
    contract_addr: str = ""
    native_wrap: str = ""


class TokenTerms(Struct, frozen=True):
    """The transferred token on one chain; ``decimals`` from 0 to 36.

    ``xfer_disabled`` and ``transfer_disabled`` stop all of its transfers, ``pool_disabled`` those through the
    pool. A transfer from the chain is at least ``min_send`` and at most ``max_send``; None is no bound. Of a
    pair's token they are the pair's bounds of deposits or burns, where it has them.
    """

    symbol: str
    decimals: int
    xfer_disabled: bool = False
    pool_disabled: bool = False
    transfer_disabled: bool = False
    min_send: int | None = None
    max_send: int | None = None
    address: str = ""

    @property
    def stopped(self) -> bool:
        """Whether no transfer of it is accepted, of either kind."""
        return self.xfer_disabled or self.transfer_disabled


class FeeTier(Struct, frozen=True):
    """The protocol fee, in parts per million, of amounts (source units) from ``from_amount`` on."""

    from_amount: int
    ppm: int


class FixedRate(Struct, frozen=True):
    """A fixed number of destination tokens for one source token; ``text`` is how it was configured."""

    value: Fraction
    text: str

    @classmethod
    def parse(cls, text: str) -> FixedRate:
        """Read the configured decimal. Raises ``ValueError`` with a sentence for people."""
        return cls(parse_decimal(text), text)


class StableSwapRate(Struct, frozen=True):
    """A price from the balances of the two pools; ``amplification`` as Curve publishes ``A``."""

    amplification: int


class RouteTerms(Struct, frozen=True):
    """The price of pool transfers of one token in one direction.

    ``tiers`` ascend in ``from_amount``; below the first of them there is no protocol fee. A base fee older
    than ``base_fee_max_age_seconds`` (``None``: any age) is not quoted. A base fee or tiers of ``None`` are
    not known: then there is no quote. ``pin`` may have ended.
    """

    rate: FixedRate | StableSwapRate
    base_fee: BaseFee | None
    base_fee_max_age_seconds: int | None = None
    tiers: tuple[FeeTier, ...] | None = ()
    pin: PinnedFee | None = None


class PeggedTerms(Struct, frozen=True):
    """The price of pegged transfers in one direction: of the pair, for burn → mint of the destination's pair.

    ``base_fee`` is already the one of the direction (deposit or burn), in destination units; None, or tiers
    of None: not known, so there is no quote. ``src_token`` and ``dst_token`` are the pair's own; None: those
    of the chains. ``contract`` takes the token on the source chain, ``version`` is that contract's, ``payer``
    pays on the destination chain. ``to_chain`` is the number that the call has for the destination chain.
    """

    bridge_type: BridgeType
    base_fee: int | None = 0
    tiers: tuple[FeeTier, ...] | None = ()
    src_token: TokenTerms | None = None
    dst_token: TokenTerms | None = None
    contract: str = ""
    payer: str = ""
    version: int = 0
    to_chain: int = 0


class RouteBlock(Enum):
    """In which direction transfers of the token are blocked, as seen from this transfer."""

    NONE = "none"
    ONE_WAY = "one_way"
    BOTH = "both"


LONGEST_PIN: Final = timedelta(days=30)
"""How far ahead a pin may end. A forgotten one would otherwise hide the feed for ever."""


class BaseFee(Struct, frozen=True):
    """The fee that pays the destination chain's gas, in destination units.

    ``since``: when it was set, None where that is not known. ``reported``: a canonical ``fee.updated`` event
    set it, which takes precedence over the configured value. ``pinned_until``: an operator set it until then;
    it takes precedence over both, and is never too old.
    """

    amount: int
    since: datetime | None = None
    reported: bool = False
    pinned_until: datetime | None = None


class PinnedFee(Struct, frozen=True):
    """A base fee that an operator set over the feed, in destination units. It counts before ``until``."""

    amount: int
    until: datetime


Reported = tuple[int, datetime]
"""The fee of the latest canonical ``fee.updated`` of a route, in destination units, and its time."""


def base_fee_now(
    pin: PinnedFee | None, reported: Reported | None, configured: BaseFee | None, now: datetime
) -> BaseFee | None:
    """The base fee that an estimate is made with; None where none is known."""
    return outranking(pin, reported, now) or configured


def outranking(pin: PinnedFee | None, reported: Reported | None, now: datetime) -> BaseFee | None:
    """The base fee that counts in place of the configured one; None where that one counts."""
    if pin is not None and now < pin.until:
        return BaseFee(pin.amount, pinned_until=pin.until)
    if reported is not None:
        amount, since = reported
        return BaseFee(amount, since=since, reported=True)
    return None


def overdue_by_limit(fee: BaseFee | None, limit_seconds: int | None, now: datetime) -> int | None:
    """The greatest age of a route's base fee in seconds, where the fee is older. An unknown age is too old. A
    pinned fee has no age.

    :param limit_seconds: ``base_fee_max_age_seconds`` of the route; None: any age.
    """
    if fee is None or limit_seconds is None or fee.pinned_until is not None:
        return None
    last = last_moment(fee, limit_seconds)
    return limit_seconds if last is None or now > last else None


def last_moment(fee: BaseFee, limit_seconds: int | None) -> datetime | None:
    """Until when a route's base fee counts: the end of its pin, or when it is as old as it may be. None: for
    ever, or its age is not known.
    """
    if fee.pinned_until is not None:
        return fee.pinned_until
    if fee.since is None or limit_seconds is None:
        return None
    return fee.since + timedelta(seconds=limit_seconds)


BURN_MINT_BRIDGE: Final = 2
"""The bridge version that both pairs of a burn → mint need (docs/interface/estimates.md#burn-mint)."""

ORIGINAL_CHAIN: Final = 0
"""The number that a burn has for the original chain."""

K = TypeVar("K")

R = TypeVar("R", bound=Row)


class ChainInfo(Struct, frozen=True):
    """The facts about a chain for other answers. ``explore_url`` has no ``/`` at its end."""

    id: ChainId
    name: str
    explore_url: str
    block_delay: int
    drop_gas_amt: int
    tx_path: str = "/tx/"
    finality: Finality | None = None

    def tx_link(self, tx_hash: str | None) -> str:
        """The explorer's page of a transaction; empty while there is no hash
        (docs/interface/status.md#links).
        """
        return f"{self.explore_url}{self.tx_path}{tx_hash}" if tx_hash else ""


class NetworkTerms(Struct, frozen=True):
    """The configuration that estimates are computed from. Never changed once built.

    ``pools`` hold opening values, ``routes`` the configured base fee: what events add is read
    with each request. ``pegged`` has burn → mint resolved; a block of both directions has two entries in
    ``blocks``. ``tokens`` are those that chains list, and those that only a pair has. ``symbol_chains``
    and ``destinations`` are names of chains for messages; ``spellings`` are symbols by
    their form without letter case, also for messages.
    """

    chains: Mapping[ChainId, ChainTerms]
    chain_infos: Mapping[ChainId, ChainInfo]
    tokens: Mapping[PoolKey, TokenTerms]
    pools: Mapping[PoolKey, PoolState]
    routes: Mapping[RouteKey, RouteTerms]
    pegged: Mapping[RouteKey, PeggedTerms]
    blocks: Mapping[RouteKey, RouteBlock]
    symbol_chains: Mapping[str, tuple[str, ...]]
    destinations: Mapping[PoolKey, tuple[str, ...]]
    spellings: Mapping[PoolKey, str]


def in_force(rows: Mapping[str, Sequence[R]], now: datetime) -> dict[str, Sequence[R]]:
    """The rows without the route blocks that have ended."""
    blocks = [row for row in rows["route_blocks"] if row["expires_at"] is None or now < row["expires_at"]]
    return {**rows, "route_blocks": blocks}


def build_terms(rows: Mapping[str, Sequence[Row]]) -> NetworkTerms:
    """Index the rows of the core sections, by section name. Every route block among them counts."""
    chains = {row["chain_id"]: _chain_terms(row) for row in rows["chains"]}
    listed = {pool_key(row): _token_terms(row) for row in rows["tokens"]}
    routes = {route_key(row): route_terms(row) for row in rows["routes"]}
    pegged = _pegged_terms(rows["pegged_pairs"], listed)
    of_pairs = dict(pair for row in rows["pegged_pairs"] for pair in _pair_tokens(row, listed))
    tokens = of_pairs | listed
    blocks = blocked_routes(rows["route_blocks"])
    in_service = {
        key for key, token in tokens.items() if not token.stopped and not chains[key.chain_id].disabled
    }
    open_routes = [
        key
        for key in routes.keys() | pegged.keys()
        if {key.src, key.dst} <= in_service
        and key not in blocks
        and (pegged_is_open(tokens, pegged, key) or pool_is_open(tokens, routes, key))
    ]
    return NetworkTerms(
        chains=chains,
        chain_infos={row["chain_id"]: _chain_info(row) for row in rows["chains"]},
        tokens=tokens,
        pools={pool_key(row): _pool_state(row) for row in rows["pools"]},
        routes=routes,
        pegged=pegged,
        blocks=blocks,
        symbol_chains=_names(chains, ((key.symbol, key.chain_id) for key in in_service)),
        destinations=_names(chains, ((key.src, key.dst_chain_id) for key in open_routes)),
        spellings={key.in_any_case: key.symbol for key in tokens},
    )


def pegged_is_open(
    tokens: Mapping[PoolKey, TokenTerms], pegged: Mapping[RouteKey, PeggedTerms], key: RouteKey
) -> bool:
    """Whether there is a pegged way, and the pair's tokens are in service."""
    terms = pegged.get(key)
    return terms is not None and not (
        (terms.src_token or tokens[key.src]).stopped or (terms.dst_token or tokens[key.dst]).stopped
    )


def pool_is_open(
    tokens: Mapping[PoolKey, TokenTerms], routes: Mapping[RouteKey, RouteTerms], key: RouteKey
) -> bool:
    """Whether there is a route, and both tokens may go through the pool."""
    return key in routes and not any(
        tokens[end].stopped or tokens[end].pool_disabled for end in (key.src, key.dst)
    )


def _chain_terms(row: Row) -> ChainTerms:
    return ChainTerms(
        id=row["chain_id"],
        name=row["name"],
        disabled=row["disabled"],
        minimal_max_slippage=row["minimal_max_slippage"],
        drop_gas_amt=row["drop_gas_amt"],
        contract_addr=row["contract_addr"],
        native_wrap=row["native_wrap"],
    )


def _chain_info(row: Row) -> ChainInfo:
    return ChainInfo(
        id=row["chain_id"],
        name=row["name"],
        explore_url=row["explore_url"].removesuffix("/"),
        block_delay=row["block_delay"],
        drop_gas_amt=row["drop_gas_amt"],
        tx_path=row["tx_path"],
        finality=row["finality"],
    )


def _token_terms(row: Row) -> TokenTerms:
    return TokenTerms(
        row["symbol"],
        row["decimal"],
        xfer_disabled=row["xfer_disabled"],
        pool_disabled=row["pool_disabled"],
        transfer_disabled=row["transfer_disabled"],
        min_send=row["min_send"],
        max_send=row["max_send"],
        address=row["address"],
    )


def _pair_tokens(row: Row, tokens: Mapping[PoolKey, TokenTerms]) -> Iterator[tuple[PoolKey, TokenTerms]]:
    """The original token of a pair and the pegged one: the chain's (``tokens``), unless the pair has its own
    values.

    The pair's switch, on either side, stops both. Each of its bounds of deposits and burns takes precedence
    over the token's: they are of other contracts than the pool's (docs/network.md#bounds).
    """
    stopped = any(row[side].get("xfer_disabled", False) for side in ("org_token", "pegged_token"))
    for of, side, send in (("org", "org_token", "deposit"), ("pegged", "pegged_token", "burn")):
        key = PoolKey(row[f"{of}_chain_id"], row["symbol"])
        listed = tokens.get(key) or TokenTerms(key.symbol, row[side]["decimal"])
        least, most = row[f"min_{send}"], row[f"max_{send}"]
        yield (
            key,
            replace(
                listed,
                decimals=row[side].get("decimal", listed.decimals),
                xfer_disabled=listed.xfer_disabled or stopped,
                min_send=listed.min_send if least is None else least,
                max_send=listed.max_send if most is None else most,
                address=row[side].get("address", listed.address),
            ),
        )


def _pool_state(row: Row) -> PoolState:
    return PoolState(
        opening_counters(row),
        total_cap=row["total_cap"],
        epoch_cap=row["epoch_cap"],
        epoch_seconds=row["epoch_seconds"],
    )


def route_terms(row: Row) -> RouteTerms:
    fixed = row["rate_model"] == "fixed"
    return RouteTerms(
        rate=FixedRate.parse(row["rate_value"]) if fixed else StableSwapRate(row["amplification"]),
        base_fee=None
        if row["base_fee"] is None
        else BaseFee(row["base_fee"], since=row["base_fee_changed_at"]),
        base_fee_max_age_seconds=row["base_fee_max_age_seconds"],
        tiers=_tiers(row),
        pin=pinned_fee(row),
    )


def pinned_fee(row: Row) -> PinnedFee | None:
    """The base fee that is pinned on a route; the pin may have ended."""
    fee = row["pinned_base_fee"]
    return None if fee is None else PinnedFee(fee, row["pinned_until"])


def _tiers(row: Row) -> tuple[FeeTier, ...] | None:
    tiers = row["perc_fee_tiers"]
    return None if tiers is None else tuple(FeeTier(start, ppm) for start, ppm in tiers)


def _pegged_terms(pairs: Iterable[Row], tokens: Mapping[PoolKey, TokenTerms]) -> dict[RouteKey, PeggedTerms]:
    """Both directions of every pair, and burn → mint between the pegged chains of one original.

    A pair between two chains takes precedence over burn → mint; of several originals the lowest chain id.
    """
    direct: dict[RouteKey, PeggedTerms] = {}
    siblings: defaultdict[PoolKey, list[tuple[Row, TokenTerms | None]]] = defaultdict(list)
    for row in pairs:
        symbol, org, pegged, tiers = row["symbol"], row["org_chain_id"], row["pegged_chain_id"], _tiers(row)
        vault, bridge = row["pegged_deposit_contract_addr"], row["pegged_burn_contract_addr"]
        deposits = RouteKey(symbol, org, pegged)
        locked, minted = (
            None if token == tokens.get(key) else token for key, token in _pair_tokens(row, tokens)
        )
        direct[deposits] = PeggedTerms(
            BridgeType.DEPOSIT_MINT,
            row["deposit_base_fee"],
            tiers,
            locked,
            minted,
            contract=vault,
            payer=bridge,
            version=row["vault_version"],
            to_chain=pegged,
        )
        direct[deposits.reverse] = PeggedTerms(
            BridgeType.BURN_WITHDRAW,
            row["burn_base_fee"],
            tiers,
            minted,
            locked,
            contract=bridge,
            payer=vault,
            version=row["bridge_version"],
            to_chain=ORIGINAL_CHAIN,
        )
        if row["bridge_version"] == BURN_MINT_BRIDGE:
            siblings[PoolKey(org, symbol)].append((row, minted))
    burn_mint: dict[RouteKey, PeggedTerms] = {}
    for (_, symbol), group in sorted(siblings.items()):
        for (src, burned), (dst, minted) in permutations(group, 2):
            burn_mint.setdefault(
                RouteKey(symbol, src["pegged_chain_id"], dst["pegged_chain_id"]),
                PeggedTerms(
                    BridgeType.BURN_MINT,
                    dst["deposit_base_fee"],
                    _tiers(dst),
                    burned,
                    minted,
                    contract=src["pegged_burn_contract_addr"],
                    payer=dst["pegged_burn_contract_addr"],
                    version=src["bridge_version"],
                    to_chain=dst["pegged_chain_id"],
                ),
            )
    return burn_mint | direct


def blocked_routes(rows: Iterable[Row]) -> dict[RouteKey, RouteBlock]:
    """Which directions are blocked; a block of both directions outweighs one of a single direction."""
    blocks: dict[RouteKey, RouteBlock] = {}
    for row in rows:
        key = route_key(row)
        if row["both_directions"]:
            blocks[key] = blocks[key.reverse] = RouteBlock.BOTH
        else:
            blocks.setdefault(key, RouteBlock.ONE_WAY)
    return blocks


def _names(
    chains: Mapping[ChainId, ChainTerms], members: Iterable[tuple[K, ChainId]]
) -> dict[K, tuple[str, ...]]:
    ids: defaultdict[K, set[ChainId]] = defaultdict(set)
    for key, chain_id in members:
        ids[key].add(chain_id)
    return {key: tuple(chains[chain_id].name for chain_id in sorted(of)) for key, of in ids.items()}
