"""The sandbox's network document, and what it can answer, read from ``stories.json``: fixed ids, and requests
that show each error.

README, documentation and tests take them from here; ``feed.py`` makes the events behind them.
"""

from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import msgspec
import orjson
from msgspec import Struct

from app.network.rules.quorum import ValidatorSet
from app.network.rules.validation_facts import NetworkFacts, PairFacts, Taken, TokenFacts
from app.values.codes import ErrCode, Reason, SendKind, TransferHistoryStatus, XferStatus
from app.values.crypto import parse_evm_address
from app.values.identifiers import ChainId, PoolKey

ORDINARY_CALLER: Final = "127.0.0.1"
BLOCKED_CALLER: Final = "127.0.0.2"  # in the sandbox's blocked networks: curl --interface 127.0.0.2

RECORDED_TRANSFER: Final = "0x77d7e231b08120217969ded3ff1ed2b40c0028ca1e239b225f535c57808a23f6"
"""A transfer of the production network, whose public answer the sandbox returns."""

_CHAINS: Final = {"src_chain_id": "from", "dst_chain_id": "to"}


class SandboxTransfer(Struct, frozen=True, rename={**_CHAINS, "digits": "id"}):
    """A transfer with a fixed id, what a request for it returns, and what happened to it.

    :param digits: the last ones of its id.
    :param sends: an amount in whole tokens and the symbol.
    :param user: the number of the sender.
    :param ago: the hours and minutes from its first event to the loading.
    :param steps: methods of ``TransferBuilder``, some with an argument, and ``evidence`` with a number of
        signatures.
    """

    digits: str
    status: TransferHistoryStatus
    what: str
    sends: str
    src_chain_id: int
    dst_chain_id: int
    user: int
    ago: str
    steps: tuple[str, ...]
    kind: SendKind = SendKind.POOL
    refund_reason: XferStatus = XferStatus.UNKNOWN
    src_tx_hash: str | None = None
    dst_tx_hash: str | None = None

    @property
    def transfer_id(self) -> str:
        """0x and 64 hex digits."""
        return f"0x{self.digits:0>64}"

    @property
    def route(self) -> tuple[int, int]:
        return self.src_chain_id, self.dst_chain_id


class SandboxEstimate(Struct, frozen=True):
    """An estimate that succeeds: the query string of GET /v2/estimateAmt."""

    query: str
    what: str


class SandboxError(Struct, frozen=True):
    """An estimate that fails with ``code``.

    :param reason: the answer's X-Gateway-Reason.
    :param caller: the address of the request.
    """

    code: ErrCode
    reason: Reason
    query: str
    why: str
    caller: str = ORDINARY_CALLER


class SandboxLatency(Struct, frozen=True, rename=_CHAINS):
    """A pair of chains with a week of transfers like one, and their median latency, which never changes.

    ``sends`` is an amount in whole tokens and the symbol.
    """

    sends: str
    src_chain_id: int
    dst_chain_id: int
    seconds: float
    kind: SendKind = SendKind.POOL

    @property
    def median(self) -> timedelta:
        """Exact: the file has binary fractions of seconds only."""
        return timedelta(seconds=self.seconds)


class _Stories(Struct, frozen=True):
    transfers: tuple[SandboxTransfer, ...]
    estimates: tuple[SandboxEstimate, ...]
    errors: tuple[SandboxError, ...]
    latencies: tuple[SandboxLatency, ...]


_STORIES: Final = msgspec.json.decode(Path(__file__).with_name("stories.json").read_bytes(), type=_Stories)

SANDBOX_TRANSFERS: Final = _STORIES.transfers
SANDBOX_ESTIMATES: Final = _STORIES.estimates
SANDBOX_ERRORS: Final = _STORIES.errors
SANDBOX_LATENCIES: Final = _STORIES.latencies


def sandbox_id(status: TransferHistoryStatus, variant: int = 0) -> str:
    """The id of a sandbox transfer: zeros, two digits of the variant, two of the status.

    Both are read as decimal: ``0x…0008`` is at status 8, ``0x…0306`` at status 6 for refund reason 3.
    """
    return f"0x{variant:062d}{status.value:02d}"


NETWORK_FILE: Final = Path(__file__).with_name("network.json")


def network_document() -> dict[str, Any]:
    """A new copy of the sandbox's network document (docs/network.md#rules)."""
    document: dict[str, Any] = orjson.loads(NETWORK_FILE.read_bytes())
    return document


@lru_cache(maxsize=1)
def network_facts() -> NetworkFacts:
    """The facts of the document; validators are the opening sets."""
    document = network_document()
    chain_ids = {member["chain_id"] for member in document["validators"]}
    return NetworkFacts(
        tokens={
            PoolKey(token["chain_id"], token["symbol"]): TokenFacts(
                _address(token["address"]), token["decimal"]
            )
            for token in document["tokens"]
        },
        pool_bridges={chain["id"]: _address(chain["contract_addr"]) for chain in document["chains"]},
        pairs=tuple(
            PairFacts(
                pair["symbol"],
                pair["org_chain_id"],
                pair["pegged_chain_id"],
                vaults=(_address(pair["pegged_deposit_contract_addr"]),),
                bridges=(_address(pair["pegged_burn_contract_addr"]),),
            )
            for pair in document["pegged_pairs"]
        ),
        validators={chain_id: _validators(document, chain_id) for chain_id in chain_ids},
    )


@lru_cache(maxsize=1)
def block_delays() -> dict[int, int]:
    """The number of blocks that a send must be deep, by chain."""
    return {chain["id"]: chain["block_delay"] for chain in network_document()["chains"]}


def decimals_of(chain_id: int, symbol: str) -> int:
    """:raises KeyError: the sandbox has no such token."""
    return network_facts().tokens[PoolKey(ChainId(chain_id), symbol)].decimals


def token_address(chain_id: int, symbol: str) -> bytes:
    """20 bytes.

    :raises KeyError: the sandbox has no such token.
    """
    address = network_facts().tokens[PoolKey(ChainId(chain_id), symbol)].address
    if address is None:
        raise KeyError((chain_id, symbol))
    return address


def paying_contract(kind: SendKind, symbol: str, src_chain_id: int, dst_chain_id: int) -> bytes:
    """The source chain's contract that takes a send of the kind and pays its refund, 20 bytes.

    :raises KeyError: the sandbox has none.
    """
    taken = Taken(kind, symbol, None, ChainId(src_chain_id), ChainId(dst_chain_id))
    contract = network_facts().refund_contract(taken)
    if contract is None:
        raise KeyError((kind, symbol, src_chain_id, dst_chain_id))
    return contract


@lru_cache(maxsize=1)
def base_fees() -> dict[tuple[SendKind, str, int, int], int]:
    """The base fees by kind, symbol, source and destination, in destination units.

    Between two pegged chains it is the destination pair's fee for a deposit
    (docs/interface/estimates.md#burn-mint).
    """
    document = network_document()
    pairs = document["pegged_pairs"]
    fees = {
        (SendKind.POOL, route["symbol"], route["src_chain_id"], route["dst_chain_id"]): int(route["base_fee"])
        for route in document["routes"]
    }
    for pair in pairs:
        symbol, original, pegged = pair["symbol"], pair["org_chain_id"], pair["pegged_chain_id"]
        fees[SendKind.DEPOSIT, symbol, original, pegged] = int(pair["deposit_base_fee"])
        fees[SendKind.BURN, symbol, pegged, original] = int(pair["burn_base_fee"])
        for other in pairs:
            if (other["symbol"], other["org_chain_id"]) == (symbol, original) and other is not pair:
                fees[SendKind.BURN, symbol, other["pegged_chain_id"], pegged] = int(pair["deposit_base_fee"])
    return fees


def _validators(document: dict[str, Any], chain_id: ChainId) -> ValidatorSet:
    members = [member for member in document["validators"] if member["chain_id"] == chain_id]
    return ValidatorSet.of(chain_id, 1, ((_address(each["signer"]), int(each["power"])) for each in members))


def _address(text: str) -> bytes:
    address = parse_evm_address(text)
    if address is None:
        raise ValueError(f"not an EVM address: {text!r}")
    return address
