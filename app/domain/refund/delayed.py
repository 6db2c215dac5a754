"""What waits in a contract's delay queue: funds that were granted, and the call that pays them out.

A withdraw, mint or relay above its token's delay threshold is taken, and pays nothing until the delay is over
and somebody calls ``executeDelayedTransfer`` with the id that the contract gave it.
"""

from dataclasses import dataclass
from enum import StrEnum

from app.domain.crypto import checksum_address
from app.domain.keys import ChainId
from app.domain.refund.call import ContractCall, delayed_call


class Funds(StrEnum):
    """Whose funds wait: the refund on the source chain, or the payout on the destination."""

    REFUND = "refund"
    PAYOUT = "payout"


@dataclass(frozen=True, slots=True)
class DelayedFunds:
    """Funds in a delay queue. ``chain_id`` and ``contract`` say where the queue is; null where not known.

    ``delayed_id`` is the contract's id of them, null where it was not reported. ``tx_link`` is the explorer's
    page of the transaction that queued them, on the same chain; empty while unknown.
    """

    funds: str
    delayed_id: str | None
    chain_id: ChainId | None
    contract: str | None
    tx_hash: str | None
    tx_link: str
    call: ContractCall | None

    @property
    def words(self) -> str:
        """What has to be done about it."""
        what = "the release waits in the contract's delay queue"
        if self.funds == Funds.REFUND:
            what = "the refund was accepted and waits in the contract's delay queue"
        where = f" on chain {self.chain_id}" if self.chain_id is not None else ""
        how = self.delayed_id or "the id, which was not reported"
        call = f"executeDelayedTransfer({how}) is called{where}"
        return f"{what}: it is paid after the delay, when {call}"


def delayed_funds(
    funds: Funds,
    delayed_id: str | None,
    chain_id: ChainId | None,
    contract: bytes | None,
    tx_hash: str | None,
) -> DelayedFunds:
    """Funds that wait, without the link, which hangs on the chain's explorer."""
    return DelayedFunds(
        funds=funds.value,
        delayed_id=delayed_id,
        chain_id=chain_id,
        contract=checksum_address(contract) if contract else None,
        tx_hash=tx_hash,
        tx_link="",
        call=delayed_call(delayed_id) if delayed_id else None,
    )
