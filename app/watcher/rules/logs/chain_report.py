"""How the logs of one chain become events and waiting facts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from app.network.rules.watch_terms import KnownSend, WatchedNetwork, WatchTerms
from app.transfers.rules.events.contract_ids import pool_withdraw_id
from app.transfers.rules.events.event_types import (
    Event,
    LiquidityAdded,
    LiquidityWithdrawn,
    RefundCompleted,
    RefundDelayed,
    RefundSubmitted,
    TransferConfirmed,
    TransferDelayed,
    TransferReleased,
    ValidatorsUpdated,
    WithdrawDone,
)
from app.values.crypto import checksum_address
from app.values.identifiers import BlockNumber, ChainId, TransferId
from app.watcher.rules.logs import values
from app.watcher.rules.logs.payouts import (
    NotConfigured,
    NotSent,
    Payment,
    Payout,
    Place,
    account,
    is_decidable,
    is_none,
    own_reference,
    payout_from,
    payout_of,
    place_from,
    sent_event,
)
from app.watcher.rules.logs.values import Undecodable
from app.watcher.rules.steps import Waiting, WaitingKey, WaitingKind


class ChainReport:
    """What is reported of one chain in one step, collected in ``events``, ``waiting`` and ``done``.

    :param read_to: the newest block of the chain that is known to build on all that is reported here.
    :param stored: the facts that wait already.
    """

    def __init__(
        self,
        network: WatchedNetwork,
        chain: WatchTerms,
        read_to: BlockNumber,
        stored: Sequence[Waiting],
    ) -> None:
        self.chain = chain
        self._network, self._chain_id, self._read_to = network, chain.chain_id, read_to
        self._queued = _by_key(stored, WaitingKind.QUEUED)
        self._executed = _by_key(stored, WaitingKind.EXECUTED)
        self._sends: dict[TransferId, KnownSend] = {}
        self.events: list[Event] = []
        self.waiting: dict[WaitingKey, Waiting] = {}
        self.done: dict[WaitingKey, None] = {}

    def sent(self, said: values.Send | values.Deposited | values.Burn, place: Place, contract: bytes) -> None:
        """Funds were taken.

        :raises NotConfigured: the destination chain is not known yet.
        :raises Undecodable: the contract does not give such an id.
        """
        event = sent_event(said, place, contract, self._chain_id, self._network.facts)
        self.events.append(event)
        self._sends[event.transfer_id] = KnownSend(event.kind, event.dst_chain_id)
        confirmed = place.further(TransferConfirmed.type)
        self._when_deep(WaitingKind.SEND_DEPTH, confirmed, place.id, event.transfer_id)

    def look_up(self, transfer_ids: Collection[TransferId]) -> None:
        if transfer_ids and self._network.sends_of is not None:
            self._sends |= self._network.sends_of(self._chain_id, transfer_ids)

    def is_sent(self, transfer_id: TransferId, said: object) -> bool:
        """Whether enough is known of such a transfer to say what a payout is: it was looked up, or its send
        was read here.
        """
        if self._network.sends_of is None:
            return True
        send = self._sends.get(transfer_id)
        return send is not None and is_decidable(said, send)

    def payout(
        self, said: values.Relay | values.WithdrawDone | values.Withdrawn | values.Mint
    ) -> Payout | None:
        """What a log pays; None where that concerns neither transfers nor pools.

        :raises NotSent: the transfer that it would refund is not known yet, or not whether it would.
        """
        transfer_id = own_reference(said, self._chain_id)
        if transfer_id is not None and not self.is_sent(transfer_id, said):
            raise NotSent(transfer_id)
        return payout_of(said, self._chain_id, None if transfer_id is None else self._sends.get(transfer_id))

    def liquidity_added(self, said: values.LiquidityAdded, place: Place) -> None:
        """A provider's deposit.

        :raises NotConfigured: its token is not known yet.
        """
        self.events.append(
            LiquidityAdded(
                **_of_chain(self._chain_id, place),
                symbol=self._symbol(said.token),
                amount=said.amount,
            )
        )

    def rotated(self, said: values.SignersUpdated, place: Place) -> None:
        """A new validator set, also one that cannot sign.

        :raises Undecodable: no contract accepts such a set.
        """
        signers, powers = said
        if len(signers) != len(powers):
            raise Undecodable(f"the set has {len(signers)} signers and {len(powers)} powers")
        if len(set(signers)) != len(signers) or not all(map(any, signers)):
            raise Undecodable("the set has a signer twice, or the zero address")
        self.events.append(
            ValidatorsUpdated(
                **_of_chain(self._chain_id, place),
                signers=tuple(map(checksum_address, signers)),
                powers=powers,
            )
        )

    def withdrawn(self, said: values.WithdrawDone, place: Place) -> None:
        """A withdraw of the pool was taken, paid or queued: its id is used up.

        The id is computed, so a log that a node made up still gives an id of this chain.
        """
        withdraw_id = pool_withdraw_id(
            chain_id=self._chain_id,
            seqnum=said.seqnum,
            receiver=said.receiver,
            token=said.token,
            amount=said.amount,
        )
        further = place.further(WithdrawDone.type)
        ref_id = None if is_none(said.refid) else TransferId(said.refid)
        self.events.append(
            WithdrawDone(**_of_chain(self._chain_id, further), withdraw_id=withdraw_id, ref_id=ref_id)
        )

    def paid_at_once(self, payout: Payout, place: Place) -> None:
        """The payout's own log says that it was paid, and nothing was queued.

        A provider's withdrawal that cannot be reported yet waits, with the fact that it was paid.
        """
        if payout.payment is not Payment.REFUND:
            self._paid_or_unknown(payout, place)
            return
        transfer_id = _referred(payout)
        self.events.append(
            RefundSubmitted(tx_hash=place.tx_hash, **_of_transfer(self._chain_id, transfer_id, place))
        )
        final = place.further(RefundCompleted.type)
        self._when_deep(WaitingKind.REFUND_DEPTH, final, place.id, transfer_id)

    def queued(self, payout: Payout, place: Place, contract: bytes) -> None:
        """The payout's own log says that its id was put into the delay queue."""
        key = _queue_key(contract, payout.payout_id)
        delayed_id = "0x" + payout.payout_id.hex()
        if payout.payment is not Payment.LIQUIDITY:
            common = _of_transfer(self._chain_id, _referred(payout), place)
            self.events.append(
                RefundDelayed(delayed_id=delayed_id, tx_hash=place.tx_hash, **common)
                if payout.payment is Payment.REFUND
                else TransferDelayed(delayed_id=delayed_id, dst_tx_hash=place.tx_hash, **common)
            )
        waits = Waiting(WaitingKind.QUEUED, key, place.block, None, payout.facts())
        self._store(waits)
        self._queued[key] = waits
        if (executed := self._executed.get(key)) is not None:
            self._paid_or_unknown(payout, place_from(executed.facts))

    def executed(self, said: values.DelayedTransferExecuted, place: Place, contract: bytes) -> None:
        """A payout left the delay queue. Both facts are stored until no reorganisation can reach either."""
        key = _queue_key(contract, said.payout_id)
        waits = Waiting(WaitingKind.EXECUTED, key, place.block, None, place.facts())
        self._store(waits)
        self._executed[key] = waits
        if (queued := self._queued.get(key)) is not None:
            self._paid_or_unknown(payout_from(queued.facts), place)

    def unknown(self, place: Place, why: str, facts: Mapping[str, Any]) -> None:
        """Let a log wait that cannot be reported before the configuration has what it names."""
        version = self._network.version
        stored = {**facts, "place": place.facts(), "version": version, "why": why}
        self._store(Waiting(WaitingKind.UNKNOWN, place.id, place.block, None, stored))

    def come_due(self, stored: Sequence[Waiting]) -> None:
        """Report what waited for depth and is deep enough now."""
        for each in stored:
            is_due = each.due is not None and each.due <= self._read_to
            if is_due and each.kind in (WaitingKind.SEND_DEPTH, WaitingKind.REFUND_DEPTH):
                transfer_id = TransferId(bytes.fromhex(each.facts["transfer_id"]))
                self._deep(each.kind, place_from(each.facts), transfer_id)
                self.done[WaitingKey(each.kind, each.key)] = None

    def settle(self, final_to: int, doubts: Collection[BlockNumber]) -> None:
        """Remove queued payouts that were paid in a final block, unless one of both blocks is in doubt."""
        for key in self._queued.keys() & self._executed.keys():
            blocks = {self._queued[key].block, self._executed[key].block}
            if max(blocks) <= final_to and blocks.isdisjoint(doubts):
                for kind in (WaitingKind.QUEUED, WaitingKind.EXECUTED):
                    self.waiting.pop(WaitingKey(kind, key), None)
                    self.done[WaitingKey(kind, key)] = None

    def paid(self, payout: Payout, place: Place) -> None:
        """Funds moved by the log of this place, which says nothing else.

        :raises NotConfigured: of liquidity, while its token is not known.
        """
        match payout.payment:
            case Payment.REFUND:
                self._when_deep(WaitingKind.REFUND_DEPTH, place, place.id, _referred(payout))
            case Payment.RELEASE:
                self.events.append(
                    TransferReleased(
                        dst_tx_hash=place.tx_hash,
                        amount=payout.amount,
                        **_of_transfer(self._chain_id, _referred(payout), place),
                    )
                )
            case Payment.LIQUIDITY:
                self.events.append(
                    LiquidityWithdrawn(
                        **_of_chain(self._chain_id, place),
                        symbol=self._symbol(payout.token),
                        amount=payout.amount,
                        withdraw_id=payout.payout_id,
                    )
                )

    def _paid_or_unknown(self, payout: Payout, place: Place) -> None:
        try:
            self.paid(payout, place)
        except NotConfigured as error:
            self.unknown(place, str(error), {"payout": payout.facts()})

    def _when_deep(self, kind: WaitingKind, place: Place, key: str, transfer_id: TransferId) -> None:
        """Report it if the place is ``block_delay`` deep, else let it wait for that.

        :param place: with the id of the event to come.
        """
        due = BlockNumber(place.block + self.chain.block_delay)
        if due <= self._read_to:
            self._deep(kind, place, transfer_id)
            return
        facts = {**place.facts(), "transfer_id": transfer_id.hex()}
        self._store(Waiting(kind, key, place.block, due, facts))

    def _deep(self, kind: WaitingKind, place: Place, transfer_id: TransferId) -> None:
        common = _of_transfer(self._chain_id, transfer_id, place)
        self.events.append(
            TransferConfirmed(**common)
            if kind is WaitingKind.SEND_DEPTH
            else RefundCompleted(tx_hash=place.tx_hash, **common)
        )

    def _store(self, waits: Waiting) -> None:
        key = WaitingKey(waits.kind, waits.key)
        self.waiting[key] = waits
        self.done.pop(key, None)

    def _symbol(self, token: bytes) -> str:
        symbol = self._network.facts.pool_symbol(token, self._chain_id)
        if symbol is None:
            raise NotConfigured(f"{account(token)} is not a configured token of chain {self._chain_id}")
        return symbol


def _referred(payout: Payout) -> TransferId:
    """The transfer that a release or a refund pays."""
    if payout.transfer_id is None:
        raise ValueError(f"a {payout.payment} must belong to a transfer")
    return payout.transfer_id


def _of_chain(chain_id: ChainId, place: Place) -> dict[str, Any]:
    """The fields of every event of a chain in a block."""
    return {
        "id": place.id,
        "at": place.at,
        "chain_id": chain_id,
        "block": place.block,
        "block_hash": place.block_hash,
        "log_index": place.log_index,
    }


def _of_transfer(chain_id: ChainId, transfer_id: TransferId, place: Place) -> dict[str, Any]:
    """The fields of every event of a transfer in a block except its send."""
    return {**_of_chain(chain_id, place), "transfer_id": transfer_id}


def _by_key(stored: Sequence[Waiting], kind: WaitingKind) -> dict[str, Waiting]:
    return {each.key: each for each in stored if each.kind is kind}


def _queue_key(contract: bytes, payout_id: bytes) -> str:
    return f"{contract.hex()}:{payout_id.hex()}"
