"""The facts of the configuration about transfers: tokens, contracts, validators."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from fractions import Fraction
from typing import Any, Final, NamedTuple

from msgspec import Struct, field

from app.network.rules.quorum import ValidatorSet
from app.values.amounts import parse_decimal
from app.values.codes import SendKind
from app.values.crypto import parse_evm_address
from app.values.identifiers import BlockNumber, ChainId, PoolKey, RouteKey


class TokenFacts(Struct, frozen=True):
    """A token on one chain; ``address`` is None where it is not an EVM address."""

    address: bytes | None
    decimals: int


class PairFacts(Struct, frozen=True):
    """A pegged pair's contracts: vaults on the original chain, bridges on the pegged one.

    The first of each is the pair's own, the others are its further ones. One that is not an EVM address is
    None. ``org_token`` and ``pegged_token`` are set where the pair has its own token, not the chain's.
    """

    symbol: str
    org_chain_id: ChainId
    pegged_chain_id: ChainId
    vaults: tuple[bytes | None, ...]
    bridges: tuple[bytes | None, ...]
    org_token: TokenFacts | None = None
    pegged_token: TokenFacts | None = None

    def source(self, kind: SendKind) -> ChainId:
        """The chain that takes deposits, or burns."""
        return self.org_chain_id if kind is SendKind.DEPOSIT else self.pegged_chain_id

    def destination(self, kind: SendKind) -> ChainId:
        return self.pegged_chain_id if kind is SendKind.DEPOSIT else self.org_chain_id

    def contracts(self, kind: SendKind) -> tuple[bytes | None, ...]:
        return self.vaults if kind is SendKind.DEPOSIT else self.bridges


class Taken(NamedTuple):
    """The data of a send that determine the token, and the contract that has the funds.

    ``symbol`` is None where the send names only the token's address, ``token`` where it names only the
    symbol. ``contract`` is None where it names none.
    """

    kind: SendKind
    symbol: str | None
    token: str | None
    src_chain_id: ChainId
    dst_chain_id: ChainId
    contract: str | None = None


class NetworkFacts(Struct, frozen=True):
    """The configuration that the projection of a transfer reads, as of one transaction."""

    tokens: Mapping[PoolKey, TokenFacts] = field(default_factory=dict)
    pool_bridges: Mapping[ChainId, bytes] = field(default_factory=dict)
    pools: Set[PoolKey] = frozenset()
    """Tokens that have a pool."""
    symbols: Mapping[tuple[ChainId, bytes], Sequence[str]] = field(default_factory=dict)
    """The symbols that a chain lists at an address, in the document's order; maybe several."""
    pairs: tuple[PairFacts, ...] = ()
    validators: Mapping[ChainId, ValidatorSet] = field(default_factory=dict)
    rates: Mapping[RouteKey, Fraction] = field(default_factory=dict)
    """Of the routes with a fixed rate other than 1."""
    spellings: Mapping[PoolKey, str] = field(default_factory=dict)
    """The symbols that chains and pegged pairs have, by ``PoolKey.in_any_case``."""
    watched: Mapping[ChainId, BlockNumber] = field(default_factory=dict)
    """The first block of each chain that the gateway reads itself."""

    def symbol_of(self, taken: Taken) -> str | None:
        """The symbol of the taken token: the one that the send names, else by its token's address.

        The letter case is the configuration's, unless that token has another address.
        """
        if taken.symbol is not None:
            symbol = self.spelled(taken.src_chain_id, taken.symbol)
            return taken.symbol if self.contradicts_token(taken._replace(symbol=symbol)) else symbol
        if taken.token is None:
            return None
        address = parse_evm_address(taken.token)
        if address is None:
            return None
        if taken.kind is SendKind.POOL:
            return self.pool_symbol(address, taken.src_chain_id, taken.dst_chain_id)
        contract = None if taken.contract is None else parse_evm_address(taken.contract)
        return self.paired_symbol(taken.kind, address, taken.src_chain_id, taken.dst_chain_id, contract)

    def spelled(self, chain_id: ChainId, symbol: str) -> str:
        """The symbol as the configuration spells it; as it is where the chain has no such token."""
        key = PoolKey(chain_id, symbol)
        return symbol if key in self.tokens else self.spellings.get(key.in_any_case, symbol)

    def pool_symbol(
        self, address: bytes, chain_id: ChainId, other_chain_id: ChainId | None = None
    ) -> str | None:
        """The symbol of a token of a chain's pools; None while it is not known.

        Where a chain lists several symbols at one address, such as a native coin and its wrapped token, the
        one counts that has a pool on both chains; then one that has a pool on this chain; then the first.

        :param other_chain_id: the other chain of the transfer; None of a provider's deposit or withdrawal.
        """
        listed = self.symbols.get((chain_id, address), ())
        here = [symbol for symbol in listed if PoolKey(chain_id, symbol) in self.pools] or listed
        first = here[0] if here else None
        if other_chain_id is None:
            return first
        return next((symbol for symbol in here if PoolKey(other_chain_id, symbol) in self.pools), first)

    def paired_symbol(
        self, kind: SendKind, address: bytes, src: ChainId, dst: ChainId, contract: bytes | None
    ) -> str | None:
        """The symbol of a token that was deposited or burned; None while the pairs do not agree. The pairs of
        the destination count, where there are any.

        :param contract: the vault or bridge that took it; None where any may have.
        """
        found = self.pairs_of_token(kind, address, src, contract)
        symbols = {pair.symbol for pair in found if pair.destination(kind) == dst}
        symbols = symbols or {pair.symbol for pair in found}
        return symbols.pop() if len(symbols) == 1 else None

    def pairs_of_token(
        self, kind: SendKind, address: bytes, src: ChainId, contract: bytes | None
    ) -> list[PairFacts]:
        """The pairs whose token this is, on the source of a deposit or burn."""
        return [
            pair
            for pair in self.pairs
            if pair.source(kind) == src
            and (contract is None or contract in pair.contracts(kind))
            and (token := self._source_token(pair, kind)) is not None
            and token.address == address
        ]

    def _source_token(self, pair: PairFacts, kind: SendKind) -> TokenFacts | None:
        own = pair.org_token if kind is SendKind.DEPOSIT else pair.pegged_token
        return own or self.tokens.get(PoolKey(pair.source(kind), pair.symbol))

    def _taking(self, taken: Taken, symbol: str | None = None) -> list[PairFacts]:
        """The pairs, of any symbol or of this one, whose source chain takes such a deposit or burn."""
        return [
            pair
            for pair in self.pairs
            if pair.source(taken.kind) == taken.src_chain_id and symbol in (None, pair.symbol)
        ]

    def contradicts_token(self, taken: Taken) -> bool:
        """Whether the send names symbol and address, and the symbol is configured with other addresses."""
        if taken.symbol is None or taken.token is None:
            return False
        listed = self.tokens.get(PoolKey(taken.src_chain_id, taken.symbol))
        known = [] if listed is None else [listed]
        if taken.kind is not SendKind.POOL:
            pairs = self._taking(taken, taken.symbol)
            known += filter(None, (self._source_token(pair, taken.kind) for pair in pairs))
        address = parse_evm_address(taken.token)
        return bool(known) and all(token.address not in (None, address) for token in known)

    def refund_contract(self, taken: Taken) -> bytes | None:
        """The contract on the source chain that pays a refund back, None where it is not known.

        A pool send is refunded by the chain's pool bridge, a deposit by the pair's vault, a burn by the
        pair's pegged bridge. Where several serve a pair, it is the one that the send names.
        """
        serving = self._serving(taken)
        if taken.contract is not None:
            address = parse_evm_address(taken.contract)
            return address if any(address in contracts for contracts in serving) else None
        own = {contracts[0] for contracts in serving}
        return own.pop() if len(own) == 1 and self._is_paired(taken) else None

    def payout_contract(self, taken: Taken) -> bytes | None:
        """The contract that pays such a send out on the destination chain; None unless only one can be it.

        A pool send is paid by the chain's pool bridge; a token that was deposited or burned is minted by the
        pegged bridge of the destination's pair, or paid by the vault of its original chain.
        """
        src_chain_id, dst_chain_id, symbol = taken.src_chain_id, taken.dst_chain_id, self.symbol_of(taken)
        if taken.kind is SendKind.POOL:
            return self.pool_bridges.get(dst_chain_id)
        found: set[bytes | None] = set()
        for pair in self.pairs:
            if pair.symbol == symbol and pair.pegged_chain_id == dst_chain_id:
                found.update(pair.bridges)
            if (pair.symbol, pair.org_chain_id, pair.pegged_chain_id) == (symbol, dst_chain_id, src_chain_id):
                found.update(pair.vaults)
        return found.pop() if len(found) == 1 else None

    def is_unlisted(self, taken: Taken) -> bool:
        """Whether contracts are listed for such a send, but not the one that it names."""
        if taken.contract is None:
            return False
        serving = self._serving_symbol(taken)
        address = parse_evm_address(taken.contract)
        return any(map(any, serving)) and not (address and any(address in each for each in serving))

    def _serving(self, taken: Taken) -> list[tuple[bytes | None, ...]]:
        """The contracts that may have taken such a send, those of each pair together, its own one first.

        A contract takes any token, so where no pair has the symbol, those of the source may have it.
        """
        return self._serving_symbol(taken) or [p.contracts(taken.kind) for p in self._taking(taken)]

    def _serving_symbol(self, taken: Taken) -> list[tuple[bytes | None, ...]]:
        """The contracts of the token's pairs.

        They take it for any chain: where no pair has the destination of the send, the contracts of the other
        pairs count. A burn towards a third chain (burn, then mint) is one of these.
        """
        if taken.kind is SendKind.POOL:
            bridge = self.pool_bridges.get(taken.src_chain_id)
            return [(bridge,)] if bridge else []
        of_symbol = self._taking(taken, self.symbol_of(taken) or "")
        direct = [pair for pair in of_symbol if pair.destination(taken.kind) == taken.dst_chain_id]
        return [pair.contracts(taken.kind) for pair in direct or of_symbol]

    def _is_paired(self, taken: Taken) -> bool:
        """Whether the configuration knows the way of a send that names no contract."""
        if taken.kind is SendKind.POOL:
            return True
        of_symbol = self._taking(taken, self.symbol_of(taken) or "")
        is_burn = taken.kind is SendKind.BURN
        return any(is_burn or pair.destination(taken.kind) == taken.dst_chain_id for pair in of_symbol)

    def token_address(self, taken: Taken) -> bytes | None:
        """The address of the token taken: the one that the send names, else its symbol's."""
        if taken.token is not None:
            return parse_evm_address(taken.token)
        src, _ = self.tokens_of(taken)
        return src.address if src else None

    def tokens_of(self, taken: Taken) -> tuple[TokenFacts | None, TokenFacts | None]:
        """The tokens of such a send on its source and on its destination; None while one is not known.

        Those of a deposit or burn are the pair's. A burn towards a third chain burns the token of a pair that
        has the same original as the destination's; where several are possible, they must agree.
        """
        kind, symbol, src_chain_id, dst_chain_id = (
            taken.kind, self.symbol_of(taken), taken.src_chain_id, taken.dst_chain_id
        )  # fmt: skip
        if symbol is None:
            return None, None
        src = self.tokens.get(PoolKey(src_chain_id, symbol))
        dst = self.tokens.get(PoolKey(dst_chain_id, symbol))
        if kind is SendKind.POOL:
            return src, dst
        of_symbol = [pair for pair in self.pairs if pair.symbol == symbol]
        if kind is SendKind.DEPOSIT:
            chains = src_chain_id, dst_chain_id
            found = [pair for pair in of_symbol if (pair.org_chain_id, pair.pegged_chain_id) == chains]
            taken_of = found or self._taking(taken, symbol)
            return (
                _agreed([pair.org_token or src for pair in taken_of], src),
                _agreed([pair.pegged_token or dst for pair in found], dst),
            )
        burned = [pair for pair in of_symbol if pair.pegged_chain_id == src_chain_id]
        direct = [pair for pair in burned if pair.org_chain_id == dst_chain_id]
        if direct:
            return (
                _agreed([pair.pegged_token or src for pair in direct], src),
                _agreed([pair.org_token or dst for pair in direct], dst),
            )
        minted = [pair for pair in of_symbol if pair.pegged_chain_id == dst_chain_id]
        originals = {pair.org_chain_id for pair in minted} & {pair.org_chain_id for pair in burned}
        return (
            _agreed([p.pegged_token or src for p in burned if p.org_chain_id in originals], src),
            _agreed([p.pegged_token or dst for p in minted if p.org_chain_id in originals], dst),
        )

    def scaled_down(self, amount: int, taken: Taken) -> int | None:
        """The amount sent in destination units, rounded down; None while a token is unknown."""
        src, dst = self.tokens_of(taken)
        if src is None or dst is None:
            return None
        return amount * int(10**dst.decimals) // int(10**src.decimals)

    def worth(self, amount: int, taken: Taken) -> Fraction | None:
        """A send's amount at its route's rate without fees, in destination units; None for an unknown token.

        Without a fixed rate the rate is 1: for pegged pairs, and for a curve, whose price depends on balances
        that every event changes (docs/interface/events.md#anomalies).
        """
        src, dst = self.tokens_of(taken)
        symbol = self.symbol_of(taken)
        if src is None or dst is None or symbol is None:
            return None
        scaled = amount * Fraction(10) ** (dst.decimals - src.decimals)
        if taken.kind is not SendKind.POOL:
            return scaled
        return scaled * self.rates.get(RouteKey(symbol, taken.src_chain_id, taken.dst_chain_id), 1)


Row = Mapping[str, Any]
"""A row of one of the network document's lists, by column name."""

Rows = Mapping[str, Sequence[Row]]


def pool_key(row: Row) -> PoolKey:
    return PoolKey(row["chain_id"], row["symbol"])


def route_key(row: Row) -> RouteKey:
    return RouteKey(row["symbol"], row["src_chain_id"], row["dst_chain_id"])


_ENDS: Final = ("org_chain_id", "pegged_chain_id")


def build_facts(rows: Rows) -> NetworkFacts:
    """The facts of the core sections, given by section name: without the validators."""
    tokens = {
        pool_key(row): TokenFacts(parse_evm_address(row["address"]), row["decimal"]) for row in rows["tokens"]
    }
    symbols: defaultdict[tuple[ChainId, bytes], list[str]] = defaultdict(list)
    for (chain_id, symbol), token in tokens.items():
        if token.address is not None:
            symbols[chain_id, token.address].append(symbol)
    ends = [PoolKey(row[end], row["symbol"]) for row in rows["pegged_pairs"] for end in _ENDS]
    bridges = ((row["chain_id"], parse_evm_address(row["contract_addr"])) for row in rows["chains"])
    return NetworkFacts(
        tokens=tokens,
        symbols=dict(symbols),
        pools=frozenset(map(pool_key, rows["pools"])),
        pool_bridges={chain_id: address for chain_id, address in bridges if address is not None},
        pairs=tuple(_pair(row, tokens) for row in rows["pegged_pairs"]),
        rates={
            route_key(row): parse_decimal(row["rate_value"])
            for row in rows["routes"]
            if row["rate_value"] not in (None, "1")
        },
        spellings={key.in_any_case: key.symbol for key in (*ends, *tokens)},
        watched={
            row["chain_id"]: row["watch_from_block"]
            for row in rows["chains"]
            if row["watch_from_block"] is not None
        },
    )


def _pair(row: Row, listed: Mapping[PoolKey, TokenFacts]) -> PairFacts:
    symbol, org, pegged = row["symbol"], row["org_chain_id"], row["pegged_chain_id"]
    vaults = row["pegged_deposit_contract_addr"], *row["deposit_contracts"]
    bridges = row["pegged_burn_contract_addr"], *row["burn_contracts"]
    return PairFacts(
        symbol,
        org,
        pegged,
        vaults=tuple(map(parse_evm_address, vaults)),
        bridges=tuple(map(parse_evm_address, bridges)),
        org_token=_own(row["org_token"], listed.get(PoolKey(org, symbol))),
        pegged_token=_own(row["pegged_token"], listed.get(PoolKey(pegged, symbol))),
    )


def _own(own: Row, listed: TokenFacts | None) -> TokenFacts | None:
    """The pair's own token; None where it is the chain's."""
    address = parse_evm_address(own["address"]) if "address" in own else None
    if listed is None:
        return TokenFacts(address, own["decimal"]) if "decimal" in own else None
    if "address" not in own and "decimal" not in own:
        return None
    return TokenFacts(address if "address" in own else listed.address, own.get("decimal", listed.decimals))


def _agreed(found: list[TokenFacts | None], listed: TokenFacts | None) -> TokenFacts | None:
    """The token on which all pairs agree; the chain's where there is no pair, None where they differ."""
    if not found:
        return listed
    return found[0] if all(token == found[0] for token in found) else None
