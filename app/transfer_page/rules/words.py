"""Every status and refund reason in plain words for people.

Written for users who know only their wallet, without the terms of the bridge. The page for waiting users, the
look-up with ``lang`` and the console's replies to users take all their sentences from here.

Each text is whole: a translation may put its values into any order. Those of ``text``, ``plural`` and
``message`` are in the catalogues (docs/transfer-page.md#languages).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from app.refunds.rules.waits import Wait, Waiting
from app.transfer_page.rules.reader import ENGLISH, Reader, message
from app.values.codes import TransferHistoryStatus as Status
from app.values.codes import XferStatus

REFUSED_BECAUSE: Final[dict[XferStatus, str]] = {
    XferStatus.BAD_LIQUIDITY: message(
        "%(transfer)s could not be completed because there was not enough of the token available on the "
        "destination chain. Your funds are safe."
    ),
    XferStatus.BAD_SLIPPAGE: message(
        "%(transfer)s could not be completed because the price moved further than the slippage you allowed. "
        "Your funds are safe."
    ),
    XferStatus.BAD_TOKEN: message(
        "%(transfer)s could not be completed because the token could not be paid out on the destination "
        "chain. Your funds are safe."
    ),
    XferStatus.BAD_XFER_DISABLED: message(
        "%(transfer)s could not be completed because transfers of this token were turned off. Your funds are "
        "safe."
    ),
    XferStatus.BAD_DEST_CHAIN: message(
        "%(transfer)s could not be completed because the destination chain is not available. Your funds are "
        "safe."
    ),
}
"""Why a transfer is refunded."""

REFUSED: Final = message("%(transfer)s could not be completed. Your funds are safe.")
"""For a reason that is not known."""

_TRANSFER: Final[dict[tuple[bool, bool, bool], str]] = {
    (True, True, True): message("Your transfer of %(amount)s from %(src)s to %(dst)s"),
    (True, True, False): message("Your transfer of %(amount)s from %(src)s"),
    (True, False, True): message("Your transfer of %(amount)s to %(dst)s"),
    (True, False, False): message("Your transfer of %(amount)s"),
    (False, True, True): message("Your transfer from %(src)s to %(dst)s"),
    (False, True, False): message("Your transfer from %(src)s"),
    (False, False, True): message("Your transfer to %(dst)s"),
    (False, False, False): message("Your transfer"),
}
"""The name of a transfer, by whether its amount, its source and its destination are known."""

_PAID_OUT: Final[dict[tuple[bool, bool], str]] = {
    (True, True): message(
        "%(transfer)s is complete: it was paid out on %(destination)s (%(paid)s) to %(receiver)s."
    ),
    (True, False): message("%(transfer)s is complete: it was paid out on %(destination)s (%(paid)s) to you."),
    (False, True): message("%(transfer)s is complete: it was paid out on %(destination)s to %(receiver)s."),
    (False, False): message("%(transfer)s is complete: it was paid out on %(destination)s to you."),
}
"""By whether the amount that was paid and the receiver are known."""

_PAID_BACK: Final[dict[tuple[bool, bool], str]] = {
    (True, True): message("Your transfer of %(amount)s was refunded on %(source)s to %(sender)s."),
    (True, False): message(
        "Your transfer of %(amount)s was refunded on %(source)s to the account it was sent from."
    ),
    (False, True): message("Your transfer was refunded on %(source)s to %(sender)s."),
    (False, False): message("Your transfer was refunded on %(source)s to the account it was sent from."),
}
"""By whether the amount and the sender are known."""


class Situation(Struct, frozen=True):
    """The facts that the words depend on. A text is empty if its fact is not known.

    ``amount`` and ``paid_out`` are formatted for people, such as ``25 USDT``; ``src`` and ``dst`` are names
    of chains. ``in_a_block``: the source transaction is in a block. ``refund_held``: the refund was taken by
    the contract and waits in its delay queue. ``waiting`` is what a refund that is prepared waits for.
    ``on_page``: the words are on the page, above its button that requests the refund.
    """

    status: Status
    refund_reason: XferStatus = XferStatus.UNKNOWN
    amount: str = ""
    paid_out: str = ""
    src: str = ""
    dst: str = ""
    sender: str = ""
    receiver: str = ""
    in_a_block: bool = True
    block_delay: int = 0
    refund_held: bool = False
    waiting: Waiting | None = None
    on_page: bool = False
    reader: Reader = ENGLISH

    @property
    def transfer(self) -> str:
        """Such as "Your transfer of 25 USDT from Ethereum to BNB Chain", as far as it is known."""
        known = _TRANSFER[bool(self.amount), bool(self.src), bool(self.dst)]
        return self.reader.text(known, amount=self.amount, src=self.src, dst=self.dst)

    @property
    def source(self) -> str:
        return self.src or self.reader.text("the source chain")

    @property
    def destination(self) -> str:
        return self.dst or self.reader.text("the destination chain")


class Explanation(Struct, frozen=True):
    """A situation in words: a headline, where the money is, and what happens next and who acts."""

    headline: str
    now: str
    next: str

    @property
    def text(self) -> str:
        """One paragraph in English, without the headline."""
        return f"{self.now} {self.next}"


def explain(situation: Situation) -> Explanation:
    return _EXPLANATIONS[situation.status](situation)


def _unknown(of: Situation) -> Explanation:
    text = of.reader.text
    return Explanation(
        text("Its transaction is no longer on the chain"),
        text(
            "%(transfer)s was seen on %(source)s, but its transaction is no longer there, usually because "
            "the chain replaced its block.",
            transfer=of.transfer,
            source=of.source,
        ),
        text(
            "Usually the chain includes it again within minutes, and the transfer continues by itself. "
            "Please look at the transaction in your wallet. If it failed or was dropped, nothing was taken, "
            "and you can send again."
        ),
    )


def _submitting(of: Situation) -> Explanation:
    text = of.reader.text
    if not of.in_a_block:
        return Explanation(
            text("Waiting for %(source)s", source=of.source),
            text(
                "%(transfer)s was announced, and we are waiting for %(source)s to include its transaction in "
                "a block.",
                transfer=of.transfer,
                source=of.source,
            ),
            text(
                "If it takes long, please look at the transaction in your wallet: a higher gas fee may help."
            ),
        )
    return Explanation(
        text("Sent on %(source)s", source=of.source),
        _until_final(of),
        text(
            "After that the bridge checks it and pays it out on %(destination)s. There is nothing you need "
            "to do.",
            destination=of.destination,
        ),
    )


def _until_final(of: Situation) -> str:
    if not of.block_delay:
        return of.reader.text(
            "%(transfer)s is in a block on %(source)s. We are waiting until that block is final and cannot "
            "be undone.",
            transfer=of.transfer,
            source=of.source,
        )
    return of.reader.plural(
        "%(transfer)s is in a block on %(source)s. We are waiting until that block is final and cannot be "
        "undone (%(num)s block).",
        "%(transfer)s is in a block on %(source)s. We are waiting until that block is final and cannot be "
        "undone (%(num)s blocks).",
        of.block_delay,
        transfer=of.transfer,
        source=of.source,
    )


def _failed(of: Situation) -> Explanation:
    text = of.reader.text
    return Explanation(
        text("The transfer failed, and nothing was taken"),
        text(
            "%(transfer)s failed on %(source)s: its transaction was reverted or dropped, so nothing was "
            "taken from your wallet except, at most, the gas fee.",
            transfer=of.transfer,
            source=of.source,
        ),
        text(
            "There is nothing to refund. You can send again; most transactions fail because the slippage is "
            "set too low or the gas runs out."
        ),
    )


def _being_checked(of: Situation) -> Explanation:
    text = of.reader.text
    return Explanation(
        text("Being checked"),
        text(
            "%(transfer)s is final on %(source)s. The bridge is checking it.",
            transfer=of.transfer,
            source=of.source,
        ),
        text(
            "After that it is paid out on %(destination)s. Your funds are safe. There is nothing you need to "
            "do.",
            destination=of.destination,
        ),
    )


def _to_be_released(of: Situation) -> Explanation:
    text = of.reader.text
    return Explanation(
        text("About to be paid out on %(destination)s", destination=of.destination),
        text(
            "%(transfer)s has been checked and is about to be paid out on %(destination)s.",
            transfer=of.transfer,
            destination=of.destination,
        ),
        text("Your funds are safe. There is nothing you need to do."),
    )


def _completed(of: Situation) -> Explanation:
    text = of.reader.text
    return Explanation(
        text("Paid out on %(destination)s", destination=of.destination),
        text(
            _PAID_OUT[bool(of.paid_out), bool(of.receiver)],
            transfer=of.transfer,
            destination=of.destination,
            paid=of.paid_out,
            receiver=of.receiver,
        ),
        _if_not_shown(of),
    )


def _if_not_shown(of: Situation) -> str:
    return of.reader.text(
        "If your wallet does not show the money, check that it is set to that chain and shows that token."
    )


def _to_be_refunded(of: Situation) -> Explanation:
    text = of.reader.text
    if of.on_page:
        how = text(
            "It will be refunded on %(source)s: press “%(button)s” below. When the refund is ready, you "
            "confirm it with one transaction and pay its gas fee.",
            source=of.source,
            button=text("Request the refund"),
        )
    else:
        how = text(
            "It will be refunded on %(source)s: please open the transfer in the app you sent it from and "
            "request the refund. When the refund is ready, you confirm it there with one transaction and pay "
            "its gas fee.",
            source=of.source,
        )
    return Explanation(
        text("It could not be completed: request your refund"),
        text(REFUSED_BECAUSE.get(of.refund_reason, REFUSED), transfer=of.transfer),
        how,
    )


def _refund_being_prepared(of: Situation) -> Explanation:
    text = of.reader.text
    prepared = text(
        "%(transfer)s could not be completed, and its refund on %(source)s is being prepared. Your funds "
        "are safe.",
        transfer=of.transfer,
        source=of.source,
    )
    return Explanation(
        text("Your refund is being prepared"),
        " ".join(filter(None, (prepared, _what_the_refund_lacks(of)))),
        text(
            "When the refund is ready, the app you sent the transfer from will ask you to confirm it with "
            "one transaction on %(source)s. You pay its gas fee.",
            source=of.source,
        ),
    )


def _what_the_refund_lacks(of: Situation) -> str:
    """What the bridge still has to do; empty where it is not known."""
    text, waiting = of.reader.text, of.waiting
    if waiting is None:
        return ""
    if waiting.what is Wait.REFUND_REQUEST:
        return text("The bridge has to record the refund first, and then to approve it.")
    if waiting.what is Wait.SIGNATURES:
        return text(
            "The bridge has to approve it: %(given)s of the votes are in, and %(needed)s are needed.",
            given=waiting.share_signed or "0 %",
            needed=waiting.share_needed,
        )
    return text("The bridge’s team has to correct something before the bridge can approve it.")


def _refund_ready(of: Situation) -> Explanation:
    text = of.reader.text
    return Explanation(
        text("Your refund is ready: confirm it"),
        text(
            "%(transfer)s could not be completed, and its refund is ready. Your funds are safe.",
            transfer=of.transfer,
        ),
        text(
            "To get your funds back, please open the transfer in the app you sent it from and confirm the "
            "refund with one transaction on %(source)s. You pay its gas fee.",
            source=of.source,
        ),
    )


def _refund_confirming(of: Situation) -> Explanation:
    text = of.reader.text
    if of.refund_held:
        return Explanation(
            text("Your refund is held back for some time"),
            text(
                "The contract on %(source)s has accepted your refund. As a safeguard, it holds large amounts "
                "back for some time before it pays them. Your funds are safe.",
                source=of.source,
            ),
            text("Please do not confirm the refund again: that would only cost gas."),
        )
    return Explanation(
        text("Your refund is on its way"),
        text(
            "The transaction of your refund is on %(source)s. We are waiting until its block is final.",
            source=of.source,
        ),
        text("There is nothing you need to do."),
    )


def _refunded(of: Situation) -> Explanation:
    text = of.reader.text
    return Explanation(
        text("Refunded on %(source)s", source=of.source),
        text(
            _PAID_BACK[bool(of.amount), bool(of.sender)],
            amount=of.amount,
            source=of.source,
            sender=of.sender,
        ),
        _if_not_shown(of),
    )


def _delayed(of: Situation) -> Explanation:
    text = of.reader.text
    return Explanation(
        text("Held back for some time, then paid out"),
        text(
            "%(transfer)s is waiting on %(destination)s. As a safeguard, the contract there holds large "
            "payouts back for some time and then pays them out.",
            transfer=of.transfer,
            destination=of.destination,
        ),
        text("Your funds are safe. There is nothing you need to do."),
    )


_EXPLANATIONS: Final[dict[Status, Callable[[Situation], Explanation]]] = {
    Status.TRANSFER_UNKNOWN: _unknown,
    Status.TRANSFER_SUBMITTING: _submitting,
    Status.TRANSFER_FAILED: _failed,
    Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION: _being_checked,
    Status.TRANSFER_WAITING_FOR_FUND_RELEASE: _to_be_released,
    Status.TRANSFER_COMPLETED: _completed,
    Status.TRANSFER_TO_BE_REFUNDED: _to_be_refunded,
    Status.TRANSFER_REQUESTING_REFUND: _refund_being_prepared,
    Status.TRANSFER_REFUND_TO_BE_CONFIRMED: _refund_ready,
    Status.TRANSFER_CONFIRMING_YOUR_REFUND: _refund_confirming,
    Status.TRANSFER_REFUNDED: _refunded,
    Status.TRANSFER_DELAYED: _delayed,
}
