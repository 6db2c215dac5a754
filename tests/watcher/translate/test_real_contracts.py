"""What contracts on an EVM really log: decoded, translated and with the ids that the rules give."""

from __future__ import annotations

from typing import Any, cast

import pytest
from eth.vm.spoof import SpoofTransaction
from eth_typing import Address
from msgspec.structs import replace

from app.transfers.rules.events.contract_ids import (
    Proof,
    burn_transfer_id,
    deposit_transfer_id,
    pool_transfer_id,
    proof_of,
)
from app.transfers.rules.events.event_types import TransferSent
from app.values.identifiers import BlockNumber
from app.watcher.rules.blocks import Log
from app.watcher.rules.logs.translation import translate
from tests.contract.evm.machine import USER, Chain
from tests.watcher.logs import (
    BOB,
    BRIDGE,
    HERE,
    NETWORK,
    PEGGED,
    POOL,
    TERMS,
    THERE,
    THIRD,
    TOKEN,
    VAULT,
    block_hash,
    headers_of,
    tx_hash,
)


@pytest.fixture(scope="module")
def chain() -> Chain:
    return Chain(HERE)


def logs_of(chain: Chain, contract: str, address: bytes, function: str, *arguments: Any) -> list[Log]:
    """The raw logs of a call, of the contract only."""
    data = chain.place(contract, address).encoded(function, *arguments)
    who = cast("Address", USER)
    chain.state.set_balance(who, 10**30)
    transaction = chain.vm.create_unsigned_transaction(
        nonce=chain.state.get_nonce(who),
        gas_price=10**10,
        gas=10**7,
        to=cast("Address", address),
        value=0,
        data=data,
    )
    spoof: Any = SpoofTransaction(transaction, from_=who)  # as good as a signed one
    computation = chain.state.apply_transaction(spoof)
    assert not computation.is_error, computation.output
    entries = enumerate(computation.get_log_entries())
    return [
        Log(
            block=BlockNumber(100),
            block_hash=block_hash(100),
            tx_hash=tx_hash(function),
            index=index,
            address=bytes(where),
            topics=tuple(topic.to_bytes(32, "big") for topic in topics),
            data=bytes(data),
        )
        for index, (where, topics, data) in entries
        if where == address
    ]


def sent(logs: list[Log]) -> TransferSent:
    translated = translate(NETWORK, TERMS, logs, headers_of(*logs), (), read_to=BlockNumber(100))
    assert not translated.unreadable
    [event] = translated.events
    assert isinstance(event, TransferSent)
    return event


FULL = [Proof.PROVEN, Proof.PROVEN, Proof.CONTRADICTED, Proof.CONTRADICTED]
OF_VERSION_1 = [Proof.UNKNOWN, *FULL[1:]]


def proofs(event: TransferSent) -> list[Proof]:
    """As it is read, with the nonce that was used, with another one, and with another amount."""
    used = replace(event, nonce="4")
    changed = (replace(used, nonce="5"), replace(used, amount=78))
    return [proof_of(each) for each in (event, used, *changed)]


def test_pool_send_is_decoded(chain: Chain) -> None:
    chain.place("Token", TOKEN)
    event = sent(logs_of(chain, "PoolBridge", POOL, "send", BOB, TOKEN, 77, THERE, 4, 5000))
    assert event.transfer_id == pool_transfer_id(
        sender=USER, receiver=BOB, token=TOKEN, amount=77, dst_chain_id=THERE, nonce=4, src_chain_id=HERE
    )
    assert (event.nonce, event.max_slippage, event.symbol) == ("4", 5000, "USDT")
    assert proofs(event) == FULL


def test_deposit_is_decoded(chain: Chain) -> None:
    chain.place("Token", TOKEN)
    event = sent(logs_of(chain, "TokenVaultV2", VAULT, "deposit", TOKEN, 77, THERE, BOB, 4))
    assert event.transfer_id == deposit_transfer_id(
        depositor=USER,
        token=TOKEN,
        amount=77,
        mint_chain_id=THERE,
        mint_account=BOB,
        nonce=4,
        src_chain_id=HERE,
        vault=VAULT,
    )
    first = sent(logs_of(chain, "TokenVaultV1", VAULT, "deposit", TOKEN, 77, THERE, BOB, 4))
    assert (first.nonce, first.dst_chain_id, first.symbol) == (None, THERE, "ORG")
    assert proofs(event) == FULL and proofs(first) == OF_VERSION_1


@pytest.mark.parametrize(("to", "dst"), [(0, THIRD), (THERE, THERE)])
def test_burn_is_decoded(chain: Chain, to: int, dst: int) -> None:
    chain.place("Token", PEGGED).call("mint", USER, 1000)
    event = sent(logs_of(chain, "PeggedBridgeV2", BRIDGE, "burn", PEGGED, 77, to, BOB, 4))
    assert event.dst_chain_id == dst
    assert event.transfer_id == burn_transfer_id(
        account=USER,
        token=PEGGED,
        amount=77,
        to_chain_id=to,
        to_account=BOB,
        nonce=4,
        src_chain_id=HERE,
        bridge=BRIDGE,
    )
    assert proofs(event) == FULL


def test_burn_of_version_1_is_decoded(chain: Chain) -> None:
    chain.place("Token", PEGGED).call("mint", USER, 1000)
    event = sent(logs_of(chain, "PeggedBridgeV1", BRIDGE, "burn", PEGGED, 77, BOB, 4))
    assert (event.dst_chain_id, event.nonce, event.symbol) == (THIRD, None, "PEG")
    assert proofs(event) == OF_VERSION_1


def test_rotation_is_translated(chain: Chain) -> None:
    logs = logs_of(chain, "PoolBridge", POOL, "updateSigners", [USER, BOB], [3, 4])
    translated = translate(NETWORK, TERMS, logs, headers_of(*logs), (), read_to=BlockNumber(100))
    assert [event.type for event in translated.events] == ["validators.updated"]
