"""Which ways there are, and what a wallet sends to go one: contract, function and arguments."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import permutations

from transfer_gateway_client.types import ConfigsAnswer, EstimateAnswer, PeggedPair

MILLION = 1_000_000
SECOND_VERSION = 2


class NoWay(LookupError):
    """The gateway does not offer what was looked for."""


class SlippageTooLow(Exception):
    """The contract would not take the send: let the user choose a larger tolerance, then estimate again."""


@dataclass(frozen=True)
class Way:
    """One token from one chain to another.

    ``kind`` is ``pool``, ``deposit`` or ``burn``; ``contract`` takes the funds on the source chain. ``token``
    and ``decimal`` are those of the source chain. ``version`` is the contract's; ``to_chain`` is what a burn
    names, 0 for the original chain.
    """

    kind: str
    symbol: str
    src_chain_id: int
    dst_chain_id: int
    contract: str
    token: str
    decimal: int
    version: int = SECOND_VERSION
    to_chain: int = 0

    @property
    def is_pegged(self) -> bool:
        """``is_pegged`` of an estimate of this way."""
        return self.kind != "pool"


@dataclass(frozen=True)
class Send:
    """A transaction that begins a transfer, on ``chain_id``.

    ``contract`` must be allowed to take ``amount`` of ``token`` first. A send of native coin has it as its
    ``value`` instead. ``minimum_received`` is in the destination token's smallest unit: show it before the
    user signs.
    """

    way: Way
    amount: int
    receiver: str
    nonce: int
    max_slippage: int
    signature: str
    arguments: tuple[str | int, ...]
    minimum_received: int
    value: int = 0

    @property
    def chain_id(self) -> int:
        return self.way.src_chain_id

    @property
    def contract(self) -> str:
        return self.way.contract

    @property
    def token(self) -> str:
        return self.way.token

    @property
    def function(self) -> str:
        return self.signature.partition("(")[0]


def ways(configs: ConfigsAnswer) -> Iterator[Way]:
    """Every way that the gateway offers, pegged ones first."""
    working = [pair for pair in configs["pegged_pair_configs"] if _works(pair)]
    for pair in working:
        yield _deposit(pair)
        yield _burn(pair, pair["org_chain_id"], to_chain=0)
    second = [pair for pair in working if pair["bridge_version"] == SECOND_VERSION]
    for one, other in permutations(second, 2):
        if _original(one) == _original(other) and one["pegged_chain_id"] != other["pegged_chain_id"]:
            yield _burn(one, other["pegged_chain_id"], to_chain=other["pegged_chain_id"])
    yield from _pool_ways(configs)


def find_way(
    configs: ConfigsAnswer,
    symbol: str,
    src_chain_id: int,
    dst_chain_id: int,
    *,
    is_pegged: bool | None = None,
) -> Way:
    """The way of a token between two chains. Where there are two, the pegged one, as the gateway chooses.

    :raises NoWay: the gateway offers none.
    """
    wanted = symbol, src_chain_id, dst_chain_id
    for way in ways(configs):
        same = (way.symbol, way.src_chain_id, way.dst_chain_id) == wanted
        if same and is_pegged in (None, way.is_pegged):
            return way
    raise NoWay(f"no way of {symbol} from chain {src_chain_id} to {dst_chain_id}")


def send_arguments(
    way: Way,
    estimate: EstimateAnswer,
    *,
    amount: int,
    receiver: str,
    nonce: int | None = None,
    minimal_max_slippage: int = 0,
    native: bool = False,
) -> Send:
    """The transaction that sends ``amount`` this way, by an estimate made just before.

    :param nonce: makes the transfer id unique; milliseconds of now where it is left out.
    :param minimal_max_slippage: the pool bridge's own ``minimalMaxSlippage``, read from it.
    :param native: send the chain's own coin, which the contract wraps: the token of the way must be the
        wrapped one (``evm.native_wrap``).
    :raises SlippageTooLow: a pool send that the contract would refuse.
    :raises NoWay: a burn, which takes no native coin.
    """
    if native and way.kind == "burn":
        raise NoWay("a burn takes no native coin")
    nonce = int(time.time() * 1000) if nonce is None else nonce
    slippage, received = estimate["max_slippage"], int(estimate["estimated_receive_amt"])
    if way.kind == "pool":
        if slippage <= minimal_max_slippage:
            raise SlippageTooLow(
                f"max_slippage is {slippage}, the contract takes more than {minimal_max_slippage}"
            )
        received = int(estimate["eq_value_token_amt"]) * (MILLION - slippage) // MILLION
        signature = "send(address,address,uint256,uint64,uint64,uint32)"
        given: tuple[str | int, ...] = receiver, way.token, amount, way.dst_chain_id, nonce, slippage
    elif way.kind == "deposit":
        signature = "deposit(address,uint256,uint64,address,uint64)"
        given = way.token, amount, way.dst_chain_id, receiver, nonce
    elif way.version == SECOND_VERSION:
        signature = "burn(address,uint256,uint64,address,uint64)"
        given = way.token, amount, way.to_chain, receiver, nonce
    else:
        signature = "burn(address,uint256,address,uint64)"
        given = way.token, amount, receiver, nonce
    if native:  # the same function without the token
        name, _, types = signature.partition("(")
        signature = f"{name}Native({types.replace('address,uint256', 'uint256', 1)}"
        place = 1 if way.kind == "pool" else 0
        given = (*given[:place], *given[place + 1 :])
    return Send(way, amount, receiver, nonce, slippage, signature, given, received, amount if native else 0)


def _works(pair: PeggedPair) -> bool:
    return not (pair["org_token"]["token"]["xfer_disabled"] or pair["pegged_token"]["token"]["xfer_disabled"])


def _original(pair: PeggedPair) -> tuple[str, int]:
    return pair["pegged_token"]["token"]["symbol"], pair["org_chain_id"]


def _deposit(pair: PeggedPair) -> Way:
    token = pair["org_token"]["token"]
    return Way(
        "deposit", token["symbol"], pair["org_chain_id"], pair["pegged_chain_id"],
        pair["pegged_deposit_contract_addr"], token["address"], token["decimal"], pair["vault_version"],
    )  # fmt: skip


def _burn(pair: PeggedPair, dst_chain_id: int, *, to_chain: int) -> Way:
    token, contract = pair["pegged_token"]["token"], pair["pegged_burn_contract_addr"]
    return Way(
        "burn", token["symbol"], pair["pegged_chain_id"], dst_chain_id, contract, token["address"],
        token["decimal"], pair["bridge_version"], to_chain,
    )  # fmt: skip


def _pool_ways(configs: ConfigsAnswer) -> Iterable[Way]:
    bridges = {chain["id"]: chain["contract_addr"] for chain in configs["chains"]}
    places: dict[str, list[Way]] = {}
    for chain_id, listed in configs["chain_token"].items():
        for token in (each["token"] for each in listed["token"]):
            if not token["xfer_disabled"]:
                chain = int(chain_id)
                here = Way(
                    "pool", token["symbol"], chain, chain, bridges[chain], token["address"], token["decimal"]
                )
                places.setdefault(token["symbol"], []).append(here)
    blocked = {
        (each["symbol"], int(each["src_chain_id"]), int(each["dst_chain_id"]))
        for each in configs["blocked_bridge_direct"]
    }
    for symbol, chains in places.items():
        for here, there in permutations(chains, 2):
            if (symbol, here.src_chain_id, there.src_chain_id) not in blocked:
                yield replace(here, dst_chain_id=there.src_chain_id)
