"""The waits of transfers, in words for operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from app.console.transfers.components import ChainName
from app.refunds.rules.waits import AbsentSigner, Wait, Waiting


class WaitWords(Struct, frozen=True):
    """What is missing, from whom, and what to do: a sentence each.

    ``details`` are further sentences about what is missing. ``signers`` are the validators that have not
    signed, the strongest first; only where signatures are missing.
    """

    missing: str
    whom: str
    to_do: str
    details: tuple[str, ...] = ()
    signers: tuple[AbsentSigner, ...] = ()


_TEAM: Final = "the team that runs the validators"

WAIT_WORDS: Final[Mapping[Wait, tuple[str, str, str]]] = {
    Wait.EVENT: (
        "A valid event of the transfer.",
        "{src}, or its reporter.",
        "Look at the source transaction in the explorer. If it is in a block again, see how {src} is read. "
        "If an operator retracted the events, see the notes.",
    ),
    Wait.BLOCK: (
        "A block of {src} with the source transaction.",
        "The user’s wallet and {src}.",
        "Look at the transaction in the explorer. If it is in a block, see how {src} is read. If not, the "
        "user can send it again with a higher gas fee.",
    ),
    Wait.FINALITY: (
        "Blocks of {src} on top of the source transaction.",
        "{src}.",
        "If the explorer shows enough blocks, see how {src} is read.",
    ),
    Wait.DECISION: (
        "The validators' decision whether to pay it out.",
        "The validators of the bridge.",
        f"Ask {_TEAM} whether they have decided, and whether their decision was reported.",
    ),
    Wait.PAYOUT: (
        "The payout on {dst}.",
        "The relayers, which send it to {dst}.",
        "Look for the payout in the explorer of {dst}. If it is there, see how {dst} is read. If not, ask "
        "the team that runs the relayers.",
    ),
    Wait.PAYOUT_DELAY: (
        "The end of the delay of a large payout on {dst}.",
        "Anybody: after the delay somebody has to call executeDelayedTransfer on {dst}.",
        "Wait until the delay is over, then make the call. Its id is below.",
    ),
    Wait.USER_REQUEST: (
        "The request for the refund.",
        "The user.",
        "Send the user the reply below.",
    ),
    Wait.REFUND_REQUEST: (
        "The refund request that the validators prepare.",
        "The validators of {src}.",
        f"Ask {_TEAM} whether they read the requests of users, and whether refund.prepared was reported.",
    ),
    Wait.CORRECT_REQUEST: (
        "A refund request that agrees with the transfer.",
        "The validators of {src}.",
        "Compare the request with the send. If the report is wrong, retract it. If the request itself is "
        f"wrong, ask {_TEAM} for another one, with another seqnum.",
    ),
    Wait.ONE_REQUEST: (
        "A decision which of several signed refund requests counts.",
        "The validators of {src}, who have signed twice.",
        f"The contract would pay each of them, so the gateway returns none. Ask {_TEAM} which one is right.",
    ),
    Wait.FACTS: (
        "Facts about the transfer, without which no signature can be counted.",
        "The reporter of {src}, or the configuration.",
        "Report or configure the missing facts. If a contract of the bridge is not listed, add it to the "
        "pegged pair.",
    ),
    Wait.VALIDATORS: (
        "The validators of {src}: their signatures cannot be counted.",
        "The reporter of {src}, or the configuration.",
        "Enter the opening validators of {src}, or have their set reported.",
    ),
    Wait.OTHER_VALIDATORS: (
        "The validator set cannot sign: {src} needs another one.",
        "The bridge’s contract on {src}.",
        f"Ask {_TEAM} for a new set. The contract pays nothing until then.",
    ),
    Wait.SIGNATURES: (
        "Signatures: {signed} of the voting power has signed, {needed} is needed.",
        "The validators of {src} below.",
        "Call those whose signature is enough, else the strongest, and ask them to sign. If they have "
        "signed, the signature was not reported: ask them to send it again.",
    ),
    Wait.USER_CLAIM: (
        "The transaction on {src} that claims the refund.",
        "The user.",
        "Send the user the reply below.",
    ),
    Wait.REFUND_FINALITY: (
        "Blocks of {src} on top of the refund’s transaction.",
        "{src}.",
        "If the explorer shows enough blocks, see how {src} is read.",
    ),
    Wait.FINALITY_REPORT: (
        "The report that its transaction on {src} is final: enough blocks are on top of it.",
        "The reporter of {src}.",
        "See how {src} is read. Look at the transaction in the explorer: it may be in another block, or in "
        "none.",
    ),
    Wait.REFUND_DELAY: (
        "The end of the delay of a large refund on {src}.",
        "Anybody: after the delay somebody has to call executeDelayedTransfer on {src}.",
        "Wait until the delay is over, then make the call. Its id is below.",
    ),
}
"""What is missing, from whom, and what to do."""


def wait_words(waiting: Waiting, src: ChainName | None, dst: ChainName | None) -> WaitWords:
    """The words for a transfer between these chains."""
    values = {
        "src": src.name if src else "the source chain",
        "dst": dst.name if dst else "the destination chain",
        "signed": waiting.share_signed or "0 %",
        "needed": waiting.share_needed,
    }
    missing, whom, to_do = (words.format_map(values) for words in WAIT_WORDS[waiting.what])
    return WaitWords(_capital(missing), _capital(whom), to_do, waiting.details, waiting.signers)


def _capital(sentence: str) -> str:
    """With a capital letter: a sentence may begin with *the source chain*."""
    return sentence[:1].upper() + sentence[1:]
