"""The network of the two local chains as clients see it, and sends of each kind on it."""

from __future__ import annotations

from typing import Any, Final

import orjson

from app.network.configs import configs_answer
from app.network.document import read_rows
from app.values.codes import SendKind
from demo.chains import LEFT, OLD, PEG, RIGHT, TRI, USERS
from demo.network import document
from demo.transfers import Send
from demo.validators import Validators

VALIDATORS: Final = Validators.of(40, 30, 20, 10)
AMOUNT: Final = 2_000_000
NONCE: Final = 1_790_000_000_123
SENDER: Final = f"0x{USERS[0].hex()}"
RECEIVER: Final = f"0x{USERS[1].hex()}"


def demo_configs() -> dict[str, Any]:
    """The transfer configs."""
    answer: dict[str, Any] = orjson.loads(orjson.dumps(configs_answer(read_rows(document(VALIDATORS)))))
    return answer


def demo_sends() -> dict[str, Send]:
    """A send of each kind; a burn names 0 for the original chain."""

    def send(kind: SendKind, chain: int, to_chain: int, **more: Any) -> Send:
        return Send(kind, chain, to_chain, AMOUNT, NONCE, USERS[0], USERS[1], **more)

    pool, deposit, burn = SendKind
    return {
        "pool": send(pool, LEFT, RIGHT),
        "deposit": send(deposit, LEFT, RIGHT, token=PEG),
        "deposit 1": send(deposit, LEFT, RIGHT, token=OLD, version=1),
        "burn": send(burn, RIGHT, 0, token=PEG),
        "burn 1": send(burn, RIGHT, LEFT, token=OLD, version=1),
        "burn, minted": send(burn, RIGHT, LEFT, token=TRI),
    }
