"""Two local chains with a pool and pegged tokens: where the contracts stand, and the calls that people make.

A third chain, ``ELSEWHERE``, is only named: a token of it is pegged on both, so that a burn on one is minted
on the other. Everything stands at the same addresses on both chains. A call only says what to send; it is in
no block until somebody mines it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from demo.anvil import Anvil, RpcError
from demo.contracts import Call, Contract, created_address, creation
from demo.validators import Validators

LEFT, RIGHT, ELSEWHERE = 7001, 7002, 7003
DEPLOYER: Final = b"\xde" * 20
USERS: Final = tuple(bytes([0xA0 + n]) * 20 for n in range(8))
PLENTY: Final = 10**30
DELAYED_OVER: Final = {LEFT: 10**12, RIGHT: 10**24}
"""A payout of more USDX than this waits in a queue. Of other tokens it is the larger of both on both."""

DELAY_SECONDS: Final = 20
DECIMALS: Final = {LEFT: 6, RIGHT: 18}
"""Of USDX: the two chains' differ, as those of real ones do."""

NAMES: Final = {
    "pool": "PoolBridge",
    "vault": "TokenVaultV2",
    "vault1": "TokenVaultV1",
    "bridge": "PeggedBridgeV2",
    "bridge1": "PeggedBridgeV1",
    "usdx": "Token",
    "peg": "Token",
    "old": "Token",
    "tri": "Token",
    "coin": "WrappedCoin",
}
"""What stands on each chain, in the order in which it is put there."""

_ADDRESSES = {name: created_address(DEPLOYER, place) for place, name in enumerate(NAMES)}


def at(name: str) -> Contract:
    return Contract(NAMES[name], _ADDRESSES[name])


POOL, VAULT_V2, VAULT_V1, BRIDGE_V2, BRIDGE_V1 = (at(name) for name in list(NAMES)[:5])
USDX, PEG, OLD, TRI, COIN = (at(name) for name in list(NAMES)[5:])


def deployment(chain: int, validators: Validators) -> Iterator[Call]:
    """The transactions that put everything on a chain and give the contracts what they hold."""
    for name in NAMES.values():
        yield creation(name, DEPLOYER)
    for contract in (POOL, VAULT_V2, VAULT_V1, BRIDGE_V2, BRIDGE_V1):
        yield rotation(contract, validators)
    yield POOL.call(DEPLOYER, "setWrapped", COIN.address)
    for contract, tokens in (
        (POOL, (COIN,)), (VAULT_V2, (PEG,)), (VAULT_V1, (OLD,)), (BRIDGE_V2, (PEG, TRI)), (BRIDGE_V1, (OLD,)),
    ):  # fmt: skip
        for token in tokens:
            yield contract.call(
                DEPLOYER, "setDelay", token.address, max(DELAYED_OVER.values()), DELAY_SECONDS
            )
    yield POOL.call(DEPLOYER, "setDelay", USDX.address, DELAYED_OVER[chain], DELAY_SECONDS)
    for contract in (POOL, VAULT_V2, VAULT_V1):
        for token in (USDX, PEG, OLD, COIN):
            yield token.call(DEPLOYER, "mint", contract.address, PLENTY)
    for token in (PEG, OLD, TRI):
        for user in USERS:
            yield token.call(DEPLOYER, "mint", user, PLENTY)


def prepare(node: Anvil, validators: Validators, at: int | None = None) -> None:
    """Put everything on a new chain, in its first block.

    :raises RpcError: a transaction did not succeed.
    """
    for address in (POOL.address, COIN.address, *USERS):
        node.give(address, PLENTY)
    sent = [call.send(node) for call in deployment(node.chain_id, validators)]
    node.mine(at)
    for tx_hash in sent:
        receipt = node.receipt(tx_hash)
        if receipt is None or receipt["status"] != "0x1":
            raise RpcError(f"{tx_hash} did not succeed")


def rotation(contract: Contract, validators: Validators) -> Call:
    """A contract's whole new validator set."""
    return contract.call(DEPLOYER, "updateSigners", validators.signers, validators.signer_powers)
