"""A reply to the user about a transfer, ready to copy: its state, what happens next, and links.

It is written for somebody who knows only their wallet, without the terms of the bridge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from app.admin.pages.components import Transaction
from app.admin.pages.detail import TransferDetail
from app.domain.codes import TransferHistoryStatus as Status
from app.domain.codes import XferStatus

_WHY: Final[dict[XferStatus, str]] = {
    XferStatus.BAD_LIQUIDITY: "there was not enough of the token available on the destination chain",
    XferStatus.BAD_SLIPPAGE: "the price moved further than the slippage you allowed",
    XferStatus.BAD_TOKEN: "the token could not be paid out on the destination chain",
    XferStatus.BAD_XFER_DISABLED: "transfers of this token were turned off",
    XferStatus.BAD_DEST_CHAIN: "the destination chain is not available",
}
_SAFE: Final = "Your funds are safe."
_NOTHING_TO_DO: Final = "There is nothing you need to do."
_IF_NOT_SHOWN: Final = (
    "If your wallet does not show it, please make sure that it is set to that chain and shows that token."
)


def reply_to_user(detail: TransferDetail) -> str:
    """The reply, in paragraphs divided by an empty line, without a greeting."""
    paragraphs = [_PARAGRAPHS[detail.line.status](detail), *_links(detail)]
    return "\n\n".join([*paragraphs, f"Transfer id: {detail.line.transfer_id}"])


def _links(detail: TransferDetail) -> Iterator[str]:
    """Links to the transactions that are known."""
    named = (
        ("Your transaction", detail.src_transaction),
        ("The payout", detail.dst_transaction),
        ("Your refund", detail.refund_transaction),
    )
    lines = [f"{name}{_on(tx)}: {tx.link or tx.tx_hash}" for name, tx in named if tx is not None]
    if lines:
        yield "\n".join(lines)


def _on(tx: Transaction) -> str:
    return f" on {tx.chain.name}" if tx.chain and tx.chain.known else ""


def _what(detail: TransferDetail) -> str:
    """Such as "Your transfer of 25 USDT from Ethereum to BNB Chain", as far as it is known."""
    line = detail.line
    of = f" of {line.amount}" if line.amount and line.amount.text else ""
    origin = f" from {line.src.name}" if line.src and line.src.known else ""
    to = f" to {line.dst.name}" if line.dst and line.dst.known else ""
    return f"Your transfer{of}{origin}{to}"


def _src(detail: TransferDetail) -> str:
    src = detail.line.src
    return src.name if src and src.known else "the source chain"


def _dst(detail: TransferDetail) -> str:
    dst = detail.line.dst
    return dst.name if dst and dst.known else "the destination chain"


def _unknown(detail: TransferDetail) -> str:
    return (
        f"{_what(detail)} was seen on {_src(detail)}, but its transaction is no longer there: usually "
        "because the chain replaced the block that it was in. Most often it is included again in "
        "minutes, and the transfer continues by itself. Please look at the transaction in your wallet. If "
        "your wallet says that it failed or was dropped, nothing was taken, and you can send again."
    )


def _submitting(detail: TransferDetail) -> str:
    if detail.line.sent_at is None:
        return (
            f"{_what(detail)} was announced, and we are waiting for {_src(detail)} to include its "
            "transaction in a block. If it takes long, please look at the transaction in your wallet: a "
            "higher gas fee may help."
        )
    blocks = f" ({detail.block_delay} blocks)" if detail.block_delay else ""
    return (
        f"{_what(detail)} has been received on {_src(detail)}. We are waiting until its block is "
        f"final{blocks}. After that it is checked and paid out on {_dst(detail)}. {_NOTHING_TO_DO}"
    )


def _failed(detail: TransferDetail) -> str:
    return (
        f"{_what(detail)} failed on {_src(detail)}: its transaction was reverted or dropped, so nothing was "
        "taken from your wallet except, at most, the gas fee. There is nothing to refund. You can send "
        "again; most transactions fail because the slippage is set too low or the gas runs out."
    )


def _being_checked(detail: TransferDetail) -> str:
    return (
        f"{_what(detail)} is final on {_src(detail)} and is being checked by the bridge. After that it is "
        f"paid out on {_dst(detail)}. {_SAFE} {_NOTHING_TO_DO}"
    )


def _to_be_released(detail: TransferDetail) -> str:
    return (
        f"{_what(detail)} has been checked and is about to be paid out on {_dst(detail)}. {_SAFE} "
        f"{_NOTHING_TO_DO}"
    )


def _completed(detail: TransferDetail) -> str:
    paid = f" ({detail.paid_out})" if detail.paid_out and detail.paid_out.text else ""
    to = detail.line.receiver or "you"
    return f"{_what(detail)} is complete: it was paid out on {_dst(detail)}{paid} to {to}. {_IF_NOT_SHOWN}"


def _to_be_refunded(detail: TransferDetail) -> str:
    why = _WHY.get(detail.line.refund_reason, "it could not be carried out")
    return (
        f"{_what(detail)} could not be completed because {why}. {_SAFE} It will be refunded on "
        f"{_src(detail)}: please open the transfer in the app you sent it from and request the refund. When "
        "it is ready, you confirm it there with one transaction, for which you pay the gas."
    )


def _refund_being_prepared(detail: TransferDetail) -> str:
    return (
        f"{_what(detail)} could not be completed, and its refund on {_src(detail)} is being prepared. "
        f"{_SAFE} As soon as it is ready, the app you sent it from will ask you to confirm it with one "
        f"transaction on {_src(detail)}, for which you pay the gas."
    )


def _refund_ready(detail: TransferDetail) -> str:
    return (
        f"The refund of your transfer is ready. {_what(detail)} could not be completed; to get your funds "
        "back, please open the transfer in the app you sent it from and confirm the refund. That is one "
        f"transaction on {_src(detail)}, for which you pay the gas."
    )


def _refund_confirming(detail: TransferDetail) -> str:
    if detail.refund is not None and detail.refund.explanation.delayed is not None:
        return (
            f"The refund of your transfer has been granted on {_src(detail)} and is waiting there: large "
            f"amounts are held back for some time as a safeguard before they are paid. {_SAFE} Please do not "
            "confirm the refund again: that would only cost gas."
        )
    return (
        f"The refund of your transfer is on its way: its transaction is on {_src(detail)}, and we are "
        f"waiting until its block is final. {_NOTHING_TO_DO}"
    )


def _refunded(detail: TransferDetail) -> str:
    amount = f" of {detail.line.amount}" if detail.line.amount and detail.line.amount.text else ""
    to = detail.line.sender or "the account it was sent from"
    return f"Your transfer{amount} was refunded on {_src(detail)} to {to}. {_IF_NOT_SHOWN}"


def _delayed(detail: TransferDetail) -> str:
    return (
        f"{_what(detail)} is waiting on {_dst(detail)}: large payouts are held back for some time as a "
        f"safeguard and are then paid out automatically. {_SAFE} {_NOTHING_TO_DO}"
    )


_PARAGRAPHS: Final[dict[Status, Callable[[TransferDetail], str]]] = {
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
