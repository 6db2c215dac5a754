"""Sends: which token was taken, towards which chain."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from app.domain.codes import SendKind
from app.domain.crypto import checksum_address
from app.domain.keys import ChainId, TransferId
from app.domain.transfer.events import TransferSent
from app.domain.transfer.proof import Proof, proof_of
from app.domain.watching.network import WatchedNetwork
from app.watcher.decode.values import Burn, Deposited, Send
from app.watcher.decode.words import Undecodable
from app.watcher.translate.places import Place

_ADDRESSES_KEPT: Final = 16_384


class NotConfigured(Exception):
    """The configuration does not say yet what the log names; the message is for operators."""


class NotSent(NotConfigured):
    """A payout names a send of its own chain, and none is known under that id."""

    def __init__(self, transfer_id: TransferId) -> None:
        super().__init__(f"no transfer 0x{transfer_id.hex()} is known, to which the withdrawal refers")
        self.transfer_id = transfer_id


@lru_cache(maxsize=_ADDRESSES_KEPT)
def account(address: bytes) -> str:
    """An address as the feed keeps accounts. Hashing one costs more than all else that a log needs."""
    return checksum_address(address)


def sent_event(
    said: Send | Deposited | Burn, place: Place, contract: bytes, chain_id: ChainId, network: WatchedNetwork
) -> TransferSent:
    """The event of a send. A chain that is not configured is named all the same, as the feed takes it.

    So is a token: its symbol follows once the configuration lists it.

    :param contract: the one that logged it.
    :raises NotConfigured: where the chain is not known that a burn means.
    :raises Undecodable: where the contract would have given the send another id.
    """
    symbol: str | None
    match said:
        case Send():
            kind, sender, receiver = SendKind.POOL, said.sender, said.receiver
            dst = ChainId(said.dst_chain_id)
            symbol = network.pool_symbol(chain_id, said.token, dst)
        case Deposited():
            kind, sender, receiver = SendKind.DEPOSIT, said.depositor, said.mint_account
            dst = ChainId(said.mint_chain_id)
            symbol = network.deposit_symbol(chain_id, contract, said.token, dst)
        case Burn():
            kind, sender, receiver = SendKind.BURN, said.account, said.to_account
            target = network.burn_target(chain_id, contract, said.token, said.to_chain_id)
            if target is None and not said.to_chain_id:
                raise NotConfigured(
                    f"{account(said.token)} is not a configured token at contract {account(contract)}: its "
                    "original chain is not known"
                )
            symbol, dst = target or (None, ChainId(said.to_chain_id))
    event = TransferSent(
        id=place.id,
        at=place.at,
        transfer_id=TransferId(said.transfer_id),
        block=place.block,
        block_hash=place.block_hash,
        log_index=place.log_index,
        kind=kind,
        src_chain_id=chain_id,
        dst_chain_id=dst,
        symbol=symbol,
        token=account(said.token),
        amount=said.amount,
        sender=account(sender),
        receiver=account(receiver),
        src_tx_hash=place.tx_hash,
        nonce=None if said.nonce is None else str(said.nonce),
        max_slippage=said.max_slippage if isinstance(said, Send) else None,
        contract=account(contract),
    )
    if proof_of(event) is Proof.CONTRADICTED:
        raise Undecodable("its transfer id is not the one that the contract gives what it says")
    return event
