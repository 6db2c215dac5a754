"""What a method of the service is given, and what it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from google.protobuf.message import Message

from app.domain.blocking import IPAddress
from app.domain.codes import ErrCode
from app.runtime.gateway import Gateway


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the bytes of its message, and the caller's address (None where it is no IP address).

    ``headers`` are those of the answer, names and values; a method may add some.
    """

    gateway: Gateway
    message: bytes
    caller: IPAddress | None
    headers: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Method:
    """What a method does, and the message that it answers with."""

    run: Callable[[Call], Message]
    answer: type[Message]

    def error(self, code: ErrCode, msg: str) -> Message:
        """The answer that is an error: ``err``, and every other field zero."""
        return self.answer(err={"code": code, "msg": msg})
