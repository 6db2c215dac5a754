"""What a contract may refuse valid evidence for: its own state, which no gateway can see."""

from dataclasses import dataclass
from typing import Final

from app.domain.codes import SendKind


@dataclass(frozen=True, slots=True)
class OwnReason:
    """One reason of the contract's own: a name for machines, and words for people."""

    reason: str
    words: str


_PAUSED: Final = OwnReason("paused", "while it is paused, it pays nothing")
_VOLUME_CAP: Final = OwnReason(
    "volume_cap",
    "once it has paid as much of the token as its cap allows in an epoch, it pays in a later one",
)
_BALANCE: Final = OwnReason("balance", "while it holds less of the token than the refund, it cannot pay")
_NATIVE_RECEIVER: Final = OwnReason(
    "native_receiver",
    "where the token is the chain's wrapped native coin, it pays native coin: not to a receiver that is a "
    "contract and takes none",
)
_DONE: Final = OwnReason(
    "already_done",
    "if it took this request before, in a transaction that is not reported, it pays no second time; a pool "
    "bridge tells requests apart by their withdraw id alone",
)
_PEGGED_DONE: Final = OwnReason(
    "already_done",
    "if it took this request before, in a transaction that is not reported, it pays no second time",
)

_REASONS: Final[dict[SendKind, tuple[OwnReason, ...]]] = {
    SendKind.POOL: (_PAUSED, _VOLUME_CAP, _BALANCE, _NATIVE_RECEIVER, _DONE),
    SendKind.DEPOSIT: (_PAUSED, _VOLUME_CAP, _BALANCE, _NATIVE_RECEIVER, _PEGGED_DONE),
    SendKind.BURN: (_PAUSED, _VOLUME_CAP, _PEGGED_DONE),
}


def own_reasons(kind: SendKind) -> tuple[OwnReason, ...]:
    """The reasons for which the contract of this kind may refuse a call whose evidence is valid.

    A pegged bridge mints what it pays: it needs no balance, and pays no native coin.
    """
    return _REASONS[kind]
