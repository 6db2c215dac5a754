"""A reply to the user about a transfer, ready to copy: its state, what happens next, and links.

Its sentences are those of the page for the person who waits (``app.domain.telling.words``).
"""

from __future__ import annotations

from collections.abc import Iterator

from app.admin.pages.components import AmountText, ChainName, Transaction
from app.admin.pages.detail import TransferDetail
from app.domain.telling.words import THE_PAYOUT, YOUR_REFUND, YOUR_TRANSACTION, Situation, told


def reply_to_user(detail: TransferDetail, page: str = "") -> str:
    """The reply, in paragraphs divided by an empty line, without a greeting.

    :param page: the address of the page where the user can follow the transfer; empty where there is none.
    """
    paragraphs = [told(_situation(detail)).text, *_links(detail)]
    if page:
        paragraphs.append(f"You can follow your transfer here: {page}")
    return "\n\n".join([*paragraphs, f"Transfer id: {detail.line.transfer_id}"])


def _situation(detail: TransferDetail) -> Situation:
    line, refund = detail.line, detail.refund
    return Situation(
        status=line.status,
        refund_reason=line.refund_reason,
        amount=_amount(line.amount),
        paid_out=_amount(detail.paid_out),
        src=_name(line.src),
        dst=_name(line.dst),
        sender=line.sender or "",
        receiver=line.receiver or "",
        in_a_block=line.sent_at is not None,
        block_delay=detail.block_delay,
        refund_held=refund is not None and refund.explanation.delayed is not None,
    )


def _amount(amount: AmountText | None) -> str:
    return str(amount) if amount and amount.text else ""


def _name(chain: ChainName | None) -> str:
    return chain.name if chain and chain.known else ""


def _links(detail: TransferDetail) -> Iterator[str]:
    """Links to the transactions that are known."""
    named = (
        (YOUR_TRANSACTION, detail.src_transaction),
        (THE_PAYOUT, detail.dst_transaction),
        (YOUR_REFUND, detail.refund_transaction),
    )
    lines = [f"{name}{_on(tx)}: {tx.link or tx.tx_hash}" for name, tx in named if tx is not None]
    if lines:
        yield "\n".join(lines)


def _on(tx: Transaction) -> str:
    return f" on {tx.chain.name}" if tx.chain and tx.chain.known else ""
