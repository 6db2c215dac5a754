"""``flask watch`` or ``flask deliver`` as a process. A part hangs while a file of its name is there."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app import create_app
from app.observability import heartbeat
from app.watcher.loop import watcher
from app.watcher.loop.reader import Reader
from app.webhooks import sender

PARTS: dict[str, dict[str, tuple[Any, str]]] = {
    "watch": {
        "the chain's thread": (Reader, "poll"),
        "the watcher's loop": (watcher.Watcher, "_start_new"),
        "the leases": (watcher.LeaseHolder, "renew_all"),
    },
    "deliver": {"the sender's loop": (sender, "take"), "the chores": (sender.Sender, "_clean_up")},
}
"""Of each command the functions that hang."""


def hanging(work: Callable[..., Any], file: Path) -> Callable[..., Any]:
    def hung(*arguments: Any) -> Any:
        while file.exists():
            time.sleep(0.05)
        return work(*arguments)

    return hung


if __name__ == "__main__":
    command, folder = sys.argv[1:]
    for part, (place, name) in PARTS[command].items():
        setattr(place, name, hanging(getattr(place, name), Path(folder, part)))
    # Sooner than in production, so that the test need not wait minutes.
    heartbeat.BEAT_SECONDS = 0.1  # type: ignore[misc]
    watcher.STUCK_SECONDS = watcher.RENEW_SECONDS + 1  # type: ignore[misc]
    sender.STUCK_SECONDS, sender.CHORE_SECONDS = 2.0, 0.1  # type: ignore[misc]
    create_app().cli.main([command], obj=None, standalone_mode=True)
