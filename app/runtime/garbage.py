"""How often the interpreter looks for garbage that refers to itself."""

from __future__ import annotations

import gc
from typing import Final

_YOUNG: Final = 20_000
"""Objects made beyond those given up before it looks; its own 700 are a tenth of what a batch of events holds
on purpose, so a fifth of the time of a batch went into looking for garbage among them."""


def collect_seldom() -> None:
    """Let more new objects gather before each look, in this process. Costs some megabytes."""
    _, middle, old = gc.get_threshold()
    gc.set_threshold(_YOUNG, middle, old)
