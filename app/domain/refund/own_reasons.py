"""What a contract may refuse valid evidence for: its own state, which no gateway can see."""

from dataclasses import dataclass
from typing import Final

from app.domain.codes import SendKind


@dataclass(frozen=True, slots=True)
class OwnReason:
    """One reason of the contract's own: a name for machines, and words for people."""

    reason: str
    words: str


_PAUSED: Final = OwnReason("paused", "the contract is paused")
_VOLUME_CAP: Final = OwnReason(
    "volume_cap",
    "the contract has paid its volume cap of the token in this epoch: send the call in a later epoch; "
    "a refund of more than the cap itself passes in none until the cap is raised",
)
_SUPPLY_CAP: Final = OwnReason(
    "supply_cap",
    "the refund is minted, and the token's contract sets a supply cap for this bridge that it would exceed: "
    "send the call when others have burned enough, or when the cap is raised",
)
_BALANCE: Final = OwnReason("balance", "the contract holds less of the token than the refund")
_NATIVE_RECEIVER: Final = OwnReason(
    "native_receiver",
    "the token is the wrapped native coin, and the receiver is a contract that does not accept native coin",
)
_DONE: Final = OwnReason(
    "already_done",
    "the contract already paid this request in a transaction that was not reported; a pool bridge "
    "identifies requests by their withdraw id only",
)
_PEGGED_DONE: Final = OwnReason(
    "already_done",
    "the contract already paid this request in a transaction that was not reported",
)

_REASONS: Final[dict[SendKind, tuple[OwnReason, ...]]] = {
    SendKind.POOL: (_PAUSED, _VOLUME_CAP, _BALANCE, _NATIVE_RECEIVER, _DONE),
    SendKind.DEPOSIT: (_PAUSED, _VOLUME_CAP, _BALANCE, _NATIVE_RECEIVER, _PEGGED_DONE),
    SendKind.BURN: (_PAUSED, _VOLUME_CAP, _SUPPLY_CAP, _PEGGED_DONE),
}


def own_reasons(kind: SendKind) -> tuple[OwnReason, ...]:
    """The reasons for which the contract of this kind may refuse a call whose evidence is valid.

    A pegged bridge mints what it pays: it needs no balance and pays no native coin, but the token's contract
    may have a supply cap.
    """
    return _REASONS[kind]
