"""What a contract may refuse valid evidence for: its own state, which no gateway can see."""

from dataclasses import dataclass
from typing import Final

from app.domain.codes import SendKind


@dataclass(frozen=True, slots=True)
class OwnReason:
    """One reason of the contract's own: a name for machines, and words for people."""

    reason: str
    words: str


_PAUSED: Final = OwnReason("paused", "the contract is paused: nothing is paid until it is resumed")
_VOLUME_CAP: Final = OwnReason(
    "volume_cap",
    "the contract has paid out as much of this token as its cap allows in this epoch: the call succeeds in a "
    "later one",
)
_BALANCE: Final = OwnReason(
    "balance", "the contract holds less of the token than the refund: the call succeeds once it holds enough"
)
_NATIVE_RECEIVER: Final = OwnReason(
    "native_receiver",
    "where the token is the chain's wrapped native coin, it is paid out as native coin: a receiver that is a "
    "contract and takes none cannot be paid",
)
_DONE: Final = OwnReason(
    "already_done", "a request with this id has been taken, in a transaction that is not reported yet"
)

_REASONS: Final[dict[SendKind, tuple[OwnReason, ...]]] = {
    SendKind.POOL: (_PAUSED, _VOLUME_CAP, _BALANCE, _NATIVE_RECEIVER, _DONE),
    SendKind.DEPOSIT: (_PAUSED, _VOLUME_CAP, _BALANCE, _NATIVE_RECEIVER, _DONE),
    SendKind.BURN: (_PAUSED, _VOLUME_CAP, _DONE),
}


def own_reasons(kind: SendKind) -> tuple[OwnReason, ...]:
    """The reasons for which the contract of this kind may refuse a call whose evidence is valid.

    A pegged bridge mints what it pays: it needs no balance, and pays no native coin.
    """
    return _REASONS[kind]
