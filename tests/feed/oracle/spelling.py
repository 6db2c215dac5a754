"""What a reporter may leave out of a line, and other spellings of one value."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

from tests.feed.oracle.reading import is_proven, read
from tests.feed.oracle.story import WORLD, Line

ON_CHAIN: Final = {"chain_id", "block", "block_hash", "log_index"}
OPTIONAL: Final = {
    "transfer.submitted": {"src_tx_hash", "dst_chain_id", "symbol", "amount", "sender", "receiver"},
    "transfer.sent": {"symbol", "token", "nonce", "max_slippage", "contract", *(ON_CHAIN - {"chain_id"})},
    "transfer.failed": {"reason", *ON_CHAIN},
    "transfer.delayed": {"dst_tx_hash", "delayed_id", *ON_CHAIN},
    "transfer.released": {"amount", *ON_CHAIN},
    "refund.delayed": {"tx_hash", *ON_CHAIN},
    "refund.completed": {"tx_hash", *ON_CHAIN},
}
"""Fields that a report may lack. Of a chain's own events these are the places in a block."""
PROVING: Final = {"nonce", "token", "contract"}


def respelled(line: Line, rng: random.Random) -> Line:
    """The same line, its values spelled otherwise."""
    said = dict(line)
    changes: dict[str, Callable[[Any], Any]] = {
        "transfer_id": lambda text: rng.choice(
            [text[2:], text.upper().replace("0X", "0x"), text[2:].upper()]
        ),
        "nonce": lambda number: rng.choice(
            [str(number), f"0{number}", f"+{number}", f" {number}", hex(number)]
        ),
        "amount": lambda text: "0" + text,
        "symbol": lambda text: rng.choice([text.lower(), text.title()]),
        "id": lambda text: (
            rng.choice([text.replace("0x", ""), text[:20].upper().replace("0X", "0x") + text[20:]])
            if text[:1].isdigit()
            else text
        ),
        "at": lambda text: text.replace("+00:00", "Z"),
    }
    proven = line["type"] == "transfer.sent" and is_proven(read(line, WORLD))
    for name in ("sender", "receiver", "token", "contract"):
        changes[name] = lambda text: rng.choice(
            [
                text.lower(),
                text.upper().replace("0X", "0x"),
                *([text[2:], text[2:].lower()] if proven else []),
            ]
        )
    for name in ("src_tx_hash", "dst_tx_hash", "tx_hash", "block_hash"):
        changes[name] = lambda text: rng.choice([text[2:], text.upper().replace("0X", "0x")])
    for name in rng.sample(sorted(changes.keys() & line.keys()), rng.randrange(1, 3)):
        said[name] = changes[name](line[name])
    return said
