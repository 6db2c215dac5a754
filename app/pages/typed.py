"""What somebody typed or pasted to look a transfer up: an id, a transaction's hash, or a link with one."""

from __future__ import annotations

import re
from typing import Final

from app.domain.wire_values import parse_tx_hash

MOST: Final = 2_000
"""Characters that are looked at: links of explorers are shorter."""

_HASH: Final = re.compile(r"(?<![0-9a-zA-Z])(?:0[xX])?[0-9a-fA-F]{64}(?![0-9a-zA-Z])", re.ASCII)


def read_key(text: str) -> str | None:
    """The key as ``follow_transfer`` takes it; None where the text has none.

    Of a link or a message the last hash in it counts. Hashes of chains that are no EVM are letters and
    digits: they are read where nothing else stands beside them. A hash may be broken into lines.
    """
    text = text[:MOST]
    whole = _HASH.findall(text)
    try:
        return parse_tx_hash(whole[-1] if whole else "".join(text.split()))
    except ValueError:
        return None
