"""Reading the pages of transfers."""

from __future__ import annotations

import re
from html import unescape


def rows_of(page: str) -> list[str]:
    """The ids of the transfers that a list shows, in its order."""
    return re.findall(r'class="row-link mono" href="/admin/transfers/(0x[0-9a-f]{64})"', page)


def pre(page: str, name: str) -> str:
    """The text of a part that can be copied."""
    found = re.search(rf'<pre id="{name}"[^>]*>(.*?)</pre>', page, re.DOTALL)
    assert found
    return unescape(found[1])
